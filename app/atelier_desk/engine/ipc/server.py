"""The holder's side of the local socket: it executes command lines for other processes and raises its window for a second start."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import os
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atelier_desk import __version__
from atelier_desk.domain.limits import HAND_OVER_S, LAST_WORDS_S, SHORT_COMMAND_S
from atelier_desk.ending import CANCELLED
from atelier_desk.engine.ipc import command_handler
from atelier_desk.engine.ipc.address import HolderNote, remove_note, socket_address, write_note
from atelier_desk.engine.ipc.protocol import PROTOCOL, UNSENT_BYTES, ProtocolError, encode, receive
from atelier_desk.engine.ipc.request import Request
from atelier_desk.engine.ipc.transport import listen
from atelier_desk.i18n import _, spoken

if TYPE_CHECKING:
    from atelier_desk.storage.datadir import DataDir

log = logging.getLogger(__name__)

HELLO_TIMEOUT_S = 10.0
READ_END_S = 5.0
"""How long a client may take to read the end of its output."""


class RemoteOutput:
    """The terminal of another process, as the command that runs here sees it (see ``atelier_desk.cli.output.Output``).

    Attributes:
        handing_over: the holder ends: the command is cancelled here, and its process goes on with it elsewhere.
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
        self._on_interrupt: Callable[[], bool] | None = None
        self._writer = writer
        self._reply: asyncio.Future[str | None] | None = None
        self._requests = 0
        self._at: list[Any] | None = None

    def write(self, text: str) -> None:
        self._say({"out": text})

    def note(self, text: str, style: str = "dim") -> None:
        self._say({"err": text, "style": style})

    def shown(self, workflow_id: str, run_id: str, seq: int) -> None:
        """Goes with the next text, in one message: a holder that is killed has shown and counted an event, or neither."""
        self.request.shown(workflow_id, run_id, seq)
        self._at = [workflow_id, run_id, seq]

    def _say(self, message: dict[str, Any]) -> None:
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

    async def read_input(self) -> str:
        return await self._request({"read": True}) or ""

    async def read_piped(self) -> str:
        return await self._request({"read": True, "piped": True}) or ""

    def catch_interrupts(self, handler: Callable[[], bool] | None) -> None:
        self._on_interrupt = handler
        self.send({"interrupts": handler is not None})

    def interrupted(self) -> bool:
        """The client's Ctrl-C; False when nobody deals with it, and the command is to be cancelled."""
        if self._on_interrupt is None:
            return False
        if not self._on_interrupt():
            self.catch_interrupts(None)
            return False
        return True

    def send(self, message: dict[str, Any]) -> None:
        """Queue a message. A client that reads nothing for too long is dropped, which cancels its command."""
        if self._writer.is_closing():
            return
        self._writer.write(encode(message))
        if self._writer.transport.get_write_buffer_size() > UNSENT_BYTES:
            log.warning("a client does not read its output; dropped")
            self._writer.transport.abort()

    def answer(self, text: str | None, number: int | None = None) -> None:
        """The client's reply to the request of that number; one that nobody waits for any more is ignored, above all a late "yes"."""
        if self._reply is not None and not self._reply.done() and number in (None, self._requests):
            self._reply.set_result(text)

    async def _request(self, message: dict[str, Any]) -> str | None:
        self._requests += 1
        self._reply = reply = asyncio.get_running_loop().create_future()
        self.send({**message, "number": self._requests})
        try:
            return await reply
        finally:
            if self._reply is reply:
                self._reply = None


class IpcServer:
    """Serves one open engine.

    Attributes:
        on_raise: called when a second start asks for the window; gives whether there is one.
    """

    def __init__(self, atelier: Any, datadir: DataDir, on_raise: Callable[[], bool] | None = None) -> None:
        self.on_raise = on_raise
        self._atelier = atelier
        self._root = Path(datadir.root)
        self._wanted = Path(datadir.socket)
        self._note: HolderNote | None = None
        self._stop: Any = None
        self._connections: set[asyncio.Task[Any]] = set()
        self._serving: dict[asyncio.Task[Any], RemoteOutput] = {}
        """By the connection's task, the commands that are performed for others."""
        self._commands: dict[asyncio.Task[Any], asyncio.Future[int]] = {}
        self._closing = False

    @property
    def serves(self) -> int:
        """How many commands of other processes are under way."""
        return len(self._serving)

    async def until_unused(self) -> None:
        """Wait until nothing is done for other processes any more; from that moment on nothing is begun for them either."""
        while self._serving:
            await asyncio.wait(self._serving)
        self._closing = True

    async def start(self) -> None:
        """Listen, then leave the note that tells others where."""
        address = socket_address(self._root, self._wanted)
        self._stop = await listen(address, self._serve)
        self._note = HolderNote(address, secrets.token_urlsafe(24), os.getpid(), __version__)
        write_note(self._root, self._note)

    async def aclose(self) -> None:
        """Stop listening and hand over what still runs for others: runs are interrupted, and their processes go on with them elsewhere."""
        self._closing = True
        if self._note is not None:
            remove_note(self._root, self._note)
            self._note = None
        if self._stop is not None:
            await self._stop()
            self._stop = None
        # Runs first: what they did is saved while the short commands are let finish.
        self._hand_over([task for task, output in self._serving.items() if output.request.run_id])
        short = [task for task, output in self._serving.items() if not output.handing_over]
        if short:
            await asyncio.wait(short, timeout=SHORT_COMMAND_S)
            self._hand_over([task for task in short if task in self._serving])
        if self._serving:
            await asyncio.wait(self._serving, timeout=HAND_OVER_S - (SHORT_COMMAND_S if short else 0))
        current = asyncio.current_task()
        left = [each for each in self._connections if each is not current]
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=LAST_WORDS_S)

    def _hand_over(self, connections: Sequence[asyncio.Task[Any]]) -> None:
        for connection in connections:
            self._serving[connection].handing_over = True
            self._commands[connection].cancel()

    async def __aenter__(self) -> IpcServer:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._converse(reader, writer)
        except (ProtocolError, TimeoutError) as error:
            log.info("a local connection was refused: %s", error)
        except ConnectionError:
            log.debug("a local connection broke")
        finally:
            writer.close()
            # Its last words must be on their way before this process may end.
            with contextlib.suppress(ConnectionError, TimeoutError):
                async with asyncio.timeout(READ_END_S):
                    await writer.wait_closed()
            self._connections.discard(task)
            self._serving.pop(task, None)
            self._commands.pop(task, None)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(HELLO_TIMEOUT_S):
            hello = await receive(reader)
        if hello is None or not self._welcome(hello, writer):
            await _drain(writer)
            return
        async with asyncio.timeout(HELLO_TIMEOUT_S):
            request = await receive(reader)
        if request is None or self._closing:
            return
        if request.get("raise"):
            writer.write(encode({"raised": bool(self.on_raise and self.on_raise())}))
        elif isinstance(request.get("command"), list):
            await self._command(request, reader, writer)
        else:
            writer.write(encode({"error": "request", "message": _("The request is not understood.")}))
        await _drain(writer)

    def _welcome(self, hello: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
        if self._closing:
            # Nothing is said: the client looks for the next holder, or becomes it.
            return False
        if hello.get("hello") != PROTOCOL:
            text = _("Another version of Atelier ({version}) holds the data folder; close it first.", version=__version__)
            writer.write(encode({"error": "version", "message": text, "hello": PROTOCOL, "version": __version__}))
            return False
        if self._note is None or not hmac.compare_digest(str(hello.get("token", "")).encode(), self._note.token.encode()):
            writer.write(encode({"error": "token", "message": _("The connection is not allowed.")}))
            return False
        writer.write(encode({"hello": PROTOCOL, "version": __version__, "pid": os.getpid()}))
        return True

    async def _command(self, request: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handler = command_handler()
        if handler is None:
            writer.write(encode({"error": "no_commands", "message": _("The holder of the data folder runs no commands.")}))
            return
        output = RemoteOutput(
            writer,
            json=bool(request.get("json")),
            interactive=bool(request.get("interactive")),
            cwd=str(request.get("cwd") or "."),
            watched=bool(request.get("watched")),
            request=Request.from_wire(request.get("request")),
        )
        argv = [str(argument) for argument in request["command"]]
        connection = asyncio.current_task()
        assert connection is not None
        # Written before the first step is done: a client that did not read this knows that nothing was.
        output.send({"begun": True})
        with spoken(output.request.language):
            task = asyncio.ensure_future(handler(self._atelier, argv, output))
        self._serving[connection], self._commands[connection] = output, task
        listener = asyncio.create_task(self._listen(reader, output, task))
        try:
            status = await task
        except asyncio.CancelledError:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])
            status = CANCELLED
        except Exception:
            log.exception("a command of another process failed")
            output.note(_("The command failed; the log file says why."), "error")
            status = 1
        finally:
            listener.cancel()
        if output.handing_over and status == CANCELLED:
            # The end of the connection tells the client to go on elsewhere.
            return
        output.send({"exit": status})

    @staticmethod
    async def _listen(reader: asyncio.StreamReader, output: RemoteOutput, task: asyncio.Future[int]) -> None:
        """Answers and cancellation from the client while its command runs; a connection that ends cancels too."""
        while True:
            try:
                message = await receive(reader)
            except ProtocolError:
                message = None
            if message is not None and message.get("interrupt") and output.interrupted():
                continue
            if message is None or message.get("cancel") or message.get("interrupt"):
                task.cancel()
                return
            if "reply" in message:
                reply = message["reply"]
                number = message.get("number")
                output.answer(reply if isinstance(reply, str) else None, number if isinstance(number, int) else None)


async def _drain(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        await writer.drain()
