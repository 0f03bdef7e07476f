"""The session bus of a Linux desktop: calls that are waited for with a limit, and signals. Nothing here blocks the window's thread.

The wire is jeepney's; its router is not used, because it tells nobody when the bus goes away.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from atelier_desk.desktop.widgets.bindings import sentence
from atelier_desk.support.i18n import N_

ANSWER_S = 10.0
"""How long a service may take to answer a call; what asks a person is not waited for in a call."""
DAEMON, DAEMON_PATH = "org.freedesktop.DBus", "/org/freedesktop/DBus"


class BusError(Exception):
    """Why something cannot be had from the bus, as a sentence for people; ``name`` is the error's name on the bus, if it has one."""

    def __init__(self, reason: str, name: str = "") -> None:
        super().__init__(reason)
        self.reason, self.name = reason, name


@dataclass(frozen=True, slots=True)
class Call:
    """A method of an object of a service; ``signature`` gives the D-Bus types of its arguments."""

    service: str
    path: str
    interface: str
    method: str
    signature: str = ""


@dataclass(frozen=True, slots=True)
class Incoming:
    """An answer or a signal: its values, and the unique name of who sent it."""

    body: tuple[Any, ...]
    sender: str
    member: str = ""
    path: str = ""


class SessionBus:
    """One connection. ``call`` raises ``BusError``; handlers of signals run in the loop, in the order the signals came.

    Attributes:
        name: the connection's unique name, such as ``:1.42``.
        lost: called once when the bus goes away by itself.
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
        """Join the bus that ``DBUS_SESSION_BUS_ADDRESS`` names; joined already, nothing happens.

        Raises:
            BusError: this system has none, or it does not answer.
        """
        if self.open:
            return
        if sys.platform in ("win32", "darwin"):
            raise BusError(sentence(N_("This system has no D-Bus.")))
        from jeepney.io.asyncio import open_dbus_connection

        try:
            async with asyncio.timeout(ANSWER_S):
                self._connection = await open_dbus_connection("SESSION")
        except KeyError:
            raise BusError(sentence(N_("No D-Bus session is running here."))) from None
        except Exception as error:  # a socket that is not there, a bus that refuses or is silent, an address of another kind
            said = str(error) or type(error).__name__
            raise BusError(sentence(N_("The D-Bus session cannot be reached ({error})."), error=said)) from None
        self.name = self._connection.unique_name
        self._reader = asyncio.get_running_loop().create_task(self._read(self._connection))

    async def call(self, call: Call, *arguments: Any) -> Incoming:
        """Call a method and wait for its answer."""
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

    def send(self, call: Call, *arguments: Any) -> None:
        """Call a method whose answer nobody needs; at once, so that it still works while the program ends."""
        if self.open:
            from jeepney import MessageFlag

            message = _message(call, arguments)
            message.header.flags |= MessageFlag.no_reply_expected
            with contextlib.suppress(OSError):
                self._connection.writer.write(message.serialise(next(self._connection.outgoing_serial)))

    async def listen(self, interface: str, handler: Callable[[Incoming], object]) -> None:
        """Have ``handler`` told of every signal of an interface."""
        known = interface in self._handlers
        self._handlers.setdefault(interface, []).append(handler)
        if not known:
            await self.call(Call(DAEMON, DAEMON_PATH, DAEMON, "AddMatch", "s"), f"type='signal',interface='{interface}'")

    def close(self) -> None:
        """Leave the bus; waiting calls fail."""
        if self._reader is not None:
            self._reader.cancel()
            self._reader = None
        if self._connection is not None:
            self._connection.writer.close()
            self._connection = None
        self._end()

    async def _read(self, connection: Any) -> None:
        from jeepney import HeaderFields, MessageType

        try:
            while True:
                message = await connection.receive()
                fields = message.header.fields
                got = Incoming(
                    tuple(message.body or ()),
                    fields.get(HeaderFields.sender, ""),
                    fields.get(HeaderFields.member, ""),
                    fields.get(HeaderFields.path, ""),
                )
                if message.header.message_type is MessageType.signal:
                    for handler in self._handlers.get(fields.get(HeaderFields.interface, ""), ()):
                        handler(got)
                    continue
                waiting = self._waiting.get(fields.get(HeaderFields.reply_serial, 0))
                if waiting is None or waiting.done():
                    continue
                if message.header.message_type is MessageType.error:
                    name = fields.get(HeaderFields.error_name, "")
                    waiting.set_exception(BusError(str(got.body[0]) if got.body else name, name))
                else:
                    waiting.set_result(got)
        except (EOFError, OSError):
            self._end()
            self.lost()

    def _end(self) -> None:
        self._handlers.clear()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(BusError(sentence(N_("The D-Bus session has ended."))))


def _message(call: Call, arguments: tuple[Any, ...]) -> Any:
    from jeepney import DBusAddress, new_method_call

    address = DBusAddress(call.path, bus_name=call.service, interface=call.interface)
    return new_method_call(address, call.method, call.signature or None, arguments)
