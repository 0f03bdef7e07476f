"""Scrolling through the settings changes nothing."""

from __future__ import annotations

from atelier_desk.desktop.settings.registry import sections
from atelier_desk.desktop.settings.window import SettingsWindow
from tests.desktop.settings.conftest import Engine
from tests.helpers.fake_bridge import settle
from tests.helpers.mouse_wheel import changed_by_wheel, inputs


async def test_the_wheel_changes_no_input_of_any_page(window: SettingsWindow, atelier: Engine) -> None:
    seen = 0
    for entry in sections():
        window.show_page(entry.name)
        await settle()
        seen += len(inputs(window.page(entry.name)))
        assert changed_by_wheel(window.page(entry.name)) == [], entry.name
    assert seen > 20
    await settle()
    assert atelier.calls("settings.set") == []
