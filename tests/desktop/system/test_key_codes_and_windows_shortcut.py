"""Key names of each system, and Windows' shortcuts with a fake library."""

from __future__ import annotations

import ctypes
from ctypes import wintypes

import pytest
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.system.global_shortcut import GlobalShortcut, KeyState
from atelier_desk.desktop.system.shortcut_key_codes import Keys
from atelier_desk.desktop.system.windows_global_shortcut import ID, WM_HOTKEY, WindowsKey


@pytest.mark.parametrize(
    ("text", "trigger", "virtual"),
    [
        ("Ctrl+Alt+Space", "CTRL+ALT+space", 0x20),
        ("Meta+Shift+K", "SHIFT+LOGO+k", 0x4B),
        ("F12", "F12", 0x7B),
        ("Ctrl++", "CTRL+plus", 0),
        ("Alt+PgUp", "ALT+Prior", 0x21),
        ("Ctrl+7", "CTRL+7", 0x37),
        ("Ctrl+É", "CTRL+", 0),
    ],
)
def test_a_key_is_parsed_and_formatted(text: str, trigger: str, virtual: int) -> None:
    keys = Keys.read(text)
    assert (keys.trigger, keys.virtual) == (trigger, virtual)


class User32:
    """Windows' library as far as used; ``taken`` keys belong to another program."""

    def __init__(self, *used: int) -> None:
        self.used = used
        self.held: list[tuple[int, int]] = []

    def RegisterHotKey(self, _window: None, number: int, masks: int, key: int) -> int:
        assert number == ID
        if key in self.used:
            return 0
        self.held.append((masks, key))
        return 1

    def UnregisterHotKey(self, _window: None, _number: int) -> int:
        self.held.pop()
        return 1


async def test_windows_registers_a_key_and_reports_it(qtbot: QtBot) -> None:
    library = User32()
    backend = WindowsKey(library)
    shortcut = GlobalShortcut([("windows", backend)])
    shortcut.follow(True, "Ctrl+Alt+Space")
    await shortcut.jobs.settled()
    assert shortcut.state == KeyState("held", "windows")
    assert library.held == [(1 | 2 | 0x4000, 0x20)]
    results: list[bool] = []
    shortcut.pressed.connect(lambda: results.append(True))
    message = wintypes.MSG(message=WM_HOTKEY, wParam=ID)
    other = wintypes.MSG(message=WM_HOTKEY, wParam=ID + 1)
    assert backend.nativeEventFilter(b"windows_generic_MSG", ctypes.addressof(message)) == (True, 0)
    assert backend.nativeEventFilter(b"windows_generic_MSG", ctypes.addressof(other)) == (False, 0)
    assert results == [True]
    shortcut.release()
    assert library.held == []
    assert backend.nativeEventFilter(b"windows_generic_MSG", ctypes.addressof(message)) == (False, 0)


async def test_a_key_of_another_program_is_unavailable_until_released(qtbot: QtBot) -> None:
    library = User32(0x20)
    shortcut = GlobalShortcut([("windows", WindowsKey(library))])
    shortcut.follow(True, "Ctrl+Alt+Space")
    await shortcut.jobs.settled()
    assert shortcut.state == KeyState("taken", "windows")
    library.used = ()
    shortcut.again()
    await shortcut.jobs.settled()
    assert shortcut.state.kind == "held"
    shortcut.release()


async def test_a_system_without_global_shortcuts_is_reported() -> None:
    shortcut = GlobalShortcut([])
    shortcut.follow(True, "Ctrl+Alt+Space")
    await shortcut.jobs.settled()
    assert shortcut.state == KeyState("missing", reason="This system does not support global shortcuts.")
