"""The tree of agents in the activity pane: its rows, their buttons and its height."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu, QPushButton, QSplitter
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.panes.activity.agent_tree import ALWAYS
from atelier_desk.desktop.panes.activity.pane import LEAST_LOG, ActivityPane
from atelier_desk.desktop.theme import theme
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from tests.desktop.panes.activity.conftest import live, quiet, titles
from tests.desktop.panes.activity.sample_run_events import event
from tests.desktop.team.sample_team_events import START, sub_agent_event
from tests.desktop.team.sample_team_events import event as team_event
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import FakeAtelier, settle
from tests.helpers.mouse_pointer import aim, leave


def asked(atelier: FakeAtelier) -> list[tuple[str, str]]:
    """The requested actions with their runs."""
    calls = [(key.removeprefix("runs."), args) for key, args, _fields in atelier.log if key.startswith("runs.")]
    return [
        (args[1] if what == "steering.message" else what.removeprefix("steering."), args[0]) for what, args in calls
    ]


@pytest.mark.parametrize("state", ["paused", "interrupted"])
async def test_the_tree_shows_the_agent_and_its_buttons_steer_the_run(
    pane: ActivityPane, atelier: FakeAtelier, qtbot: QtBot, state: str
) -> None:
    assert pane.tree.objectName() == "agent-tree"
    row = pane.tree._rows["r1"]
    assert row.accessibleName().startswith("Ada, running, ")
    assert "120 tokens" in row.accessibleName()
    row.pause.click()
    await live(pane, qtbot, event(10, ChunkType.RUN_STATUS, status=state))
    assert row.accessibleName().startswith(f"Ada, {state}")
    row.pause.click()
    row.stop.click()
    await settle()
    assert asked(atelier) == [("pause", "r1"), ("resume", "r1"), ("cancel", "r1")]
    await live(pane, qtbot, event(11, ChunkType.WORKFLOW_COMPLETE, status="cancelled"))
    assert row.stop.isHidden()
    assert not pane.team._tick.isActive()


async def test_the_tree_describes_running_calls(pane: ActivityPane, qtbot: QtBot) -> None:
    presentation = {"title": "Calculator", "summary": {"text": "1+1"}}
    await live(
        pane, qtbot, event(50, ChunkType.TOOL_START, call_id="c9", tool="CalculatorTool", presentation=presentation)
    )
    assert "Calculator" in pane.tree._rows["r1"].accessibleName()
    assert "CalculatorTool" not in pane.tree._rows["r1"].accessibleName()


async def test_an_agents_lines_stay_apart_at_every_size_of_text(pane: ActivityPane, qtbot: QtBot) -> None:
    row = pane.tree._rows["r1"]
    for scale in (150, 200, 80):
        theme().set_scale(scale)
        await settle()

        def apart() -> None:
            assert row.height() >= row.sizeHint().height()
            assert not row._name.geometry().intersects(row._figures.geometry())
            assert pane.tree.maximumHeight() >= row.sizeHint().height()

        qtbot.waitUntil(apart)


async def test_the_tree_has_its_full_height_before_the_list_exceeds_its_minimum(
    team: ActivityPane, qtbot: QtBot
) -> None:
    below = child(team, QSplitter, "activity-parts").widget(1)
    assert below is not None

    def is_complete() -> None:
        assert team.tree.height() == team.tree.wanted
        assert not team.tree.verticalScrollBar().isVisible()
        assert team.list.visibleRegion().boundingRect().height() >= LEAST_LOG
        assert team.tree.geometry().bottom() < below.y()

    def scrolled() -> None:
        assert team.tree.height() < team.tree.wanted
        assert team.list.visibleRegion().boundingRect().height() == LEAST_LOG
        assert team.tree.geometry().bottom() < below.y()

    for height in (600, 320, 300):
        team.window().resize(300, height)
        await settle()
        qtbot.waitUntil(is_complete)
    team.window().resize(300, 220)
    await settle()
    qtbot.waitUntil(scrolled)


async def test_a_height_set_by_the_user_is_preserved(team: ActivityPane, qtbot: QtBot) -> None:
    team.window().resize(300, 500)
    await quiet(team, qtbot)
    qtbot.waitUntil(lambda: team.tree.height() == team.tree.wanted)
    team.parts.moveSplitter(team.tree.minimumHeight() + 10, 1)
    low = team.tree.height()
    assert low < team.tree.wanted
    team.on_stream(team_event(40, "message", "dot", message_id="m", role="user", content="Check"))
    await quiet(team, qtbot)
    assert team.tree.height() == low
    team.parts.moveSplitter(400, 1)
    qtbot.waitUntil(lambda: team.tree.height() == team.tree.wanted)
    team.window().resize(300, 240)
    team.window().resize(300, 500)
    await quiet(team, qtbot)
    qtbot.waitUntil(lambda: team.tree.height() == team.tree.wanted)


async def test_the_tree_shows_every_agent_at_any_depth(team: ActivityPane, qtbot: QtBot) -> None:
    assert [row.name for row in team.tree._rows.values()] == ["Ada", "Bea", "Dot", "Cid"]
    dot = team.tree._items["dot"]
    bea = dot.parent()
    assert bea is not None
    ada = bea.parent()
    assert ada is not None
    assert ada.parent() is None
    assert team.tree.accessibleName() == "4 agents"
    assert "CalculatorTool" in team.tree._rows["dot"].accessibleName()
    assert team.team.state.total("ada", START).tokens == 220


async def test_figures_follow_events_without_a_query_per_event(
    team: ActivityPane, atelier: FakeAtelier, qtbot: QtBot
) -> None:
    before = len(atelier.calls("teams.tree"))
    for number in range(200):
        team.on_stream(sub_agent_event(30, "dot", what="sub_agent_progress", tokens_input=1_000 + number))
        team.on_stream(team_event(30, "token", "dot", content="x"))
    await quiet(team, qtbot)
    assert len(atelier.calls("teams.tree")) == before
    assert "1.2\u202fk tokens" in team.tree._rows["dot"].accessibleName()


async def test_an_agent_is_written_to_from_its_row(team: ActivityPane, atelier: FakeAtelier) -> None:
    row = team.tree._rows["dot"]
    low = row.height()
    row.message.click()
    await settle()
    assert row.height() > low
    field = child(row, QLineEdit)
    field.setText("Look at events.py too")
    QTest.keyClick(field, Qt.Key.Key_Return)
    await settle()
    assert asked(atelier) == [("Look at events.py too", "dot")]
    assert row.field is None
    row.message.click()
    QTest.keyClick(child(row, QLineEdit), Qt.Key.Key_Escape)
    assert row.field is None


async def test_choosing_an_agent_shows_only_its_activity(team: ActivityPane, qtbot: QtBot) -> None:
    everything = len(titles(team))
    team.tree.choose("dot")
    assert titles(team) == ["CalculatorTool"]
    chip = child(team, QPushButton, "activity-agent-filter")
    assert chip.isVisible()
    chip.click()
    assert len(titles(team)) == everything
    assert not chip.isVisible()


async def test_an_agent_is_opened_by_its_button_and_with_enter(team: ActivityPane, qtbot: QtBot) -> None:
    with qtbot.waitSignal(team.agent_opened) as signal:
        team.tree._rows["bea"].opener.click()
    assert signal.args == ["bea"]
    team.tree.choose("dot")
    with qtbot.waitSignal(team.agent_opened) as signal:
        QTest.keyClick(team.tree, Qt.Key.Key_Return)
    assert signal.args == ["dot"]
    assert team.tree._rows["ada"].opener.isHidden()


async def test_a_new_turn_begins_with_its_own_agents(team: ActivityPane, atelier: FakeAtelier, qtbot: QtBot) -> None:
    atelier.set("teams", "tree", None)
    again = StreamEvent(seq=90, workflow_id="w1", run_id="next", agent_name="Ada", chunk_type=ChunkType.WORKFLOW_START)
    team.on_stream(again)
    await quiet(team, qtbot)
    assert list(team.tree._rows) == ["next"]


async def test_rows_of_a_large_team_are_created_when_they_become_visible(team: ActivityPane, qtbot: QtBot) -> None:
    tree = team.tree
    for number in range(40):
        data = {"sub_agent_id": f"w{number}", "sub_agent_name": f"W{number}", "call_id": "p1", "kind": "parallel"}
        team.team.feed(team_event(30, "sub_agent_start", "ada", **data))
    await quiet(team, qtbot)
    qtbot.waitUntil(lambda: not tree._making.isActive())
    assert tree.accessibleName() == "44 agents"
    assert len(tree._items) == 44
    assert ALWAYS <= len(tree._rows) < 30
    last = tree._items["w39"]
    assert last.data(0, Qt.ItemDataRole.AccessibleTextRole).startswith("W39, ")
    tree.choose("w39")
    tree.scrollToItem(last)
    qtbot.waitUntil(lambda: "w39" in tree._rows and not tree._making.isActive())
    assert tree._rows["w39"].chosen
    assert tree._rows["w39"].name == "W39"
    assert len(tree._rows) < 44


async def test_a_hidden_row_is_updated_when_it_becomes_visible(team: ActivityPane, qtbot: QtBot) -> None:
    tree = team.tree
    for number in range(40):
        data = {"sub_agent_id": f"w{number}", "sub_agent_name": f"W{number}", "call_id": "p1", "kind": "parallel"}
        team.team.feed(team_event(30, "sub_agent_start", "ada", **data))
    await quiet(team, qtbot)
    tree.scrollToBottom()
    qtbot.waitUntil(lambda: "w39" in tree._rows and not tree._making.isActive())
    tree.scrollToTop()
    qtbot.waitUntil(lambda: not tree._making.isActive())
    row, before = tree._rows["w39"], tree._rows["w39"].accessibleName()
    over = {"sub_agent_id": "w39", "sub_agent_name": "W39", "status": "completed", "report": "Done."}
    team.team.feed(team_event(31, "sub_agent_complete", "ada", **over))
    await quiet(team, qtbot)
    assert row.accessibleName() == before, "it is not visible"
    assert tree._items["w39"].data(0, Qt.ItemDataRole.AccessibleTextRole).startswith("W39, done")
    tree.scrollToBottom()
    qtbot.waitUntil(lambda: row.accessibleName().startswith("W39, done"))


async def test_the_menu_key_opens_the_menu_of_the_current_agent(team: ActivityPane) -> None:
    agents = team.tree

    def menu_entries(reason: QContextMenuEvent.Reason, run_id: str) -> list[str]:
        """Open the menu in this agent's row; returns its entries."""
        point = agents.visualItemRect(agents._items[run_id]).center()
        QApplication.sendEvent(
            agents.viewport(), QContextMenuEvent(reason, point, agents.viewport().mapToGlobal(point))
        )
        [menu] = [each for each in agents.findChildren(QMenu) if each.isVisible()]
        menu.close()
        return [action.text() for action in menu.actions()]

    agents.choose("bea")
    assert agents._rows["bea"].stop.accessibleName() in menu_entries(QContextMenuEvent.Reason.Keyboard, "ada")
    assert agents.chosen_run == "bea"
    assert agents._rows["ada"].stop.accessibleName() in menu_entries(QContextMenuEvent.Reason.Mouse, "ada")
    assert agents.chosen_run == "ada"
    assert agents._rows["ada"].stop.accessibleName() != agents._rows["bea"].stop.accessibleName()


async def test_no_agent_is_inserted_above_the_row_under_the_pointer(pane: ActivityPane, qtbot: QtBot) -> None:
    """Neither above another agent, nor above the log, which the tree would push down."""
    for view in (pane.tree, pane.list):
        agents, top = len(pane.tree._items), pane.list.mapTo(pane, pane.list.rect().topLeft()).y()
        aim(view)
        number = 300 + agents
        await live(
            pane, qtbot, event(number, ChunkType.SUB_AGENT_START, sub_agent_id=f"s{number}", sub_agent_name="Bea")
        )
        assert len(pane.tree._items) == agents
        assert pane.list.mapTo(pane, pane.list.rect().topLeft()).y() == top
        leave(view)
        assert len(pane.tree._items) == agents + 1
