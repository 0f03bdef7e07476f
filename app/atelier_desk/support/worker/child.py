"""The child process's side: ``serve`` at the end of a module started by ``python -P -m``.

Standard input and output carry only frames: code that runs here reads an empty standard input, and its output
goes to standard error. The process ends at once, with all its children, when Atelier closes its standard
input or ends.
"""

from __future__ import annotations

import ctypes
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

if sys.platform != "win32":
    import resource

_MOST_TEXT = 2_000
_MOST_TRACE = 20_000
_PR_SET_PDEATHSIG = 1
"""From ``linux/prctl.h``."""

Report = Callable[[object], None]
"""Sends a value before the answer; from any thread."""


def serve(
    answer: Callable[[Any, bytes, Report], object], *, memory: int = 0, cpu_s: int = 0, once: bool = False
) -> None:
    """Answer requests until standard input closes.

    ``answer`` gets a request and its bytes and returns the answer, or a ``Reply`` with bytes; an exception is
    sent as an error.

    Args:
        memory: bytes of address space, where the system supports it; 0 for no limit.
        cpu_s: seconds of CPU time per request, for the first one from the process's start; 0 for no limit.
        once: return after the first answer, and so end like a normal program.
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
        except BaseException as error:  # also SystemExit: code that exits must be distinguished from a killed process
            answers.send(number, "failed", Reply(_failure_fields(error)))
        if once:
            return


def bound(memory: int, cpu_s: int, *, hard: bool = False) -> None:
    """Limit this process's memory and further CPU time; ``hard`` cannot be undone."""
    if sys.platform != "win32":
        used = resource.getrusage(resource.RUSAGE_SELF)
        until = int(used.ru_utime + used.ru_stime) + cpu_s
        limits = [(resource.RLIMIT_AS, memory, memory)] if memory else []
        if cpu_s:
            above = until + 1 if hard else resource.getrlimit(resource.RLIMIT_CPU)[1]
            limits += [(resource.RLIMIT_CPU, until, above), (resource.RLIMIT_CORE, 0, 0)]
        for name, soft, above in limits:
            with suppress(OSError, ValueError):  # lower limits may be set already
                resource.setrlimit(name, (soft, above))


class _Answers:
    """Writes frames to the original standard output."""

    def __init__(self) -> None:
        self._stream = os.fdopen(os.dup(1), "wb")
        self._lock = threading.Lock()

    def send(self, number: int, kind: str, reply: Reply) -> None:
        frame = packed(number, kind, reply)
        with self._lock:
            self._stream.write(frame)
            self._stream.flush()


def _channels() -> SimpleQueue[tuple[int, object, bytes]]:
    """Detach the pipes from the standard streams; returns the queue of requests."""
    orders, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    if sys.platform == "linux":
        # Code that never lets another thread run would not notice the end of standard input.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    requests: SimpleQueue[tuple[int, object, bytes]] = SimpleQueue()
    threading.Thread(target=_receive, args=(orders, requests), name="requests", daemon=True).start()
    return requests


def _receive(orders: int, requests: SimpleQueue[tuple[int, object, bytes]]) -> None:
    with suppress(EOFError):
        while True:
            text, data = (_exactly(orders, length) for length in HEAD.unpack(_exactly(orders, HEAD.size)))
            number, _kind, request = json.loads(text)
            requests.put((number, request, data))
    if hasattr(os, "killpg") and os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _exactly(orders: int, length: int) -> bytes:
    """Read exactly ``length`` bytes, unbuffered.

    A thread blocked in a buffer would crash the interpreter's exit.
    """
    found = bytearray()
    while len(found) < length:
        if not (piece := os.read(orders, min(length - len(found), 1 << 20))):
            raise EOFError
        found += piece
    return bytes(found)


def _failure_fields(error: BaseException) -> dict[str, object]:
    """The fields of ``errors.Failed``; an error meant for people only has its cause's traceback."""
    meant = hasattr(error, "template") and isinstance(getattr(error, "params", None), dict)
    params: dict[str, object] = error.params if meant else {}  # type: ignore[attr-defined]
    cause = error.__cause__ if meant else error
    return {
        "message": (str(error) if meant else f"{type(error).__name__}: {error}")[:_MOST_TEXT],
        "code": str(getattr(error, "code", "")) if meant else "",
        "template": str(getattr(error, "template", "")) if meant else "",
        "params": {
            name: value if isinstance(value, int) else str(value)[:_MOST_TEXT] for name, value in params.items()
        },
        "trace": "".join(traceback.format_exception(cause))[-_MOST_TRACE:] if cause is not None else "",
    }
