"""Former settings pages: their names open the pages that took them over."""

from __future__ import annotations

from typing import Any

import pytest

from atelier_desk.desktop.settings.page_base import SettingsPage
from atelier_desk.desktop.settings.window import SettingsWindow
from tests.e2e.conftest import OpenApp

TAKEN_OVER = {
    "quick": "General",
    "skills": "Agents and skills",
    "tools": "Permissions and tools",
    "projects": "Memory and projects",
    "media": "Web and media",
    "diagnostics": "Data and diagnostics",
    "usage": "Data and diagnostics",
}
"""Pages of their own once, by the page that took each over."""


@pytest.fixture(autouse=True)
def quick_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    async def checks(_atelier: Any) -> list[Any]:
        return []

    monkeypatch.setattr("atelier_desk.engine.maintenance.doctor.checks", checks)


def test_the_name_of_a_former_page_opens_the_page_that_took_it_over(open_app: OpenApp) -> None:
    app = open_app()
    for name, title in TAKEN_OVER.items():
        app.window.show_settings(name)
        page, window = app.find(f"settings-page-{name}", SettingsPage), app.find("settings-window", SettingsWindow)
        assert [each for each in window.findChildren(SettingsPage) if each.isVisible()] == [page]
        assert window.title.text() == title
        assert window.tabs.tabText(window.tabs.currentIndex()) == page.accessibleName()
