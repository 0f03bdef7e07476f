"""Where commands write and ask. A command never prints: the same command also runs in the process that holds the database, for another
process's terminal."""

from __future__ import annotations

import asyncio
import errno
import json
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TextIO

from atelier_desk.engine.ipc.request import Request

GONE = frozenset({errno.EPIPE, errno.EIO})
"""What writing gives when nobody reads: a pipe that was closed, a terminal that is gone."""
RESET = "\x1b[0m"
STYLES = {"dim": "\x1b[2m", "bold": "\x1b[1m", "warn": "\x1b[33m", "error": "\x1b[31m"}


class ReaderGone(Exception):
    """Nobody reads the output any more (``| head``): the command ends, and there is nobody to tell why."""


class Output(Protocol):
    """What a command gets to talk to its user.

    Attributes:
        json: standard output carries JSON alone.
        interactive: somebody is there to answer ``ask``.
        cwd: the folder relative paths of the command line start from.
        request: what was shown so far of the run the command follows, so that another process can go on.
        handing_over: the process that performs the command ends, and the user's own goes on elsewhere: nothing more is shown from here.
    """

    json: bool
    interactive: bool
    cwd: str
    request: Request
    handing_over: bool

    def write(self, text: str) -> None:
        """Text for standard output, as it is (streamed answers)."""
        ...

    def note(self, text: str, style: str = "dim") -> None:
        """One line for standard error: what happens, a warning, an error."""
        ...

    def shown(self, workflow_id: str, run_id: str, seq: int) -> None:
        """The stream of this run was shown up to this durable event."""
        ...

    async def ask(self, prompt: str) -> str | None:
        """A line from the user, None at the end of input; the prompt goes to standard error."""
        ...

    async def read_input(self) -> str:
        """All of standard input."""
        ...


def line(out: Output, text: str = "") -> None:
    """One line on standard output."""
    out.write(text + "\n")


def data(out: Output, value: Any) -> None:
    """One JSON document on standard output: indented for people, on one line when ``--json`` was given."""
    out.write(json.dumps(value, ensure_ascii=False, indent=None if out.json else 2, default=str) + "\n")


def table(out: Output, rows: Sequence[tuple[str, ...]], header: tuple[str, ...]) -> None:
    """Columns of text; cells are cut at 60 characters and never contain line breaks."""
    cells = [tuple(_cell(cell) for cell in row) for row in (header, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    for row in cells:
        line(out, "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _cell(text: str) -> str:
    flat = "".join(character if character.isprintable() else " " for character in text)
    return flat if len(flat) <= 60 else flat[:59] + "…"


def printable(text: str) -> str:
    """``text`` without terminal control sequences: what models and tools write must not move a person's cursor."""
    return "".join(character for character in text if character in "\n\t" or character.isprintable())


class Terminal:
    """The process's own standard streams."""

    def __init__(
        self, *, json: bool, cwd: str, stdout: TextIO | None = None, stderr: TextIO | None = None, stdin: TextIO | None = None
    ) -> None:
        self.json = json
        self.cwd = cwd
        self.request = Request()
        self.handing_over = False
        self._stdout = stdout or sys.stdout
        self._stderr = stderr or sys.stderr
        self._stdin = stdin or sys.stdin
        self.interactive = self._stdin is not None and self._stdin.isatty()
        self._line: asyncio.Future[str] | None = None
        self._input: str | None = None
        self._styled = self._stderr.isatty()
        self._clean = self._stdout.isatty() and not json

    def write(self, text: str) -> None:
        self._put(self._stdout, printable(text) if self._clean else text)

    def note(self, text: str, style: str = "dim") -> None:
        shown = printable(text) if self._styled else text
        self._put(self._stderr, f"{STYLES[style]}{shown}{RESET}\n" if self._styled and style in STYLES else f"{shown}\n")

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

    async def ask(self, prompt: str) -> str | None:
        self._put(self._stderr, prompt)
        # A question that was answered elsewhere leaves its read running; the next question takes that line.
        if self._line is None:
            self._line = asyncio.ensure_future(in_thread(self._stdin.readline))
        text = await asyncio.shield(self._line)
        self._line = None
        return text.rstrip("\r\n") if text else None

    async def read_input(self) -> str:
        if self._input is None:
            # Kept: a command that is taken up by another process asks for it again.
            self._input = await in_thread(self._stdin.read)
        return self._input


async def in_thread(blocking: Callable[[], str]) -> str:
    """Run a blocking read in a daemon thread: a read that never returns does not keep the program from ending."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[str] = loop.create_future()

    def deliver(text: str, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(text)
        else:
            future.set_exception(error)

    def work() -> None:
        try:
            text, problem = blocking(), None
        except (OSError, ValueError) as error:
            text, problem = "", error
        if not loop.is_closed():
            loop.call_soon_threadsafe(deliver, text, problem)

    threading.Thread(target=work, name="read-input", daemon=True).start()
    return await future
