"""Holder side of the local socket.

Executes command lines for other processes and raises its window for a second start.
"""

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
from atelier_desk.engine.ipc.address import HolderNote, remove_note, socket_address, write_note
from atelier_desk.engine.ipc.command_line_executor import command_handler
from atelier_desk.engine.ipc.protocol import PROTOCOL, ProtocolError, encode, receive
from atelier_desk.engine.ipc.remote_terminal import RemoteOutput
from atelier_desk.engine.ipc.resumable_command import Request
from atelier_desk.engine.ipc.transport import listen
from atelier_desk.support.i18n import _, spoken
from atelier_desk.support.shutdown import CANCELLED

if TYPE_CHECKING:
    from atelier_desk.storage.data_folder.datadir import DataDir

log = logging.getLogger(__name__)

HELLO_TIMEOUT_S = 10.0
READ_END_S = 5.0
"""Seconds a client may take to read the end of its output."""


class IpcServer:
    """Serves one open engine.

    Attributes:
        on_raise: called when a second start asks for the window; returns whether there is one.
        on_quick: the same for the small window of a quick question.
    """

    def __init__(
        self,
        atelier: object,
        datadir: DataDir,
        on_raise: Callable[[], bool] | None = None,
        on_quick: Callable[[], bool] | None = None,
    ) -> None:
        self.on_quick = on_quick
        self.on_raise = on_raise
        self._atelier = atelier
        self._root = Path(datadir.root)
        self._wanted = Path(datadir.socket)
        self._note: HolderNote | None = None
        self._stop: Any = None
        self._connections: set[asyncio.Task[object]] = set()
        self._serving: dict[asyncio.Task[object], RemoteOutput] = {}
        """Commands executed for others, by task of the connection."""
        self._commands: dict[asyncio.Task[object], asyncio.Future[int]] = {}
        self._closing = False

    async def until_unused(self) -> None:
        """Wait until no command of others is running; from then on none is started."""
        while self._serving:
            await asyncio.wait(self._serving)
        self._closing = True

    async def start(self) -> None:
        """Listen, then write the note with the address."""
        address = socket_address(self._root, self._wanted)
        self._stop = await listen(address, self._serve)
        self._note = HolderNote(address, secrets.token_urlsafe(24), os.getpid(), __version__)
        write_note(self._root, self._note)

    async def aclose(self) -> None:
        """Stop listening and hand over running commands.

        Runs are interrupted, and their processes continue them elsewhere.
        """
        self._closing = True
        if self._note is not None:
            remove_note(self._root, self._note)
            self._note = None
        if self._stop is not None:
            await self._stop()
            self._stop = None
        # Runs first: their work is saved while short commands may finish.
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

    def _hand_over(self, connections: Sequence[asyncio.Task[object]]) -> None:
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
            # Its last message must be sent before this process may end.
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
            show = self.on_quick if request["raise"] == "quick" else self.on_raise
            writer.write(encode({"raised": bool(show and show())}))
        elif isinstance(request.get("command"), list):
            await self._command(request, reader, writer)
        else:
            writer.write(encode({"error": "request", "message": _("The request was not understood.")}))
        await _drain(writer)

    def _welcome(self, hello: dict[str, object], writer: asyncio.StreamWriter) -> bool:
        if self._closing:
            # Send nothing: the client looks for the next holder, or becomes it.
            return False
        if hello.get("hello") != PROTOCOL:
            text = _("It is another version of Atelier ({version}); close it first.", version=__version__)
            writer.write(encode({"error": "version", "message": text, "hello": PROTOCOL, "version": __version__}))
            return False
        if self._note is None or not hmac.compare_digest(
            str(hello.get("token", "")).encode(), self._note.token.encode()
        ):
            writer.write(encode({"error": "token", "message": _("The connection is not allowed.")}))
            return False
        writer.write(encode({"hello": PROTOCOL, "version": __version__, "pid": os.getpid()}))
        return True

    async def _command(
        self, request: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        handler = command_handler()
        if handler is None:
            writer.write(
                encode(
                    {
                        "error": "no_commands",
                        "message": _("It does not accept commands."),
                    }
                )
            )
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
        # Sent before the first step: a client that did not read this knows that nothing was done.
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
            output.note(_("The command failed; see the log file."), "error")
            status = 1
        finally:
            listener.cancel()
        if output.handing_over and status == CANCELLED:
            # The closed connection tells the client to continue elsewhere.
            return
        output.send({"exit": status})

    @staticmethod
    async def _listen(reader: asyncio.StreamReader, output: RemoteOutput, task: asyncio.Future[int]) -> None:
        """Handle answers and cancellation from the client while its command runs; a closed connection cancels too."""
        parts: dict[object, list[str]] = {}
        while True:
            try:
                message = await receive(reader)
            except ProtocolError:
                message = None
            if message is not None and message.get("ctrl_c") and output.ctrl_c():
                continue
            if message is None or message.get("cancel") or message.get("ctrl_c"):
                task.cancel()
                return
            if "reply" in message:
                reply = message["reply"]
                number = message.get("number")
                if message.get("more"):
                    parts.setdefault(number, []).append(str(reply))
                    continue
                if isinstance(reply, str):
                    reply = "".join((*parts.get(number, ()), reply))
                parts.clear()  # also those of an abandoned reply
                output.answer(reply if isinstance(reply, str) else None, number if isinstance(number, int) else None)


async def _drain(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        await writer.drain()
