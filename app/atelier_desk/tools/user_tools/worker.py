"""The process that runs a user's tool file, one per call.

Requests: ``{"do": "describe", "file": …}`` returns the definitions of its tools; ``{"do": "call", "file": …, "tool":
name, "arguments": {…}, "context": {…}}`` returns ``{"result": …}`` (a ``ToolResult``) or ``{"ask": …}`` (a question).
``file`` has ``name``, ``path``, ``sha256`` and ``data`` (base64). Progress ``[percent, text]`` is sent before.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import inspect
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from atelier_desk.domain import limits
from atelier_desk.domain.errors import AtelierError, UsageError
from atelier_desk.support.i18n import N_
from atelier_desk.support.worker.child import Report, serve
from atelier_desk.support.worker.errors import Refused
from atelier_desk.tools.base import AskUser, ToolContext
from atelier_desk.tools.calls.argument_validation import validate
from atelier_desk.tools.calls.result_limits import capped
from atelier_desk.tools.custom import outcome_of
from atelier_desk.tools.user_tools import tool_files, worker_messages
from atelier_desk.tools.user_tools.tool_files import FileStatus, ToolFile

PROGRESS_EVERY_S = 0.05
"""Minimum seconds between progress messages passed on."""


def main() -> None:
    serve(_answer, once=True)


def _answer(order: dict[str, Any], _data: bytes, tell: Report) -> object:
    file = _file(order["file"])
    try:
        return _describe(file) if order["do"] == "describe" else _call(file, order, tell)
    except AtelierError:
        raise
    except BaseException as error:  # includes SystemExit
        raise Refused("failed", tool_files.reason(file, error)) from error


def _progress(tell: Report) -> Callable[..., None]:
    """Return a thread-safe function that passes progress on."""
    last = float("-inf")

    def progress(percent: int, text: str = "") -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= PROGRESS_EVERY_S:
            last = now
            tell([int(percent), str(text)])

    return progress


def _file(order: dict[str, str]) -> ToolFile:
    data = base64.b64decode(order["data"])
    if hashlib.sha256(data).hexdigest() != order["sha256"]:
        raise UsageError(N_("The file {name} has changed since you reviewed it. Review it again."), name=order["name"])
    return ToolFile(order["name"], Path(order["path"]), order["sha256"], data, FileStatus.CONFIRMED)


def _describe(file: ToolFile) -> list[dict[str, object]]:
    return [worker_messages.described(tool) for tool in tool_files.run(file)]


def _call(file: ToolFile, order: dict[str, Any], tell: Report) -> dict[str, object]:
    tool = {each.name: each for each in tool_files.run(file)}.get(order["tool"])
    if tool is None:
        raise UsageError(N_("The file {name} no longer defines the tool {tool}."), name=file.name, tool=order["tool"])
    context = ToolContext.of_facts(order["context"], _progress(tell))
    value = tool(**tool.arguments(validate(tool, order["arguments"]), context))
    if inspect.isawaitable(value):
        value = asyncio.run(_awaited(value))
    outcome = outcome_of(value)
    if isinstance(outcome, AskUser):
        return {"ask": {"question": outcome.question.model_dump(mode="json"), "timeout_s": outcome.timeout_s}}
    # Cut here: a result of gigabytes must not be transferred. The registry makes the text for the model.
    result = capped(outcome, tool.rest_hint, to_model=limits.RESULT_STORED)
    return {"result": worker_messages.content(result)}


async def _awaited(value: Any) -> object:
    return await value


if __name__ == "__main__":
    main()
