"""Input and output of commands.

A command never prints: it may run in the process that holds the database, for another process's terminal.
"""

from __future__ import annotations

import asyncio
import errno
import os
import sys
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol, TextIO, TypeVar

from atelier_desk.domain import limits
from atelier_desk.domain.errors import LimitError
from atelier_desk.engine.ipc.resumable_command import Request
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import visible

Item = TypeVar("Item")
GONE = frozenset({errno.EPIPE, errno.EIO})
"""Errors of writing when the reader is gone: a closed pipe or terminal."""
PIPE_WAIT_S = 3.0
"""Seconds within which piped input must start.

Programs that start others often leave them a pipe that never carries anything.
"""
RESET = "\x1b[0m"
STYLES = {"dim": "\x1b[2m", "bold": "\x1b[1m", "warn": "\x1b[33m", "error": "\x1b[31m"}


class ReaderGone(Exception):
    """The output is no longer read (``| head``): the command ends without a message."""


class Output(Protocol):
    """A command's connection to its user.

    Attributes:
        json: standard output carries only JSON.
        interactive: somebody can answer ``ask``.
        watched: standard output and standard error are both on a terminal.
        cwd: folder that relative paths start from.
        request: what was shown so far of the run being followed, so that another process can continue.
        handing_over: this process ends and the user's own continues elsewhere: nothing more is shown from here.
    """

    json: bool
    interactive: bool
    watched: bool
    cwd: str
    request: Request
    handing_over: bool

    def write(self, text: str) -> None:
        """Write text to standard output unchanged (streamed answers)."""
        ...

    def note(self, text: str, style: str = "dim") -> None:
        """Write a line to standard error: progress, a warning or an error."""
        ...

    def shown(self, workflow_id: str, run_id: str, seq: int) -> None:
        """Record that the run's stream was shown up to this stored event."""
        ...

    def think(self, text: str) -> None:
        """Write a part of a model's reasoning to standard error, dimmed; an empty text ends it.

        Only where ``watched``.
        """
        ...

    def prompt(self, text: str) -> None:
        """Show the prompt of a question that is asked again."""
        ...

    async def ask(self, prompt: str) -> str | None:
        """Read a line from the user; None at the end of input. The prompt goes to standard error."""
        ...

    async def read_input(self, most: int = limits.IMPORT_FILE) -> str:
        """Read all of standard input.

        The text is UTF-8, or in the encoding it seems to have, which is reported.

        Raises:
            LimitError: more than ``most`` bytes; reading stops there.
        """
        ...

    async def read_piped(self) -> str:
        """Read piped input; empty for a terminal, or when nothing arrives within ``PIPE_WAIT_S``."""
        ...

    def catch_ctrl_c(self, handler: Callable[[], bool] | None) -> None:
        """Call ``handler`` at Ctrl-C; cancel the command only if it returns False."""
        ...


def first(out: Output, found: Sequence[Item], limit: int) -> list[Item]:
    """The first ``limit`` of a list that has up to one more; a note says when more exist."""
    if len(found) > limit:
        out.note(_("For more results: --limit N"))
    return list(found[:limit])


def moment(at: datetime, *, seconds: bool = False) -> str:
    """A date and time for tables: local time, to the minute."""
    return at.astimezone().strftime("%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M")


class Terminal:
    """The process's own standard streams."""

    def __init__(
        self,
        *,
        json: bool,
        cwd: str,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
        stdin: TextIO | None = None,
    ) -> None:
        self.json = json
        self.cwd = cwd
        self.request = Request()
        self.handing_over = False
        self.last_error = ""
        """The last error shown; closing may fail for the same reason as the command."""
        self._stdout = stdout or sys.stdout
        self._stderr = stderr or sys.stderr
        self._stdin = stdin or sys.stdin
        self.interactive = self._stdin is not None and self._stdin.isatty()
        self._line: asyncio.Future[str] | None = None
        self._input: str | None = None
        self._person = self._stderr.isatty()
        # https://no-color.org: set and not empty, whatever its value.
        self._styled = self._person and not os.environ.get("NO_COLOR")
        self._clean = self._stdout.isatty() and not json
        self.watched = self._person and self._clean
        self._thinking = False
        self._on_ctrl_c: Callable[[], bool] | None = None

    def write(self, text: str) -> None:
        self.think("")
        self._put(self._stdout, visible(text) if self._clean else text)

    def note(self, text: str, style: str = "dim") -> None:
        self.think("")
        self.last_error = text if style == "error" else self.last_error
        shown = visible(text)  # also in a file, because people read it there
        self._put(
            self._stderr, f"{STYLES[style]}{shown}{RESET}\n" if self._styled and style in STYLES else f"{shown}\n"
        )

    def think(self, text: str) -> None:
        if text and self.watched:
            # Without colours a bar on the left sets it apart from the answer.
            shown = visible(text) if self._styled else visible(text).replace("\n", "\n│ ")
            before = "" if self._thinking else STYLES["dim"] if self._styled else "│ "
            self._thinking = True
            self._put(self._stderr, before + shown)
        elif self._thinking and not text:
            self._thinking = False
            self._put(self._stderr, f"{RESET}\n" if self._styled else "\n")

    def _put(self, stream: TextIO, text: str) -> None:
        try:
            stream.write(text)
            stream.flush()
        except OSError as error:
            if error.errno in GONE:
                raise ReaderGone from None
            raise

    def shown(self, workflow_id: str, run_id: str, seq: int) -> None:
        self.request.shown(workflow_id, run_id, seq)

    def prompt(self, text: str) -> None:
        self._put(self._stderr, visible(text))

    async def ask(self, prompt: str) -> str | None:
        self.think("")
        self.prompt(prompt)
        # A question answered elsewhere leaves its read running; the next question uses that line.
        if self._line is None:
            self._line = asyncio.ensure_future(in_thread(self._stdin.readline))
        text = await asyncio.shield(self._line)
        self._line = None
        return text.rstrip("\r\n") if text else None

    async def read_input(self, most: int = limits.IMPORT_FILE) -> str:
        if self._input is None:
            # Cached: a process that takes the command over asks for it again.
            self._input = self._decoded(await in_thread(lambda: self._read_on(b"", most)), most)
        return self._input

    async def read_piped(self) -> str:
        if self.interactive:
            return ""
        if self._input is None:
            self._input = await self._read_piped()
        return self._input

    async def _read_piped(self) -> str:
        try:
            async with asyncio.timeout(PIPE_WAIT_S):
                start = await in_thread(self._read_some)
        except TimeoutError:
            self.note(_("Standard input was empty, so nothing was attached. To wait for it: --attach -"), "warn")
            return ""
        return self._decoded(await in_thread(lambda: self._read_on(start))) if start else ""

    def _read_some(self, most: int = limits.IMPORT_FILE) -> bytes:
        # Read from the descriptor: a thread blocked in Python's own buffer would crash the program as it
        # ends.
        descriptor = _descriptor(self._stdin)
        if descriptor is None:
            return self._stdin.read(most + 1).encode("utf-8", "surrogateescape")
        return os.read(descriptor, 1 << 16)

    def _read_on(self, start: bytes, most: int = limits.IMPORT_FILE) -> bytes:
        content = bytearray(start)
        while len(content) <= most and (part := self._read_some(most)):
            content += part
        return bytes(content)

    def _decoded(self, content: bytes, most: int = limits.IMPORT_FILE) -> str:
        from atelier_desk.engine.attachments.names_and_decoding import (
            decode,  # loads pydantic, which would delay usage errors
        )

        if len(content) > most:
            raise LimitError(N_("Standard input is too long: the maximum is {most} bytes."), most=most)
        text, encoding = decode(content)
        if encoding != "utf-8":
            self.note(_("Standard input is not UTF-8; it was read as {encoding}.", encoding=encoding), "warn")
        return text

    def catch_ctrl_c(self, handler: Callable[[], bool] | None) -> None:
        self._on_ctrl_c = handler

    @property
    def catches_ctrl_c(self) -> bool:
        return self._on_ctrl_c is not None

    def ctrl_c(self) -> bool:
        """Handle Ctrl-C; False when there is no handler and the command must be cancelled."""
        handler = self._on_ctrl_c
        if handler is None:
            return False
        if handler():
            return True
        self._on_ctrl_c = None
        return False


def _descriptor(stream: TextIO) -> int | None:
    """The stream's file descriptor, or None."""
    try:
        return stream.fileno()
    except (OSError, ValueError, AttributeError):
        return None


T = TypeVar("T", str, bytes)


async def in_thread(blocking: Callable[[], T]) -> T:
    """Run a blocking read in a daemon thread, so that it cannot keep the program from ending.

    Each read has its own thread, unlike the work in ``atelier_desk.support.threads``: a read of a silent pipe
    cannot be stopped, so a fixed number of threads might all be blocked.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def deliver(text: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if text is not None:
            future.set_result(text)
        else:
            future.set_exception(error or EOFError())

    def work() -> None:
        text: T | None = None
        problem: BaseException | None = None
        try:
            text = blocking()
        except (OSError, ValueError) as error:
            problem = error
        if not loop.is_closed():
            loop.call_soon_threadsafe(deliver, text, problem)

    threading.Thread(target=work, name="read-input", daemon=True).start()
    return await future
