"""The activity pane over one run, and over a team of four agents."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.panes.activity.pane import ActivityPane
from atelier_desk.domain.stream.event import StreamEvent
from atelier_desk.domain.workflow import Workflow
from tests.desktop.panes.activity.sample_run_events import one_run
from tests.desktop.panes.conftest import Show
from tests.desktop.team.sample_team_events import started, tree
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle


@pytest.fixture
async def pane(bridge: FakeBridge, atelier: FakeAtelier, shown: Show) -> AsyncIterator[ActivityPane]:
    atelier.set("teams", "replay", ("r1", one_run()[:5]))
    made = shown(ActivityPane(bridge))
    made.set_workflow("w")
    await settle()
    yield made
    made.team.set_workflow("")  # otherwise the tree would be loaded after the loop is closed


def titles(pane: ActivityPane) -> list[str]:
    model = pane.list.model()
    return [model.index(row, 0).data() for row in range(model.rowCount())]


async def live(pane: ActivityPane, qtbot: QtBot, *events: StreamEvent) -> None:
    for each in events:
        pane.on_stream(each)
    qtbot.waitUntil(lambda: not pane._redraw.isActive() and not pane.team._change_timer.isActive())
    await settle()


@pytest.fixture
async def team(pane: ActivityPane, atelier: FakeAtelier, qtbot: QtBot) -> ActivityPane:
    """The pane with four agents at depths 0 to 2."""
    atelier.set("workflows", "get", Workflow(id="w1", name="Team"))
    atelier.set("teams", "tree", lambda *_: tree())
    pane.set_workflow("w1")
    await settle()
    for each in started():
        pane.on_stream(each)
    await quiet(pane, qtbot)
    return pane


async def quiet(pane: ActivityPane, qtbot: QtBot) -> None:
    """Wait until no update is pending."""
    due = (pane._redraw, pane.team._change_timer, pane.team._frame_timer, pane.team._reload, pane.tree._making)
    for _round in range(2):
        qtbot.waitUntil(lambda: not any(timer.isActive() for timer in due))
        await settle()
