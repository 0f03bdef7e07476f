"""A private D-Bus session with a notification server and a shortcut portal, over the real protocol."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from jeepney import DBusAddress, HeaderFields, Message, MessageType, new_error, new_method_return, new_signal
from jeepney.bus_messages import message_bus
from jeepney.io.asyncio import DBusConnection, DBusRouter, Proxy, open_dbus_connection

CONFIG = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path={socket}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/>
<allow own="*"/></policy></busconfig>"""


@contextlib.asynccontextmanager
async def session(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[subprocess.Popen[bytes]]:
    """A bus in ``folder``, named in the environment until it ends; skips the test without ``dbus-daemon``."""
    program = shutil.which("dbus-daemon")
    if program is None:
        pytest.skip("dbus-daemon is not installed (Debian: apt install dbus)")
    socket, config = folder / "bus", folder / "bus.conf"
    config.write_text(CONFIG.format(socket=socket), encoding="utf-8")
    daemon = subprocess.Popen(
        [program, f"--config-file={config}", "--nofork", "--print-address"], stdout=subprocess.PIPE
    )
    assert daemon.stdout is not None
    await asyncio.get_running_loop().run_in_executor(None, daemon.stdout.readline)  # it is listening
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={socket}")
    try:
        yield daemon
    finally:
        daemon.kill()
        daemon.wait(5)
        daemon.stdout.close()


class FakeService:
    """A service on the bus; ``called`` records every call.

    Subclasses answer in ``on_<Method>`` with signature and values.
    """

    name = ""

    def __init__(self) -> None:
        self.called: list[tuple[str, tuple[Any, ...]]] = []
        self.client = ""
        self._connection: DBusConnection | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._connection = await open_dbus_connection("SESSION")
        async with DBusRouter(self._connection) as router:
            await Proxy(message_bus, router).RequestName(self.name)
        self._task = asyncio.get_running_loop().create_task(self._serve())

    async def stop(self) -> None:
        assert self._task is not None
        assert self._connection is not None
        self._task.cancel()
        await asyncio.wait([self._task], timeout=5)
        self._connection.writer.close()

    def calls(self, method: str) -> list[tuple[Any, ...]]:
        return [values for called, values in self.called if called == method]

    async def emit(self, path: str, interface: str, member: str, signature: str, *values: Any) -> None:
        assert self._connection is not None
        await self._connection.send(new_signal(DBusAddress(path, interface=interface), member, signature, values))

    async def _serve(self) -> None:
        assert self._connection is not None
        while True:
            message = await self._connection.receive()
            if message.header.message_type is MessageType.method_call:
                await self._answer(message)

    async def _answer(self, message: Message) -> None:
        assert self._connection is not None
        fields = message.header.fields
        method, values = fields[HeaderFields.member], tuple(message.body or ())
        self.client = fields[HeaderFields.sender]
        self.called.append((method, values))
        answer = getattr(self, f"on_{method}", None)
        if answer is None:
            await self._connection.send(
                new_error(message, "org.freedesktop.DBus.Error.UnknownMethod", "s", ("no such method",))
            )
            return
        signature, body = answer(*values)
        await self._connection.send(new_method_return(message, signature, body))
        if (after := getattr(self, f"after_{method}", None)) is not None:
            await after(*values)


class FakeNotifications(FakeService):
    """A notification server; a test clicks with ``press`` and answers with ``reply``."""

    name = "org.freedesktop.Notifications"
    path = "/org/freedesktop/Notifications"

    def __init__(self, *capabilities: str) -> None:
        super().__init__()
        self.capabilities = list(capabilities)
        self._last = 6

    def on_GetCapabilities(self) -> tuple[str, Any]:
        return "as", (self.capabilities,)

    def on_Notify(self, *_values: Any) -> tuple[str, Any]:
        self._last += 1
        return "u", (self._last,)

    def on_CloseNotification(self, _number: int) -> tuple[str, Any]:
        return "", ()

    @property
    def shown(self) -> list[tuple[int, tuple[Any, ...]]]:
        """Number and values of each visible notification."""
        closed = {values[0] for values in self.calls("CloseNotification")}
        return [(number, values) for number, values in enumerate(self.calls("Notify"), 7) if number not in closed]

    async def press(self, number: int, key: str) -> None:
        await self.emit(self.path, self.name, "ActionInvoked", "us", number, key)

    async def reply(self, number: int, text: str) -> None:
        await self.emit(self.path, self.name, "NotificationReplied", "us", number, text)


class FakePortal(FakeService):
    """A portal that assigns the key ``trigger``, or answers a binding with ``response`` 1 or 2."""

    name = "org.freedesktop.portal.Desktop"
    path = "/org/freedesktop/portal/desktop"
    shortcuts = "org.freedesktop.portal.GlobalShortcuts"

    def __init__(self, response: int = 0, trigger: str = "Press <Control><Alt>space") -> None:
        super().__init__()
        self.response, self.trigger = response, trigger
        self.session = ""

    def on_Register(self, _name: str, _options: Any) -> tuple[str, Any]:
        return "", ()

    def on_Get(self, _interface: str, _property: str) -> tuple[str, Any]:
        return "v", (("u", 1),)

    def on_CreateSession(self, options: dict[str, Any]) -> tuple[str, Any]:
        return "o", (self._request(options),)

    async def after_CreateSession(self, options: dict[str, Any]) -> None:
        self.session = f"{self.path}/session/{self._client}/{options['session_handle_token'][1]}"
        await self._respond(options, 0, {"session_handle": ("s", self.session)})

    def on_BindShortcuts(
        self, _session: str, _shortcuts: Any, _parent: str, options: dict[str, Any]
    ) -> tuple[str, Any]:
        return "o", (self._request(options),)

    async def after_BindShortcuts(self, _session: str, shortcuts: Any, _parent: str, options: dict[str, Any]) -> None:
        bound = [
            (name, {"description": about["description"], "trigger_description": ("s", self.trigger)})
            for name, about in shortcuts
        ]
        await self._respond(options, self.response, {"shortcuts": ("a(sa{sv})", bound)} if self.response == 0 else {})

    def on_Close(self) -> tuple[str, Any]:
        return "", ()

    async def press(self, session: str = "") -> None:
        await self.emit(self.path, self.shortcuts, "Activated", "osta{sv}", session or self.session, "quick-ask", 1, {})

    async def change(self, trigger: str) -> None:
        about = {"trigger_description": ("s", trigger)}
        await self.emit(
            self.path, self.shortcuts, "ShortcutsChanged", "oa(sa{sv})", self.session, [("quick-ask", about)]
        )

    async def close_session(self) -> None:
        await self.emit(self.session, "org.freedesktop.portal.Session", "Closed", "a{sv}", {})

    @property
    def _client(self) -> str:
        return self.client.lstrip(":").replace(".", "_")

    def _request(self, options: dict[str, Any]) -> str:
        return f"{self.path}/request/{self._client}/{options['handle_token'][1]}"

    async def _respond(self, options: dict[str, Any], response: int, results: dict[str, Any]) -> None:
        await self.emit(
            self._request(options), "org.freedesktop.portal.Request", "Response", "ua{sv}", response, results
        )
