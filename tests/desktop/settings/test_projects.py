"""The page of projects: search access, and the link to their window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.main_window.action_registry import ActionRegistry, ActionSpec
from atelier_desk.desktop.settings.window import SettingsWindow
from tests.desktop.settings.conftest import Engine
from tests.helpers.fake_bridge import FakeBridge, settle
from tests.helpers.fake_project_service import Projects

Find = Callable[[str], Any]


async def test_a_project_is_excluded_from_searches_and_the_window_opens(
    window: SettingsWindow, find: Find, atelier: Engine, bridge: FakeBridge
) -> None:
    projects = Projects()
    for method in ("list", "change"):
        atelier.set("projects", method, projects.answers()[method])
    window.show_page("projects")
    await settle()
    assert find("project-loaded-notes").isChecked()
    find("project-loaded-notes").click()
    await settle()
    assert not projects.stored[0].loaded
    opened: list[bool] = []
    ActionRegistry(window).add(ActionSpec("projects", "Projects", "program"), lambda: opened.append(True))
    find("projects-open").click()
    assert opened == [True]
    projects.stored = projects.stored[1:]
    bridge.changed.emit("projects", "p1")
    await settle()
    assert window.findChild(QWidget, "project-loaded-notes") is None
