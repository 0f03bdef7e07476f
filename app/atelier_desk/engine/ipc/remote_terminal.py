"""The terminal of another process, for a command that runs here."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from atelier_desk.domain import limits
from atelier_desk.engine.ipc.protocol import UNSENT_BYTES, encode
from atelier_desk.engine.ipc.resumable_command import Request

log = logging.getLogger(__name__)


class RemoteOutput:
    """The terminal of another process (see ``atelier_desk.cli.terminal_io.Output``).

    Attributes:
        handing_over: the holder is ending: the command is cancelled here, and continued elsewhere.
    """

    def __init__(
        self,
        writer: asyncio.StreamWriter,
        *,
        json: bool,
        interactive: bool,
        cwd: str,
        watched: bool = False,
        request: Request | None = None,
    ) -> None:
        self.json = json
        self.interactive = interactive
        self.cwd = cwd
        self.watched = watched
        self.request = request or Request()
        self.handing_over = False
        self._on_ctrl_c: Callable[[], bool] | None = None
        self._writer = writer
        self._reply: asyncio.Future[str | None] | None = None
        self._requests = 0
        self._at: list[object] | None = None

    def write(self, text: str) -> None:
        self._send_message({"out": text})

    def note(self, text: str, style: str = "dim") -> None:
        self._send_message({"err": text, "style": style})

    def shown(self, workflow_id: str, run_id: str, seq: int) -> None:
        """Attach a shown event to the next text, in one message.

        After a kill of the holder it was shown and counted, or neither.
        """
        self.request.shown(workflow_id, run_id, seq)
        self._at = [workflow_id, run_id, seq]

    def _send_message(self, message: dict[str, object]) -> None:
        if self._at is not None:
            message["at"], self._at = self._at, None
        self.send(message)

    def think(self, text: str) -> None:
        if self.watched:
            self.send({"think": text})

    def prompt(self, text: str) -> None:
        self.send({"prompt": text})

    async def ask(self, prompt: str) -> str | None:
        return await self._request({"ask": prompt})

    async def read_input(self, most: int = limits.IMPORT_FILE) -> str:
        return await self._request({"read": True, "most": most}) or ""

    async def read_piped(self) -> str:
        return await self._request({"read": True, "piped": True}) or ""

    def catch_ctrl_c(self, handler: Callable[[], bool] | None) -> None:
        self._on_ctrl_c = handler
        self.send({"catches_ctrl_c": handler is not None})

    def ctrl_c(self) -> bool:
        """Handle the client's Ctrl-C; False if nobody handles it, and the command is to be cancelled."""
        if self._on_ctrl_c is None:
            return False
        if not self._on_ctrl_c():
            self.catch_ctrl_c(None)
            return False
        return True

    def send(self, message: dict[str, object]) -> None:
        """Queue a message. A client that does not read for too long is disconnected, which cancels its command."""
        if self._writer.is_closing():
            return
        self._writer.write(encode(message))
        if self._writer.transport.get_write_buffer_size() > UNSENT_BYTES:
            log.warning("a client does not read its output; dropped")
            self._writer.transport.abort()

    def answer(self, text: str | None, number: int | None = None) -> None:
        """Deliver the client's reply to a request; outdated ones are ignored, above all a late "yes"."""
        if self._reply is not None and not self._reply.done() and number in (None, self._requests):
            self._reply.set_result(text)

    async def _request(self, message: dict[str, object]) -> str | None:
        self._requests += 1
        reply: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._reply = reply
        self.send({**message, "number": self._requests})
        try:
            return await reply
        finally:
            if self._reply is reply:
                self._reply = None
