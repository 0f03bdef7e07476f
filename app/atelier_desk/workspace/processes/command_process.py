"""One command: started with its limits, read while it runs, ended with everything it started."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from atelier_desk.workspace.processes.command_output import Output

SUPERVISED = sys.platform != "win32" and not getattr(sys, "frozen", False)
"""Whether a launcher is used: it needs fork and an interpreter."""
_NEW_GROUP = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
_CHUNK = 64 * 1024
_LAUNCHER = str(Path(__file__).with_name("command_supervisor.py"))
CHECK_S = 1.0
"""Value of ``Order.check_s`` for long-running programs."""
ENDS_S = 65.0 if SUPERVISED else 1.0
"""Maximum seconds to end a command: the launcher's ``ENDS_S`` and ``GONE_S``, and a minute to restore what git
executes.

A launcher killed meanwhile restores nothing.
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for one command and everything it starts.

    Attributes:
        memory: bytes in memory together; ``file``: bytes of one written file; ``output``: bytes printed.
        open_files: open files per process.
    """

    processes: int = 256
    memory: int = 4 * 1024**3
    file: int = 2 * 1024**3
    output: int = 64 * 1024**2
    open_files: int = 4096


@dataclass(frozen=True, slots=True)
class Order:
    """What to run: program file, arguments (its name first), folder and environment.

    ``sandbox``: argument of ``confine``, None for none. ``interactive``: it has a writable input. ``check_s``: seconds
    between restorations of what git executes while it runs; 0 restores only at its end.
    """

    program: str
    arguments: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]
    limits: Limits = Limits()
    sandbox: Mapping[str, Any] | None = None
    interactive: bool = False
    check_s: float = 0.0


class Process:
    """A started command.

    Attributes:
        output: what it printed so far.
        status: its exit status, 128 plus the number for a signal; None while it runs.
        low_disks: folders on disks with little free space, before or after it.
        left: something that it started could not be ended.
        ended_others: something that it started, as with ``&``, was still running when it ended, and was ended.
        guarded: its effect on what git executes outside the sandbox, once it is over (see ``guarded_git_files``).
        ended_by: ``stopped``, ``user``, ``timeout``, ``processes``, ``memory``, ``disk``, ``unknown`` (its processes
            could no longer be listed), ``repositories`` (it kept changing what git executes) or ``output``; empty if it
            ended by itself.
    """

    def __init__(self, order: Order, output: Output) -> None:
        self.order = order
        self.output = output
        self.status: int | None = None
        self.ended_by = ""
        self.low_disks: tuple[str, ...] = ()
        self.left = False
        self.ended_others = False
        self.guarded = Guarded()
        self.started = time.monotonic()
        self.duration_s = 0.0
        self._process: asyncio.subprocess.Process
        self._report: IO[bytes]
        self._reading: asyncio.Task[None]

    @classmethod
    async def start(cls, order: Order, output: Output, *, told: Callable[[], None] = lambda: None) -> Process:
        """Start the command.

        ``told`` is called whenever it printed something. Raises ``OSError`` if it cannot be started.
        """
        self = cls(order, output)
        report = tempfile.TemporaryFile()  # noqa: SIM115 (closed once it is read)
        # Not an argument: Linux limits one to 128 KB, and a sandbox lists every entry beside a hidden one (execve(2),
        # MAX_ARG_STRLEN).
        said = tempfile.TemporaryFile()  # noqa: SIM115 (closed below)
        try:
            self._process = await asyncio.create_subprocess_exec(
                *sandbox_text(order, report.fileno(), said),
                executable=None if SUPERVISED else order.program,
                stdin=subprocess.PIPE if order.interactive else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=order.folder,
                env=dict(order.environment),
                start_new_session=True,
                creationflags=_NEW_GROUP,
                pass_fds=(report.fileno(), said.fileno()) if SUPERVISED else (),
            )
        except BaseException:
            report.close()
            output.close()
            raise
        finally:
            said.close()
        self._report = report
        # No await between the start and here, so that a cancellation cannot lose the process.
        self._reading = asyncio.get_running_loop().create_task(self._read(told))
        return self

    @property
    def pid(self) -> int:
        return self._process.pid

    def when_over(self, call: Callable[[], None]) -> None:
        """Call this once when it has ended."""
        self._reading.add_done_callback(lambda _task: call())

    def so_far(self) -> Guarded:
        """Return its effect on what git executes, even while it runs (``Order.check_s``)."""
        if self.running and SUPERVISED and not self._report.closed:
            return replace(guarded(read_report(self._report), self.order), unchecked=False)
        return self.guarded

    @property
    def running(self) -> bool:
        return self.status is None

    async def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for its end; False on timeout. Cancelling the wait does not end it."""
        done, _pending = await asyncio.wait({self._reading}, timeout=timeout_s)
        return bool(done)

    async def write(self, text: str, *, close: bool = False) -> None:
        """Write to its input. Raises ``BrokenPipeError`` if the input is closed."""
        pipe = self._process.stdin
        if pipe is None or not self.running or pipe.is_closing():
            raise BrokenPipeError
        pipe.write(text.encode())
        await pipe.drain()
        if close:
            pipe.close()

    async def end(self, why: str = "stopped") -> None:
        """End it with everything it started; returns when it is gone. Does nothing after its end."""
        if self.running and not self.ended_by:
            self.ended_by = why
        if not self._reading.done():
            self._signal(gently=True)
            if not await self.wait(ENDS_S + 1.0):
                self._signal(gently=False)
                await self.wait(ENDS_S)
        if not self._reading.done():
            self._reading.cancel()

    def _signal(self, *, gently: bool) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                subprocess.run(["taskkill", "/F", "/T", "/PID", str(self.pid)], capture_output=True, check=False)
            elif SUPERVISED and gently:
                os.kill(self.pid, signal.SIGTERM)
            else:
                os.killpg(self.pid, signal.SIGTERM if gently else signal.SIGKILL)

    def _read_report(self) -> None:
        """Read the launcher's final report; empty if the launcher was killed, and then nothing was restored."""
        report = read_report(self._report)
        self.guarded = guarded(report, self.order)
        self.ended_by = self.ended_by or report.get("why", "")
        self.low_disks, self.left = tuple(report.get("low", ())), bool(report.get("left"))
        self.ended_others = bool(report.get("ended"))

    async def _read(self, told: Callable[[], None]) -> None:
        pipe = self._process.stdout
        assert pipe is not None
        try:
            while data := await pipe.read(_CHUNK):
                if self.ended_by != "output":
                    self.output.add(data)
                    told()
                if self.output.size > self.order.limits.output and not self.ended_by:
                    self.ended_by = "output"
                    self._signal(gently=True)
            self.status = await self._process.wait()
            if self.status < 0:
                self.status = 128 - self.status
            if SUPERVISED:
                self._read_report()
        finally:
            self._report.close()
            self.duration_s = time.monotonic() - self.started
            if self._process.stdin is not None:
                self._process.stdin.close()
            self.output.close()


@dataclass(frozen=True, slots=True)
class Guarded:
    """Effect of a command on what git executes outside the sandbox, by paths relative to the workspace (see
    ``guarded_git_files``).

    Attributes:
        put_back: it is as before; ``gone`` cannot be recreated.
        held: items that wait for a person: ``path`` where it was, ``file`` where its content is now, ``why`` (``new``
            or ``changed``).
        not_restored: what could not be restored, and why.
        unchecked: nothing was checked: the launcher was killed.
    """

    put_back: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    held: tuple[Mapping[str, str], ...] = ()
    not_restored: tuple[str, ...] = ()
    unchecked: bool = False

    @property
    def text(self) -> str:
        """Return the names in one line, for a log."""
        if self.unchecked:
            return "Nothing was looked at at its end: the launcher was killed."
        named = {"restored": self.put_back, "held": [each["file"] for each in self.held], "gone": self.gone}
        named["not restored"] = self.not_restored
        return "; ".join(f"{word}: {', '.join(names)}" for word, names in named.items() if names)

    def __bool__(self) -> bool:
        return bool(self.put_back or self.gone or self.held or self.not_restored or self.unchecked)


def read_report(report: IO[bytes]) -> dict[str, Any]:
    """Return the launcher's report, final or so far; empty if it was killed or is just writing."""
    text = os.pread(report.fileno(), os.fstat(report.fileno()).st_size, 0)
    with contextlib.suppress(ValueError):
        return dict(json.loads(text))
    return {}


def guarded(report: Mapping[str, Any], order: Order) -> Guarded:
    """Return what the launcher restored after a command, or before its own premature end."""
    put_back, gone, held, failed = (
        tuple(report.get(name, ())) for name in ("put_back", "gone", "held", "not_restored")
    )
    return Guarded(
        put_back, gone, held, failed, unchecked=not report.get("over") and bool((order.sandbox or {}).get("roots"))
    )


def sandbox_text(order: Order, report: int, file: IO[bytes]) -> Sequence[str]:
    """Return the command line of the launcher, which reads the order from ``file`` and writes to the descriptor
    ``report``.
    """
    if not SUPERVISED:
        return order.arguments
    texts = {
        "program": order.program,
        "arguments": list(order.arguments),
        "parent": os.getpid(),
        "report": report,
        "processes": order.limits.processes,
        "memory": order.limits.memory,
        "disks": _written(order),
        "limits": {"RLIMIT_FSIZE": order.limits.file, "RLIMIT_NOFILE": order.limits.open_files, "RLIMIT_CORE": 0},
        "check_s": order.check_s,
        "sandbox": dict(order.sandbox) if order.sandbox is not None else None,
    }
    file.write(json.dumps(texts).encode())
    file.seek(0)
    return (sys.executable, "-I", "-S", _LAUNCHER, str(file.fileno()))


def _written(order: Order) -> list[str]:
    """Return the writable folders whose disks are watched. Empty for a command that only reads."""
    temporary = order.environment.get("TMPDIR", tempfile.gettempdir())
    if order.sandbox is None:
        return [str(order.folder), temporary]
    return [*order.sandbox["roots"], temporary] if "roots" in order.sandbox else []
