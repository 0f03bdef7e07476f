"""The global shortcut for quick ask: the first available way of this system, and its state."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QObject, Signal

from atelier_desk.desktop.bridge.jobs import Jobs
from atelier_desk.desktop.system.dbus_session import SessionBus
from atelier_desk.desktop.system.portal_shortcut import PortalKey
from atelier_desk.desktop.system.shortcut_backend import BackendMissing, KeyTaken, ShortcutBackend, ShortcutTaken
from atelier_desk.desktop.system.shortcut_key_codes import Keys
from atelier_desk.desktop.system.windows_global_shortcut import WindowsKey
from atelier_desk.desktop.widgets.language_theme_bindings import Sentence, sentence, text_of
from atelier_desk.support.i18n import N_

WayName = Literal["", "portal", "windows"]


@dataclass(frozen=True, slots=True)
class KeyState:
    """The state: ``way`` holds or refused the keys.

    ``shown`` is the desktop's description, ``reason`` why there are none.
    """

    kind: Literal["off", "asking", "held", "taken", "refused", "missing"] = "off"
    way: WayName = ""
    shown: str = ""
    reason: str = ""


def ways(bus: SessionBus) -> list[tuple[WayName, ShortcutBackend]]:
    """The ways of this system, the best first."""
    if sys.platform == "win32":
        return [("windows", WindowsKey())]
    if sys.platform == "darwin":
        return []
    return [("portal", PortalKey(bus))]


class GlobalShortcut(QObject):
    """Follows the settings.

    Signals: ``pressed``, in any program; ``changed`` when ``state`` changes.
    """

    pressed = Signal()
    changed = Signal()

    def __init__(self, found: Sequence[tuple[WayName, ShortcutBackend]], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.state = KeyState()
        self.jobs = Jobs(self, lambda text: self._set(KeyState("missing", reason=text)))
        self._ways = found
        self._wanted = ""
        self._turn = asyncio.Lock()
        """One key is given back before the next is taken."""
        for name, backend in found:
            backend.pressed = self.pressed.emit
            backend.changed = lambda shown, name=name: self._on_changed(name, shown)  # type: ignore[misc]

    def follow(self, on: bool, keys: str) -> None:
        """Register these keys, or none; no effect if unchanged."""
        keys_text = keys if on else ""
        if keys_text != self._wanted:
            self._wanted = keys_text
            self.jobs.start(self._hold(keys_text), "hold")

    def again(self) -> None:
        """Try again to register the keys: another program may have released them."""
        self.jobs.start(self._hold(self._wanted), "hold")

    def release(self) -> None:
        """Release the keys at the end of the program."""
        self._wanted = ""
        self.jobs.cancel()
        for _name, backend in self._ways:
            backend.release()

    async def _hold(self, keys_text: str) -> None:
        async with self._turn:
            for _name, backend in self._ways:
                backend.release()
            self._set(KeyState("asking") if keys_text else KeyState())
            if keys_text:
                self._set(await self._try(keys_text))

    async def _try(self, keys_text: str) -> KeyState:
        """Try each way; the first available one decides."""
        reasons: list[str] = []
        for name, backend in self._ways:
            try:
                return KeyState("held", name, await backend.hold(Keys.read(keys_text)))
            except BackendMissing as why:
                reasons.append(why.reason)
            except KeyTaken:
                return KeyState("taken", name)
            except ShortcutTaken as why:
                return KeyState("refused", name, reason=why.reason)
        if not reasons:
            reasons.append(sentence(N_("This system does not support global shortcuts.")))
        return KeyState("missing", reason=Sentence(lambda: " ".join(map(text_of, reasons))))

    def _on_changed(self, name: WayName, shown: str) -> None:
        if shown:
            self._set(KeyState("held", name, shown))
        else:
            self._set(KeyState("refused", name, reason=sentence(N_("The desktop revoked the shortcut."))))

    def _set(self, state: KeyState) -> None:
        if state != self.state:
            self.state = state
            self.changed.emit()
