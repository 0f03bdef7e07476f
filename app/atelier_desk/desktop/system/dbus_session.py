"""The session bus of a Linux desktop (D-Bus): calls with timeouts, and signals; never blocks the window's thread.

The protocol is jeepney's; its router is not used, as it does not report the loss of the connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from atelier_desk.desktop.widgets.language_theme_bindings import sentence
from atelier_desk.support.i18n import N_

ANSWER_S = 10.0
"""Timeout of a call in seconds; dialogs with the user are not awaited in a call."""
DAEMON, DAEMON_PATH = "org.freedesktop.DBus", "/org/freedesktop/DBus"


class BusError(Exception):
    """Why a request to the bus failed, as a sentence; ``name`` is the D-Bus error's name, if any."""

    def __init__(self, reason: str, name: str = "") -> None:
        super().__init__(reason)
        self.reason, self.name = reason, name


@dataclass(frozen=True, slots=True)
class Call:
    """A method of a service's object; ``signature`` gives the D-Bus types of its arguments."""

    service: str
    path: str
    interface: str
    method: str
    signature: str = ""


@dataclass(frozen=True, slots=True)
class Incoming:
    """A reply or signal: its values, and the sender's unique name."""

    body: tuple[Any, ...]
    sender: str
    member: str = ""
    path: str = ""


class SessionBus:
    """A connection. ``call`` raises ``BusError``; signal handlers run in the loop, in order.

    Attributes:
        name: the connection's unique name, such as ``:1.42``.
        lost: called once if the connection is lost.
    """

    def __init__(self) -> None:
        self.name = ""
        self.lost: Callable[[], object] = lambda: None
        self._connection: Any = None
        self._reader: asyncio.Task[None] | None = None
        self._waiting: dict[int, asyncio.Future[Incoming]] = {}
        self._handlers: dict[str, list[Callable[[Incoming], object]]] = {}

    @property
    def open(self) -> bool:
        return self._reader is not None and not self._reader.done()

    async def connect(self) -> None:
        """Connect to ``DBUS_SESSION_BUS_ADDRESS``; does nothing if connected.

        Raises:
            BusError: there is no bus, or it does not answer.
        """
        if self.open:
            return
        if sys.platform in ("win32", "darwin"):
            raise BusError(sentence(N_("This system has no D-Bus.")))
        try:
            async with asyncio.timeout(ANSWER_S):
                self._connection = await _jeepney().io.asyncio.open_dbus_connection("SESSION")
        except KeyError:
            raise BusError(sentence(N_("No D-Bus session is running here."))) from None
        except Exception as error:  # missing socket, refused or timed out connection, unsupported address
            reason = str(error) or type(error).__name__
            raise BusError(sentence(N_("The D-Bus session cannot be reached ({error})."), error=reason)) from None
        self.name = self._connection.unique_name
        self._reader = asyncio.get_running_loop().create_task(self._read(self._connection))

    async def call(self, call: Call, *arguments: object) -> Incoming:
        """Call a method and wait for its reply."""
        if not self.open:
            raise BusError(sentence(N_("The D-Bus session has ended.")))
        serial = next(self._connection.outgoing_serial)
        answer: asyncio.Future[Incoming] = asyncio.get_running_loop().create_future()
        self._waiting[serial] = answer
        try:
            async with asyncio.timeout(ANSWER_S):
                await self._connection.send(_message(call, arguments), serial=serial)
                return await answer
        except TimeoutError:
            raise BusError(sentence(N_("{service} does not answer."), service=call.service)) from None
        except OSError as error:
            raise BusError(sentence(N_("The D-Bus session has ended."))) from error
        finally:
            self._waiting.pop(serial, None)

    def send(self, call: Call, *arguments: object) -> None:
        """Call a method without waiting for a reply; sent at once, so it works while the program ends."""
        if self.open:
            message = _message(call, arguments)
            message.header.flags |= _jeepney().MessageFlag.no_reply_expected
            with contextlib.suppress(OSError):
                self._connection.writer.write(message.serialise(next(self._connection.outgoing_serial)))

    async def listen(self, interface: str, handler: Callable[[Incoming], object]) -> None:
        """Subscribe ``handler`` to all signals of an interface."""
        known = interface in self._handlers
        self._handlers.setdefault(interface, []).append(handler)
        if not known:
            await self.call(
                Call(DAEMON, DAEMON_PATH, DAEMON, "AddMatch", "s"), f"type='signal',interface='{interface}'"
            )

    def close(self) -> None:
        """Disconnect; pending calls fail."""
        if self._reader is not None:
            self._reader.cancel()
            self._reader = None
        if self._connection is not None:
            self._connection.writer.close()
            self._connection = None
        self._end()

    async def _read(self, connection: Any) -> None:
        known, kinds = _jeepney().HeaderFields, _jeepney().MessageType
        try:
            while True:
                message = await connection.receive()
                fields = message.header.fields
                incoming = Incoming(
                    tuple(message.body or ()),
                    fields.get(known.sender, ""),
                    fields.get(known.member, ""),
                    fields.get(known.path, ""),
                )
                if message.header.message_type is kinds.signal:
                    for handler in self._handlers.get(fields.get(known.interface, ""), ()):
                        handler(incoming)
                    continue
                waiting = self._waiting.get(fields.get(known.reply_serial, 0))
                if waiting is None or waiting.done():
                    continue
                if message.header.message_type is kinds.error:
                    name = fields.get(known.error_name, "")
                    waiting.set_exception(BusError(str(incoming.body[0]) if incoming.body else name, name))
                else:
                    waiting.set_result(incoming)
        except (EOFError, OSError):
            self._end()
            self.lost()

    def _end(self) -> None:
        self._handlers.clear()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(BusError(sentence(N_("The D-Bus session has ended."))))


def _jeepney() -> Any:
    """It is installed on Linux only."""
    import jeepney.io.asyncio

    return jeepney


def _message(call: Call, arguments: tuple[object, ...]) -> Any:
    address = _jeepney().DBusAddress(call.path, bus_name=call.service, interface=call.interface)
    return _jeepney().new_method_call(address, call.method, call.signature or None, arguments)
