"""The process in which a user's tool file runs: ``python -m atelier_desk.tools.own.worker``, one for each call.

One JSON line on standard input says what to do; then standard input stays open, and its end means that Atelier is gone, which ends this
process and everything it started at once. Answers are JSON lines on what was standard output. The tool's own standard output goes to
standard error, and it reads an empty standard input: nothing a tool prints or reads can disturb the two.

Orders: ``{"do": "describe", "file": …}`` and ``{"do": "call", "file": …, "tool": name, "arguments": {…}, "context": {…}}``, where ``file``
has ``name``, ``path``, ``sha256`` and ``data`` (base64). Answers: ``progress`` (any number), then one of ``tools`` (their definitions),
``result`` (a ``ToolResult``), ``ask`` (a question), ``refused`` (an ``AtelierError``) and ``failed`` (any other exception).
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import inspect
import json
import os
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any, BinaryIO

from atelier_desk.domain import limits
from atelier_desk.domain.errors import AtelierError, UsageError
from atelier_desk.i18n import N_
from atelier_desk.tools.base import AskUser, ToolContext
from atelier_desk.tools.custom import outcome_of
from atelier_desk.tools.own import files, wire
from atelier_desk.tools.own.files import FileStatus, ToolFile
from atelier_desk.tools.results import capped
from atelier_desk.tools.validation import validate

PROGRESS_EVERY_S = 0.05
"""A tool may tell its progress as often as it likes; no more than this is passed on."""
_MOST_REASON = 2_000
_MOST_TRACE = 20_000
_PR_SET_PDEATHSIG = 1
"""From ``linux/prctl.h``."""


class Answers:
    """Writes answers, from any thread of the tool."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._progress_at = float("-inf")

    def send(self, kind: str, content: Any) -> None:
        line = json.dumps({kind: content}, ensure_ascii=False, default=str)
        with self._lock:
            self._stream.write(line.encode("utf-8", "replace") + b"\n")
            self._stream.flush()

    def progress(self, percent: int, text: str = "") -> None:
        now = time.monotonic()
        if now - self._progress_at >= PROGRESS_EVERY_S:
            self._progress_at = now
            self.send("progress", [int(percent), str(text)])


def main() -> None:
    orders, answers = _channels()
    line = orders.readline()
    if not line.endswith(b"\n"):
        return
    order = json.loads(line)
    threading.Thread(target=_end_with_parent, args=(orders.fileno(),), daemon=True).start()
    file: ToolFile | None = None
    try:
        file = _file(order["file"])
        kind, content = _describe(file) if order["do"] == "describe" else _call(file, order, answers)
        answers.send(kind, content)
    except AtelierError as error:
        answers.send("refused", _refused(error))
    except BaseException as error:  # also SystemExit: a tool that ends its process has to be told from one that was killed
        why = files.reason(file, error) if file else str(error)
        answers.send("failed", {"reason": why[:_MOST_REASON], "trace": traceback.format_exc()[-_MOST_TRACE:]})


def _channels() -> tuple[BinaryIO, Answers]:
    """Take the pipes to Atelier away from the tool's standard streams."""
    orders, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a descriptor is wanted
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    if sys.platform == "linux":
        import ctypes

        # A tool that never lets another thread run would not notice the end of standard input.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    return orders, Answers(answers)


def _end_with_parent(orders: int) -> None:
    while os.read(orders, 1):
        pass
    if hasattr(os, "killpg") and os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _file(order: dict[str, str]) -> ToolFile:
    data = base64.b64decode(order["data"])
    if hashlib.sha256(data).hexdigest() != order["sha256"]:
        raise UsageError(N_("The file {name} is not the one you reviewed: it changed. Review it again."), name=order["name"])
    return ToolFile(order["name"], Path(order["path"]), order["sha256"], data, FileStatus.CONFIRMED)


def _describe(file: ToolFile) -> tuple[str, Any]:
    return "tools", [wire.described(tool) for tool in files.run(file)]


def _call(file: ToolFile, order: dict[str, Any], answers: Answers) -> tuple[str, Any]:
    tool = {each.name: each for each in files.run(file)}.get(order["tool"])
    if tool is None:
        raise UsageError(N_("The file {name} does not define the tool {tool} any more."), name=file.name, tool=order["tool"])
    context = ToolContext.of_facts(order["context"], answers.progress)
    value = tool(**tool.arguments(validate(tool, order["arguments"]), context))
    if inspect.isawaitable(value):
        value = asyncio.run(_awaited(value))
    outcome = outcome_of(value)
    if isinstance(outcome, AskUser):
        return "ask", {"question": outcome.question.model_dump(mode="json"), "timeout_s": outcome.timeout_s}
    # Cut here already: a result of gigabytes must not travel. What the model reads of it is made by the registry.
    result = capped(outcome, tool.rest_hint, to_model=limits.RESULT_STORED)
    return "result", wire.content(result)


async def _awaited(value: Any) -> Any:
    return await value


def _refused(error: AtelierError) -> dict[str, Any]:
    cause = error.__cause__
    trace = "".join(traceback.format_exception(cause)) if cause is not None else ""
    params = {name: str(value)[:_MOST_REASON] for name, value in error.params.items()}
    return {"template": error.template, "code": error.code, "params": params, "trace": trace[-_MOST_TRACE:]}


if __name__ == "__main__":
    main()
