"""A global shortcut by the desktop portal, which asks the user and stores the choice.

It works under Wayland and in sandboxes. Signatures: ``org.freedesktop.portal.GlobalShortcuts.xml``,
``…portal.Request.xml``, ``…portal.Session.xml`` and ``org.freedesktop.host.portal.Registry.xml`` of
xdg-desktop-portal (flatpak.github.io/xdg-desktop-portal/docs).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from collections.abc import Callable
from typing import Any

from PySide6.QtGui import QGuiApplication

from atelier_desk.desktop.system.dbus_session import ANSWER_S, BusError, Call, Incoming, SessionBus
from atelier_desk.desktop.system.shortcut_backend import BackendMissing, ShortcutTaken
from atelier_desk.desktop.system.shortcut_key_codes import Keys
from atelier_desk.desktop.widgets.language_theme_bindings import sentence
from atelier_desk.support.i18n import N_, _

SERVICE, PATH = "org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop"
SHORTCUTS, REQUEST, SESSION = (f"org.freedesktop.portal.{name}" for name in ("GlobalShortcuts", "Request", "Session"))
QUICK = "quick-ask"
DONE, CANCELLED = 0, 1
"""``response`` of ``Request.Response``; 2 is any other end."""
PERSON_S = 600.0
"""Maximum seconds for the desktop's dialog."""


class PortalKey:
    """A session with one shortcut. The configured keys are a preference: the desktop decides and reports the result."""

    def __init__(self, bus: SessionBus) -> None:
        self.pressed: Callable[[], object] = lambda: None
        self.changed: Callable[[str], object] = lambda _text: None
        self._bus = bus
        self._session = ""
        self._owner = ""
        self._known = False
        self._requests: dict[str, asyncio.Future[tuple[int, dict[str, object]]]] = {}

    async def hold(self, keys: Keys) -> str:
        self.release()
        if not keys.keysym:
            raise ShortcutTaken(sentence(N_("This key cannot be used for the shortcut.")))
        try:
            await self._bus.connect()
            await self._find_portal()
            found = await self._request(ANSWER_S, "CreateSession", "a{sv}", {"session_handle_token": ("s", _token())})
            session = self._session = str(found["session_handle"][1])
            about = {"description": ("s", _("Quick ask")), "preferred_trigger": ("s", keys.trigger)}
            bound = await self._request(
                PERSON_S, "BindShortcuts", "oa(sa{sv})sa{sv}", session, [(QUICK, about)], "", {}
            )
        except BusError as error:
            self.release()
            raise BackendMissing(error.reason) from None
        except BaseException:
            self.release()
            raise
        shown = _shown(bound.get("shortcuts", ("", ()))[1])
        if shown is None:
            self.release()
            raise ShortcutTaken(sentence(N_("The desktop did not grant this shortcut.")))
        return shown

    def release(self) -> None:
        session, self._session = self._session, ""
        if session:
            self._bus.send(Call(SERVICE, session, SESSION, "Close"))

    async def _find_portal(self) -> None:
        """Whether the portal exists. The app id is registered first: a portal may refuse requests without it."""
        if not self._known:
            name = QGuiApplication.desktopFileName()
            # An older portal, a sandbox that knows the app id, or no desktop file installed.
            with contextlib.suppress(BusError):
                await self._bus.call(
                    Call(SERVICE, PATH, "org.freedesktop.host.portal.Registry", "Register", "sa{sv}"), name, {}
                )
        properties = Call(SERVICE, PATH, "org.freedesktop.DBus.Properties", "Get", "ss")
        try:
            self._owner = (await self._bus.call(properties, SHORTCUTS, "version")).sender
        except BusError:
            raise BackendMissing(sentence(N_("This desktop's portal does not support global shortcuts."))) from None
        if not self._known:
            for interface, handler in (
                (SHORTCUTS, self._on_shortcut),
                (REQUEST, self._on_response),
                (SESSION, self._on_session),
            ):
                await self._bus.listen(interface, handler)
            self._known = True

    async def _request(self, wait_s: float, method: str, signature: str, *arguments: Any) -> dict[str, Any]:
        """Call a portal method whose result arrives as the ``Response`` of a request object with a chosen token."""
        token = _token()
        *others, options = arguments
        path = f"{PATH}/request/{self._bus.name.lstrip(':').replace('.', '_')}/{token}"
        waiting = self._requests[path] = asyncio.get_running_loop().create_future()
        try:
            await self._bus.call(
                Call(SERVICE, PATH, SHORTCUTS, method, signature), *others, options | {"handle_token": ("s", token)}
            )
            async with asyncio.timeout(wait_s):
                response, results = await waiting
        except BaseException as error:
            if not isinstance(error, BusError):
                self._bus.send(Call(SERVICE, path, REQUEST, "Close"))
            if isinstance(error, TimeoutError):
                raise ShortcutTaken(
                    sentence(N_("The desktop did not respond to the shortcut request in time."))
                ) from None
            raise
        finally:
            self._requests.pop(path, None)
        if response == CANCELLED:
            raise ShortcutTaken(sentence(N_("The shortcut was declined in the desktop's dialog.")))
        if response != DONE:
            raise ShortcutTaken(sentence(N_("The desktop did not grant this shortcut.")))
        return dict(results)

    def _on_response(self, signal: Incoming) -> None:
        waiting = self._requests.get(signal.path)
        if waiting is not None and not waiting.done() and signal.sender == self._owner:
            waiting.set_result((signal.body[0], signal.body[1]))

    def _on_shortcut(self, signal: Incoming) -> None:
        if not self._session or signal.sender != self._owner or signal.body[0] != self._session:
            return
        if signal.member == "Activated" and signal.body[1] == QUICK:
            if token := signal.body[3].get("activation_token", ("s", ""))[1]:
                os.environ["XDG_ACTIVATION_TOKEN"] = token  # Qt uses it when it activates the next window
            self.pressed()
        elif signal.member == "ShortcutsChanged":
            self.changed(_shown(signal.body[1]) or "")

    def _on_session(self, signal: Incoming) -> None:
        if signal.member == "Closed" and signal.path == self._session and signal.sender == self._owner:
            self._session = ""
            self.changed("")


def _token() -> str:
    return f"atelier_{secrets.token_hex(8)}"


def _shown(shortcuts: Any) -> str | None:
    """The desktop's description of our shortcut among the bound ones; None if it was not bound."""
    for name, about in shortcuts:
        if name == QUICK:
            return str(about.get("trigger_description", ("s", ""))[1])
    return None
