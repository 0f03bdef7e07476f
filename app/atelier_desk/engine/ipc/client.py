"""Client side: a process whose data folder is held by another one."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from atelier_desk import __version__
from atelier_desk.domain import limits
from atelier_desk.domain.errors import LimitError, StorageError
from atelier_desk.engine.ipc.address import HolderNote, read_note
from atelier_desk.engine.ipc.protocol import PART_CHARS, PROTOCOL, ProtocolError, encode, receive
from atelier_desk.engine.ipc.resumable_command import Request
from atelier_desk.engine.ipc.transport import connect
from atelier_desk.support.i18n import N_
from atelier_desk.support.shutdown import CANCELLED

ANSWER_TIMEOUT_S = 10.0
"""How long the process that holds the data folder may take to answer before it counts as gone."""


class UserTerminal(Protocol):
    """The terminal of this process (``atelier_desk.cli.terminal_io.Terminal``)."""

    json: bool
    interactive: bool
    watched: bool
    cwd: str

    def write(self, text: str) -> None: ...

    def note(self, text: str, style: str = "dim") -> None: ...

    def think(self, text: str) -> None: ...

    def prompt(self, text: str) -> None: ...

    async def ask(self, prompt: str) -> str | None: ...

    async def read_input(self, most: int = limits.IMPORT_FILE) -> str: ...

    async def read_piped(self) -> str: ...

    def catch_ctrl_c(self, handler: Callable[[], bool] | None) -> None: ...


class HolderConnection:
    """An authenticated connection to the holder, for one request.

    Attributes:
        begun: the holder has begun to execute the command.
        wrote: output of the command was shown.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, note: HolderNote) -> None:
        self._reader = reader
        self._writer = writer
        self.note = note
        self.begun = False
        self.wrote = False

    async def raise_window(self, *, quick: bool = False) -> bool:
        """Ask the holder to raise its window, or its small one for a quick question; False if it has none."""
        self._send({"raise": "quick" if quick else "window"})
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            answer = await receive(self._reader)
        return bool(answer and answer.get("raised"))

    async def run_command(self, argv: Sequence[str], terminal: UserTerminal, request: Request | None = None) -> int:
        """Let the holder execute a command line with this terminal; return its exit status. ``request`` is updated
        meanwhile.

        Cancelling once asks the holder to cancel the command and keeps reading until it has saved; cancelling again
        gives up.

        Raises:
            StorageError: the holder went away (code ``holder_gone``; see ``begun``) or refused.
        """
        request = request or Request()
        how = {
            "cwd": terminal.cwd,
            "json": terminal.json,
            "interactive": terminal.interactive,
            "watched": terminal.watched,
        }
        self._send({"command": list(argv), **how, "request": request.wire()})
        asking: set[asyncio.Task[None]] = set()
        cancelled = False
        try:
            while True:
                try:
                    message = await self._next()
                except asyncio.CancelledError:
                    if cancelled:
                        raise
                    cancelled = True
                    if (task := asyncio.current_task()) is not None:
                        task.uncancel()
                    self._send({"cancel": True})
                    continue
                except StorageError:
                    if cancelled:
                        # It was to end, and has: its work is in the journal.
                        return CANCELLED
                    raise
                if "exit" in message:
                    return int(message["exit"])
                self._handle(message, terminal, asking, request)
        finally:
            for task in asking:
                task.cancel()

    def _handle(
        self, message: dict[str, Any], terminal: UserTerminal, asking: set[asyncio.Task[None]], request: Request
    ) -> None:
        if "at" in message:
            request.shown(*message["at"])
        if "begun" in message:
            self.begun = True
        elif "out" in message:
            self.wrote = True
            request.streaming = "at" not in message
            terminal.write(str(message["out"]))
        elif "err" in message:
            terminal.note(str(message["err"]), str(message.get("style", "dim")))
        elif "think" in message:
            terminal.think(str(message["think"]))
        elif "prompt" in message:
            terminal.prompt(str(message["prompt"]))
        elif "catches_ctrl_c" in message:
            terminal.catch_ctrl_c(self._ctrl_c if message["catches_ctrl_c"] else None)
        elif "ask" in message or "read" in message:
            # The holder waits for one reply at a time: an earlier question was answered elsewhere.
            for earlier in asking:
                earlier.cancel()
            task = asyncio.create_task(self._reply(message, terminal))
            asking.add(task)
            task.add_done_callback(asking.discard)
        elif "error" in message:
            raise StorageError(
                N_("The process that is using the data folder refused the request. {reason}"),
                code="holder",
                reason=message.get("message", ""),
            )

    async def _reply(self, message: dict[str, Any], terminal: UserTerminal) -> None:
        try:
            if "ask" in message:
                text = await terminal.ask(str(message["ask"]))
            else:
                most = int(message.get("most", limits.IMPORT_FILE))
                text = await (terminal.read_piped() if message.get("piped") else terminal.read_input(most))
        except LimitError as error:
            # Ends the command here; the holder ends it when the connection closes.
            self._reader.set_exception(error)
            return
        number, sent = message.get("number"), 0
        while text is not None and len(text) - sent > PART_CHARS:
            self._send({"reply": text[sent : sent + PART_CHARS], "number": number, "more": True})
            sent += PART_CHARS
            with contextlib.suppress(ConnectionError):  # the reader of the holder's messages reports it
                await self._writer.drain()
        self._send({"reply": text and text[sent:], "number": number})

    def _ctrl_c(self) -> bool:
        self._send({"ctrl_c": True})
        return True

    async def _next(self) -> dict[str, Any]:
        try:
            message = await receive(self._reader)
        except ProtocolError as error:
            raise StorageError(
                N_("The process that is using the data folder sent an invalid response: {reason}"),
                code="holder",
                reason=error,
            ) from error
        if message is None:
            raise StorageError(
                N_("The process that was using the data folder has ended. Run the command again."), code="holder_gone"
            )
        return message

    def _send(self, message: dict[str, Any]) -> None:
        self._writer.write(encode(message))

    def close(self) -> None:
        self._writer.close()


async def find_holder(root: Path) -> HolderConnection | None:
    """Connect to the process that holds the data folder; None if nobody answers (also with a stale note).

    Raises:
        StorageError: the holder answers but has another version or refuses (code ``holder``).
    """
    note = read_note(root)
    if note is None:
        return None
    try:
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            reader, writer = await connect(note.address)
    except (OSError, TimeoutError):
        return None
    writer.write(encode({"hello": PROTOCOL, "version": __version__, "token": note.token, "pid": os.getpid()}))
    try:
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            answer = await receive(reader)
    except (ProtocolError, TimeoutError):
        answer = None
    if answer is None:
        writer.close()
        return None
    if answer.get("hello") != PROTOCOL or "error" in answer:
        writer.close()
        text = str(answer.get("message") or "")
        raise StorageError(
            N_("The process that is using the data folder refused the request. {reason}"), code="holder", reason=text
        )
    return HolderConnection(reader, writer, note)
