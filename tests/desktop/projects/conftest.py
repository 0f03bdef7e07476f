"""The projects window over a fake engine with a small project."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.projects.window import ProjectsWindow
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle
from tests.helpers.fake_project_service import Projects


@pytest.fixture
def projects() -> Projects:
    return Projects()


@pytest.fixture
def atelier(projects: Projects) -> FakeAtelier:
    return FakeAtelier(projects=projects.answers())


@pytest.fixture
async def window(atelier: FakeAtelier, qtbot: QtBot) -> ProjectsWindow:
    made = ProjectsWindow(FakeBridge(atelier))
    qtbot.addWidget(made)
    made.show()
    await made.jobs.settled()
    await settle()
    return made


@pytest.fixture
def find(window: ProjectsWindow) -> Callable[[str], Any]:
    """Any widget of the window by its object name."""

    def by_name(name: str) -> Any:
        found = window.findChild(QWidget, name)
        assert found is not None, name
        return found

    return by_name
