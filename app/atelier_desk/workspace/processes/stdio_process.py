"""A program that communicates over its input and output, line by line, such as an MCP server.

It is started and ended like any command (``command_process``, ``command_supervisor``): everything it starts ends with
it, and all of it with Atelier, even if that is killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from typing import IO

from atelier_desk.workspace.processes.command_process import (
    SUPERVISED,
    Guarded,
    Order,
    guarded,
    read_report,
    sandbox_text,
)

LONGEST_LINE = 16 * 1024 * 1024
"""Maximum bytes of a line; a longer one ends the program."""
LAST_WORDS = 16 * 1024
"""Bytes of its latest standard error that are stored."""
ASKED_S = 0.3
"""Seconds it has to end by itself after its input was closed."""
ENDS_S = 65.0
"""Maximum seconds for its supervisor to end everything and restore what git executes: its own limits and a minute."""
_CHUNK = 64 * 1024
_LINES, _WINDOW_S = 200, 0.05
"""A program that writes more lines than this in so many seconds is read more slowly, so that its pipe fills and it
blocks.
"""


class LineTooLongError(Exception):
    """It wrote more than ``LONGEST_LINE`` bytes without a line end."""


class StdioProcess:
    """A started program.

    Attributes:
        guarded: its effect on what git executes, known after ``end``.
        ended_by: why its supervisor ended it (``memory``, ``processes``, ``stopped``), known after ``end``; empty if it
            ended by itself.
    """

    def __init__(self, process: asyncio.subprocess.Process, order: Order, report: IO[bytes]) -> None:
        self._process = process
        self._order = order
        self._report = report
        self.guarded = Guarded()
        self.ended_by = ""
        self._errors = bytearray()
        self._listening = asyncio.get_running_loop().create_task(self._listen())

    @classmethod
    async def start(cls, order: Order) -> StdioProcess:
        """Start the program. Raises ``OSError``."""
        report = tempfile.TemporaryFile()  # noqa: SIM115 (closed once it is read)
        said = tempfile.TemporaryFile()  # noqa: SIM115 (closed below)
        try:
            process = await asyncio.create_subprocess_exec(
                *sandbox_text(order, report.fileno(), said),
                executable=None if SUPERVISED else order.program,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=order.folder,
                env=dict(order.environment),
                start_new_session=True,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
                pass_fds=(report.fileno(), said.fileno()) if SUPERVISED else (),
            )
        except BaseException:
            report.close()
            raise
        finally:
            said.close()
        return cls(process, order, report)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def status(self) -> int | None:
        """Exit status after its end, 128 plus the number for a signal."""
        code = self._process.returncode
        return code if code is None or code >= 0 else 128 - code

    @property
    def last_words(self) -> str:
        """Latest standard error."""
        return self._errors.decode("utf-8", "replace").strip()

    async def write(self, data: bytes) -> None:
        """Write to its input. Raises ``OSError`` if the input is closed."""
        pipe = self._process.stdin
        assert pipe is not None
        if pipe.is_closing():
            raise BrokenPipeError
        pipe.write(data)
        await pipe.drain()

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield its output lines until it ends. Raises ``LineTooLongError``."""
        pipe = self._process.stdout
        assert pipe is not None
        loop = asyncio.get_running_loop()
        parts: list[bytes] = []
        size, count, since = 0, 0, loop.time()
        while data := await pipe.read(_CHUNK):
            *complete, rest = data.split(b"\n")
            for line in complete:
                yield b"".join((*parts, line))
                parts, size = [], 0
                count += 1
            parts.append(rest)
            size += len(rest)
            if size > LONGEST_LINE:
                raise LineTooLongError
            if count >= _LINES:
                elapsed = loop.time() - since
                await asyncio.sleep(max(0.0, _WINDOW_S - elapsed))
                count, since = 0, loop.time()

    async def end(self) -> None:
        """Close its input, then end it with everything it started unless it ends by itself. Returns when it is gone."""
        pipe = self._process.stdin
        if pipe is not None:
            pipe.close()
        try:
            if not await self._gone(ASKED_S):
                self._signal(signal.SIGTERM)
                if not await self._gone(ENDS_S):
                    self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))
                    await self._gone(ENDS_S)
        finally:
            self._listening.cancel()
            self._read_report()
            # An escaped process that inherited its pipes would keep them open.
            transport = getattr(self._process, "_transport", None)
            if transport is not None:
                transport.close()

    async def wait(self) -> int:
        """Wait for its end; return the exit status."""
        await self._process.wait()
        return self.status or 0

    async def _gone(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                # Its output must be drained, or it would never end.
                drain = self._process.stdout
                while drain is not None and await drain.read(_CHUNK):
                    pass
                await self._process.wait()
        except TimeoutError:
            return self._process.returncode is not None
        except RuntimeError:  # somebody still reads it
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._process.wait()
            return self._process.returncode is not None
        return True

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                subprocess.run(["taskkill", "/F", "/T", "/PID", str(self.pid)], capture_output=True, check=False)
            elif SUPERVISED and number == signal.SIGTERM:
                os.kill(self.pid, number)
            else:
                os.killpg(self.pid, number)

    def _read_report(self) -> None:
        if self._report.closed:
            return
        with self._report, contextlib.suppress(OSError, ValueError, KeyError):
            report = read_report(self._report)
            self.ended_by, self.guarded = report.get("why", ""), guarded(report, self._order)

    async def _listen(self) -> None:
        pipe = self._process.stderr
        assert pipe is not None
        while data := await pipe.read(_CHUNK):
            self._errors += data
            del self._errors[:-LAST_WORDS]
