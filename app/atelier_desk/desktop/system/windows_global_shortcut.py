"""A global shortcut by Windows: ``RegisterHotKey``.

Its ``WM_HOTKEY`` passes through Qt's event loop to a native event filter.

Numbers: ``winuser.h``; learn.microsoft.com, "RegisterHotKey function" and "WM_HOTKEY message".
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import wintypes
from typing import Any

from PySide6.QtCore import QAbstractNativeEventFilter, QCoreApplication

from atelier_desk.desktop.system.shortcut_backend import KeyTaken, ShortcutTaken
from atelier_desk.desktop.system.shortcut_key_codes import Keys
from atelier_desk.desktop.widgets.language_theme_bindings import sentence
from atelier_desk.support.i18n import N_

MASKS = {"Alt": 1, "Ctrl": 2, "Shift": 4, "Meta": 8}
NO_REPEAT = 0x4000
WM_HOTKEY = 0x0312
ID = 0x0A7E
"""Our id among the hot keys of this thread; a program may use 0x0000 to 0xBFFF."""


class WindowsKey(QAbstractNativeEventFilter):
    """The hot key of the window's thread. ``user32`` is the library; tests replace it."""

    def __init__(self, user32: Any = None) -> None:
        super().__init__()
        self.pressed: Callable[[], object] = lambda: None
        self.changed: Callable[[str], object] = lambda _text: None
        self._user32 = user32
        self._held = False

    async def hold(self, keys: Keys) -> str:
        self.release()
        if not keys.virtual:
            raise ShortcutTaken(sentence(N_("This key cannot be used for the shortcut.")))
        if self._user32 is None:
            self._user32 = ctypes.WinDLL("user32")  # type: ignore[attr-defined]
        if not self._user32.RegisterHotKey(None, ID, sum(MASKS[name] for name in keys.held) | NO_REPEAT, keys.virtual):
            raise KeyTaken
        self._held = True
        if (application := QCoreApplication.instance()) is not None:
            application.installNativeEventFilter(self)
        return ""

    def release(self) -> None:
        if self._held:
            self._held = False
            self._user32.UnregisterHotKey(None, ID)
            if (application := QCoreApplication.instance()) is not None:
                application.removeNativeEventFilter(self)

    def nativeEventFilter(self, kind: Any, message: Any) -> tuple[bool, int]:
        if self._held and bytes(kind) == b"windows_generic_MSG":
            native = wintypes.MSG.from_address(int(message))
            if native.message == WM_HOTKEY and native.wParam == ID:
                self.pressed()
                return True, 0
        return False, 0
