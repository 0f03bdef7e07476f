"""The context pane with recorded requests."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtWidgets import QListWidget

from atelier_desk.desktop.panes.context.pane import ContextPane
from tests.desktop.panes.conftest import Show
from tests.helpers import sample_team_history
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle


@pytest.fixture
def atelier() -> FakeAtelier:
    return sample_team_history.engine()


@pytest.fixture
async def pane(bridge: FakeBridge, shown: Show) -> ContextPane:
    made: ContextPane = shown(ContextPane(bridge))
    made.set_workflow("w1")
    await settle()
    return made


def texts(widget: QListWidget) -> list[str]:
    return [widget.item(row).text() for row in range(widget.count())]


def named(pane: ContextPane, kind: type[Any], name: str) -> Any:
    found = pane.findChild(kind, name)
    assert found is not None, name
    return found
