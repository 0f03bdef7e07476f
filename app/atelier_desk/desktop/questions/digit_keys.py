"""Recognizes the keys 1 to 9 by position: on AZERTY the upper row types digits only with Shift."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent

_XKB_FIRST = 10
"""X11 and Wayland: the code of key 1 (kernel's KEY_1 in linux/input-event-codes.h, plus 8); the others follow it."""
_WINDOWS_FIRST = 0x31
"""Windows: the virtual key 1; layouts that type digits with Shift have it at the same position."""
_MAC = {0x12: 1, 0x13: 2, 0x14: 3, 0x15: 4, 0x17: 5, 0x16: 6, 0x1A: 7, 0x1C: 8, 0x19: 9}
"""macOS: kVK_ANSI_1 to kVK_ANSI_9, HIToolbox/Events.h."""
_LEVEL_3 = 0x80
"""Mod5 of X11: AltGr, which Qt's modifiers do not include there."""


def digit_of(event: QKeyEvent, platform: str = "") -> int:
    """1 to 9, or 0 for any other key.

    A key that types a digit counts as that digit. Others count by position, unless held with Shift, Ctrl, Meta or
    AltGr, when they type something else.

    Args:
        platform: the name of Qt's platform plugin, which determines key codes; empty for the running one.
    """
    held = event.modifiers()
    if held & (Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.MetaModifier):
        return 0
    if Qt.Key.Key_1 <= event.key() <= Qt.Key.Key_9:
        return event.key() - int(Qt.Key.Key_0)
    if held & (Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.GroupSwitchModifier):
        return 0
    match platform or QGuiApplication.platformName():
        case "windows":
            digit = event.nativeVirtualKey() - _WINDOWS_FIRST + 1
        case "cocoa":
            digit = _MAC.get(event.nativeVirtualKey(), 0)
        case _:
            digit = 0 if event.nativeModifiers() & _LEVEL_3 else event.nativeScanCode() - _XKB_FIRST + 1
    return digit if 1 <= digit <= 9 else 0
