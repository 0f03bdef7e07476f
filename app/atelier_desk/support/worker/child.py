"""The side of the child process: ``serve`` at the end of a module that is started by ``python -P -m``.

Standard input and output belong to the frames alone: whatever code runs here reads an empty standard input, and what it prints goes to
standard error. The process ends at once, with all that it started, when Atelier lets go of its standard input, however that ended.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from atelier_desk.support.worker.frames import HEAD, Reply, packed

_MOST_TEXT = 2_000
_MOST_TRACE = 20_000
_PR_SET_PDEATHSIG = 1
"""From ``linux/prctl.h``."""

Report = Callable[[Any], None]
"""Passes a value on before the answer; from any thread."""


def serve(answer: Callable[[Any, bytes, Report], Any], *, memory: int = 0, cpu_s: int = 0, once: bool = False) -> None:
    """Answer requests until nobody has any. What ``answer`` gives for a request and its bytes is the answer, a ``Reply`` where bytes belong
    to it; what it raises is passed on as an error.

    Args:
        memory: bytes of address space, where the system can refuse more; 0 for no limit.
        cpu_s: seconds of a processor for each request, from the start of the process for the first; 0 for no limit.
        once: return after the first answer, and so end as a program ends.
    """
    answers, requests = _Answers(), _channels()
    bound(memory, cpu_s, hard=once)
    answers.send(0, "ready", Reply(None))
    while True:
        number, request, data = requests.get()
        bound(memory, cpu_s, hard=once)
        try:
            found = answer(request, data, lambda value, number=number: answers.send(number, "more", Reply(value)))  # type: ignore[misc]
            answers.send(number, "done", found if isinstance(found, Reply) else Reply(found))
        except MemoryError:
            answers.send(number, "memory", Reply(None))
            os._exit(1)
        except BaseException as error:  # also SystemExit: code that ends its process has to be told from one that was killed
            answers.send(number, "failed", Reply(_failure_fields(error)))
        if once:
            return


def bound(memory: int, cpu_s: int, *, hard: bool = False) -> None:
    """Let the system refuse this process more memory, and end it after so much more work; ``hard``: for good."""
    with suppress(ImportError):  # Windows has no such limits
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        until = int(used.ru_utime + used.ru_stime) + cpu_s
        limits = [(resource.RLIMIT_AS, memory, memory)] if memory else []
        if cpu_s:
            above = until + 1 if hard else resource.getrlimit(resource.RLIMIT_CPU)[1]
            limits += [(resource.RLIMIT_CPU, until, above), (resource.RLIMIT_CORE, 0, 0)]
        for name, soft, above in limits:
            with suppress(OSError, ValueError):  # an owner may have set lower ones
                resource.setrlimit(name, (soft, above))


class _Answers:
    """What was standard output."""

    def __init__(self) -> None:
        self._stream = os.fdopen(os.dup(1), "wb")
        self._lock = threading.Lock()

    def send(self, number: int, kind: str, reply: Reply) -> None:
        frame = packed(number, kind, reply)
        with self._lock:
            self._stream.write(frame)
            self._stream.flush()


def _channels() -> SimpleQueue[tuple[int, Any, bytes]]:
    """Take the pipes away from the standard streams; the requests."""
    orders, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    if sys.platform == "linux":
        import ctypes

        # Code that never lets another thread run would not notice the end of standard input.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    requests: SimpleQueue[tuple[int, Any, bytes]] = SimpleQueue()
    threading.Thread(target=_receive, args=(orders, requests), name="requests", daemon=True).start()
    return requests


def _receive(orders: int, requests: SimpleQueue[tuple[int, Any, bytes]]) -> None:
    with suppress(EOFError):
        while True:
            text, data = (_exactly(orders, length) for length in HEAD.unpack(_exactly(orders, HEAD.size)))
            number, _kind, request = json.loads(text)
            requests.put((number, request, data))
    if hasattr(os, "killpg") and os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _exactly(orders: int, length: int) -> bytes:
    """So many bytes, read without a buffer: a thread that waits in one would end the interpreter in disorder."""
    found = bytearray()
    while len(found) < length:
        if not (piece := os.read(orders, min(length - len(found), 1 << 20))):
            raise EOFError
        found += piece
    return bytes(found)


def _failure_fields(error: BaseException) -> dict[str, Any]:
    """The fields of ``errors.Failed``. Of an error that is meant for people only the cause has a traceback to tell."""
    meant = hasattr(error, "template") and isinstance(getattr(error, "params", None), dict)
    params: dict[str, Any] = error.params if meant else {}  # type: ignore[attr-defined]
    cause = error.__cause__ if meant else error
    return {
        "message": (str(error) if meant else f"{type(error).__name__}: {error}")[:_MOST_TEXT],
        "code": str(getattr(error, "code", "")) if meant else "",
        "template": str(getattr(error, "template", "")) if meant else "",
        "params": {name: value if isinstance(value, int) else str(value)[:_MOST_TEXT] for name, value in params.items()},
        "trace": "".join(traceback.format_exception(cause))[-_MOST_TRACE:] if cause is not None else "",
    }
