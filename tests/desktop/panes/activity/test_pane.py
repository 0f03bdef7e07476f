"""The activity pane: replayed and live events, filter, details, export, and the agents' buttons."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu, QPushButton, QSplitter, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.file_dialogs import start_folder
from atelier_desk.desktop.panes.activity.agent_tree import ALWAYS
from atelier_desk.desktop.panes.activity.list import EntryRole, entry_icon
from atelier_desk.desktop.panes.activity.pane import LEAST_LOG, ActivityPane
from atelier_desk.desktop.theme import theme
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.domain.workflow import Workflow
from atelier_desk.support import i18n
from tests.desktop.panes.activity.test_log import event, one_run
from tests.desktop.team.scenario import START, child, started, tree
from tests.desktop.team.scenario import event as team_event
from tests.support.fake_bridge import FakeAtelier, FakeBridge, settle
from tests.support.pointer import aim, leave

Show = Callable[[QWidget], Any]


def asked(atelier: FakeAtelier) -> list[tuple[str, str]]:
    """The requested actions with their runs."""
    calls = [(key.removeprefix("runs."), args) for key, args, _fields in atelier.log if key.startswith("runs.")]
    return [(args[1] if what == "steering.message" else what.removeprefix("steering."), args[0]) for what, args in calls]


@pytest.fixture
async def pane(bridge: FakeBridge, atelier: FakeAtelier, shown: Show) -> AsyncIterator[ActivityPane]:
    atelier.set("teams", "replay", ("r1", one_run()[:5]))
    made = shown(ActivityPane(bridge))  # type: ignore[arg-type]
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


async def test_the_past_is_replayed_and_the_present_appended(pane: ActivityPane, qtbot: QtBot) -> None:
    assert pane.objectName() == "activity-pane"
    assert titles(pane) == ["Run started", "CalculatorTool"]
    await live(pane, qtbot, *one_run())
    assert titles(pane) == ["Run started", "CalculatorTool", "TodoTool", "Run: done"]
    await live(pane, qtbot, event(99, ChunkType.ERROR, message="x").model_copy(update={"workflow_id": "other"}))
    assert len(titles(pane)) == 4


@pytest.mark.parametrize("held", ["paused", "interrupted"])
async def test_the_tree_shows_the_agent_and_its_buttons_steer_the_run(
    pane: ActivityPane, atelier: FakeAtelier, qtbot: QtBot, held: str
) -> None:
    assert pane.tree.objectName() == "agent-tree"
    row = pane.tree._rows["r1"]
    assert row.accessibleName().startswith("Ada, running, ")
    assert "120 tokens" in row.accessibleName()
    row.pause.click()
    await live(pane, qtbot, event(10, ChunkType.RUN_STATUS, status=held))
    assert row.accessibleName().startswith(f"Ada, {held}")
    row.pause.click()
    row.stop.click()
    await settle()
    assert asked(atelier) == [("pause", "r1"), ("resume", "r1"), ("cancel", "r1")]
    await live(pane, qtbot, event(11, ChunkType.WORKFLOW_COMPLETE, status="cancelled"))
    assert row.stop.isHidden()
    assert not pane.team._tick.isActive()


async def test_a_chosen_call_shows_arguments_and_result(pane: ActivityPane) -> None:
    pane.list.setCurrentIndex(pane.list.model().index(1, 0))
    assert pane.details.isVisible()
    assert pane.details.toPlainText() == 'Tool\nCalculatorTool\n\nArguments\n{\n  "expression": "12*7"\n}\n\nResult\n{\n  "result": 84\n}'
    pane._close.click()
    assert not pane.details.isVisible()


async def test_rows_are_words_for_people_and_the_name_is_in_the_opened_row(pane: ActivityPane, qtbot: QtBot) -> None:
    said = {"icon": "calculator", "title": "Calculator", "summary": {"text": "{expression}", "params": {"expression": "12*7"}}}
    call = event(50, ChunkType.TOOL_START, call_id="c9", tool="CalculatorTool", arguments={"expression": "12*7"}, presentation=said)
    reply = event(51, ChunkType.MESSAGE, role="assistant", content="## Result\n\n- **84**, see `notes.md`\n- [more](https://x.y)")
    await live(pane, qtbot, call, reply)
    assert titles(pane)[-2:] == ["Calculator", "Reply"]
    model = pane.list.model()
    rows = [model.index(model.rowCount() - back, 0).data(Qt.ItemDataRole.AccessibleTextRole) for back in (2, 1)]
    assert "Calculator, running, 12*7" in rows[0]
    assert "Result 84, see notes.md more" in rows[1]
    i18n.set_language("fr")
    assert titles(pane)[-2] == "Calculatrice"
    i18n.set_language("en")
    pane.list.setCurrentIndex(model.index(model.rowCount() - 2, 0))
    assert pane._title.text() == "Calculator"
    assert pane.details.toPlainText().startswith("Tool\nCalculatorTool\n")
    pane.words.setText("expression 12*7 calculator")
    assert titles(pane)[-1] == "Calculator"


async def test_errors_are_shown_in_words_and_not_in_codes(pane: ActivityPane, qtbot: QtBot) -> None:
    said = {"title": "Question to you", "summary": {"text": "{question}", "params": {"question": "Which colour?"}}}
    error = "Invalid arguments for UserQuestionTool: options.0: Input should be an object"
    again = {"reason": "server_error", "details": {"attempt": 2, "delay_s": 2.5}}
    await live(
        pane,
        qtbot,
        event(50, ChunkType.TOOL_START, call_id="c9", tool="UserQuestionTool", presentation=said),
        event(51, ChunkType.TOOL_END, call_id="c9", tool="UserQuestionTool", success=False, error=error, duration_ms=9),
        event(52, ChunkType.RETRY, **again),
        event(53, ChunkType.LIMIT_REACHED, reason="tokens", details={}),
        event(54, ChunkType.CONTEXT_COMPACTED, reason="digest", details={}),
        event(55, ChunkType.CONTEXT_CHANGED, reason="unpinned", origin="r:2"),
        event(56, ChunkType.ERROR, code="bad_request", message="Refused. {'error': 400}", words="The server refused it."),
    )
    model = pane.list.model()
    rows = [str(model.index(row, 0).data(Qt.ItemDataRole.AccessibleTextRole)).rpartition(", ")[0] for row in range(2, model.rowCount())]
    assert rows == [
        "Question to you, failed, Which colour?",
        "Trying the model again, Attempt 2 after 2.5 s: the server had an error of its own",
        "Token limit reached",
        "Older messages shortened, older messages were summarised",
        "Context changed, unpinned",
        "Error, The server refused it.",
    ]
    pane.list.setCurrentIndex(model.index(2, 0))
    assert error in pane.details.toPlainText(), "whoever looks for it finds what the model was told"


async def test_a_skipped_question_is_no_failure(pane: ActivityPane, qtbot: QtBot) -> None:
    said = {"title": "Question to you", "summary": {"text": "{question}", "params": {"question": "Which colour?"}}}
    result = {"success": False, "error": "Question skipped by user", "code": "skipped"}
    await live(
        pane,
        qtbot,
        event(50, ChunkType.TOOL_START, call_id="c9", tool="UserQuestionTool", presentation=said),
        event(51, ChunkType.TOOL_END, call_id="c9", tool="UserQuestionTool", result=result, error=result["error"], duration_ms=9),
    )
    row = pane.list.model().index(2, 0)
    assert row.data(Qt.ItemDataRole.AccessibleTextRole) == "Question to you, skipped, Which colour?"
    assert entry_icon(row.data(EntryRole)) == ("minus", "muted")
    pane.group.setCurrentIndex(pane.group.findData("errors"))
    assert titles(pane) == []


async def test_a_call_that_was_stopped_with_its_run_is_no_failure(pane: ActivityPane, qtbot: QtBot) -> None:
    result = {"success": False, "error": "Stopped by the user"}
    end = {"status": "cancelled", "result": result, "error": result["error"], "duration_ms": 9}
    await live(
        pane,
        qtbot,
        event(50, ChunkType.TOOL_START, call_id="c9", tool="UserQuestionTool", presentation={"title": "Question to you"}),
        event(51, ChunkType.TOOL_END, call_id="c9", tool="UserQuestionTool", **end),
    )
    row = pane.list.model().index(2, 0)
    assert row.data(Qt.ItemDataRole.AccessibleTextRole).startswith("Question to you, stopped")
    assert entry_icon(row.data(EntryRole)) == ("minus", "muted")


async def test_a_refused_call_is_no_failure(pane: ActivityPane, qtbot: QtBot) -> None:
    result = {"success": False, "error": "Refused by the user", "code": "rejected"}
    await live(
        pane,
        qtbot,
        event(50, ChunkType.TOOL_START, call_id="c9", tool="ShellTool", presentation={"title": "Command"}),
        event(51, ChunkType.TOOL_END, call_id="c9", tool="ShellTool", result=result, error=result["error"], duration_ms=9),
    )
    row = pane.list.model().index(2, 0)
    assert row.data(Qt.ItemDataRole.AccessibleTextRole).startswith("Command, rejected")
    assert entry_icon(row.data(EntryRole)) == ("minus", "muted")
    pane.group.setCurrentIndex(pane.group.findData("errors"))
    assert titles(pane) == []


async def test_why_an_agent_continues_is_explained(pane: ActivityPane, qtbot: QtBot) -> None:
    await live(pane, qtbot, event(50, ChunkType.NUDGE, reason="are_you_done", details={"tasks": 2}, message_id="n"))
    text = pane.list.model().index(2, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert text.startswith("2 tasks are open: the agent continues")
    assert "are_you_done" not in text


async def test_a_repetition_is_explained(pane: ActivityPane, qtbot: QtBot) -> None:
    await live(
        pane, qtbot, event(50, ChunkType.LOOP_DETECTED, reason="warn", details={"tool": "CalculatorTool", "count": 3}, message_id="n")
    )
    text = pane.list.model().index(2, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert "Calculator × 3" in text
    assert "warn" not in text
    assert "CalculatorTool" not in text


async def test_the_tree_describes_running_calls(pane: ActivityPane, qtbot: QtBot) -> None:
    said = {"title": "Calculator", "summary": {"text": "1+1"}}
    await live(pane, qtbot, event(50, ChunkType.TOOL_START, call_id="c9", tool="CalculatorTool", presentation=said))
    assert "Calculator" in pane.tree._rows["r1"].accessibleName()
    assert "CalculatorTool" not in pane.tree._rows["r1"].accessibleName()


async def test_the_export_begins_in_the_folder_used_last(pane: ActivityPane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "started").mkdir()
    monkeypatch.chdir(tmp_path / "started")
    monkeypatch.setattr(start_folder, "_last", tmp_path)
    pane.export()
    dialog = pane.window().findChild(QFileDialog)
    assert dialog is not None
    assert Path(dialog.directory().absolutePath()) == tmp_path
    assert [Path(name).name for name in dialog.selectedFiles()] == ["activity.json"]
    dialog.reject()


async def test_filter_and_export(pane: ActivityPane, qtbot: QtBot, tmp_path: Path) -> None:
    await live(pane, qtbot, *one_run())
    pane.group.setCurrentIndex(pane.group.findData("errors"))
    assert titles(pane) == ["TodoTool"]
    pane.group.setCurrentIndex(pane.group.findData("all"))
    pane.words.setText("calcul")
    assert titles(pane) == ["CalculatorTool"]
    pane.export_to(tmp_path / "a.json")
    rows = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert [(row["tool"], row["result"], row["duration_ms"]) for row in rows] == [("CalculatorTool", {"result": 84}, 12)]


async def test_a_deleted_branchs_run_is_listed_no_more(pane: ActivityPane, bridge: FakeBridge, atelier: FakeAtelier, qtbot: QtBot) -> None:
    atelier.set("workflows", "get", Workflow(id="w", name="W", agent_id="a", head_run_id="r1"))
    replayed = len(atelier.calls("teams.replay"))
    bridge.changed.emit("workflow", "w")
    qtbot.waitUntil(lambda: not pane._turn_timer.isActive())
    await settle()
    assert len(atelier.calls("teams.replay")) == replayed  # the same turn: nothing is loaded again
    atelier.set("workflows", "get", Workflow(id="w", name="W", agent_id="a", head_run_id=None))
    atelier.set("teams", "replay", ("", []))
    bridge.changed.emit("workflow", "w")
    qtbot.waitUntil(lambda: not pane._turn_timer.isActive())
    await settle()
    assert titles(pane) == []
    assert not pane.tree.members


async def test_another_workflow_shows_nothing_of_this_one(pane: ActivityPane, atelier: FakeAtelier) -> None:
    atelier.set("teams", "replay", ("", []))
    pane.set_workflow("w2")
    await settle()
    assert titles(pane) == []
    assert pane.empty.isVisible()
    assert not pane.tree.isVisible()


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


async def test_a_short_pane_puts_its_filter_behind_a_button(pane: ActivityPane) -> None:
    assert pane.words.isVisible()
    assert not pane._find.isVisible()
    pane.window().resize(300, 200)
    await settle()
    assert not pane.words.isVisible()
    pane._find.click()
    assert pane.words.isVisible()
    pane.words.setText("calc")
    pane._find.setFocus()
    await settle()
    assert pane.words.isVisible()


async def test_the_tree_has_its_full_height_before_the_list_exceeds_its_minimum(team: ActivityPane, qtbot: QtBot) -> None:
    parts = team.findChild(QSplitter, "activity-parts")

    def whole() -> None:
        assert team.tree.height() == team.tree.wanted
        assert not team.tree.verticalScrollBar().isVisible()
        assert team.list.visibleRegion().boundingRect().height() >= LEAST_LOG
        assert team.tree.geometry().bottom() < parts.widget(1).y()

    def scrolled() -> None:
        assert team.tree.height() < team.tree.wanted
        assert team.list.visibleRegion().boundingRect().height() == LEAST_LOG
        assert team.tree.geometry().bottom() < parts.widget(1).y()

    for height in (600, 320, 300):
        team.window().resize(300, height)
        await settle()
        qtbot.waitUntil(whole)
    team.window().resize(300, 220)
    await settle()
    qtbot.waitUntil(scrolled)


async def test_details_are_in_sight_in_a_short_pane_too(team: ActivityPane, qtbot: QtBot) -> None:
    for height in (600, 360):
        team.window().resize(300, height)
        team.list.setCurrentIndex(team.list.model().index(0, 0))
        await settle()
        qtbot.waitUntil(lambda: team.details.visibleRegion().boundingRect().height() >= 50)
        team._close.click()
        await settle()
        qtbot.waitUntil(lambda: team.tree.height() == team.tree.wanted)


async def test_the_keyboard_in_the_list_opens_no_details_until_a_row_is_chosen(team: ActivityPane, qtbot: QtBot) -> None:
    team.window().activateWindow()
    qtbot.waitUntil(team.window().isActiveWindow)
    team.list.setFocus(Qt.FocusReason.TabFocusReason)
    assert team.list.hasFocus()
    assert team._details.isHidden()
    qtbot.keyClick(team.list, Qt.Key.Key_Down)
    assert team._details.isVisible()
    team._close.click()
    assert team._details.isHidden()
    assert team.list.hasFocus()


async def test_the_list_stays_at_its_end_when_the_tree_takes_its_room(team: ActivityPane, qtbot: QtBot) -> None:
    team.window().resize(300, 600)
    for number in range(40):
        team.on_stream(team_event(40 + number, "message", "dot", message_id=f"m{number}", role="user", content="Check"))
    await quiet(team, qtbot)
    bar = team.list.verticalScrollBar()
    assert bar.value() == bar.maximum() > 0
    team.window().resize(300, 300)
    await settle()
    qtbot.waitUntil(lambda: bar.value() == bar.maximum())
    bar.setValue(20)
    team.window().resize(300, 280)
    await settle()
    assert bar.value() == 20


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


async def test_a_calls_state_is_shown_in_words(pane: ActivityPane) -> None:
    spoken = pane.list.model().index(1, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert spoken.startswith("CalculatorTool, done, ")


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


async def test_the_tree_shows_every_agent_at_any_depth(team: ActivityPane, qtbot: QtBot) -> None:
    assert [row.name for row in team.tree._rows.values()] == ["Ada", "Bea", "Dot", "Cid"]
    dot = team.tree._items["dot"]
    assert dot.parent().parent().parent() is None
    assert team.tree.accessibleName() == "4 agents"
    assert "CalculatorTool" in team.tree._rows["dot"].accessibleName()
    assert team.team.state.total("ada", START).tokens == 220


async def test_figures_follow_events_without_a_query_an_event(team: ActivityPane, atelier: FakeAtelier, qtbot: QtBot) -> None:
    before = len(atelier.calls("teams.tree"))
    for number in range(200):
        team.on_stream(child(30, "dot", what="sub_agent_progress", tokens_input=1_000 + number))
        team.on_stream(team_event(30, "token", "dot", content="x"))
    await quiet(team, qtbot)
    assert len(atelier.calls("teams.tree")) == before
    assert "1.2\u202fk tokens" in team.tree._rows["dot"].accessibleName()


async def test_an_agent_is_written_to_from_its_row(team: ActivityPane, atelier: FakeAtelier, qtbot: QtBot) -> None:
    row = team.tree._rows["dot"]
    low = row.height()
    row.message.click()
    await settle()
    assert row.height() > low
    row.field.setText("Look at events.py too")
    qtbot.keyClick(row.field, Qt.Key.Key_Return)
    await settle()
    assert asked(atelier) == [("Look at events.py too", "dot")]
    assert row.field is None
    row.message.click()
    qtbot.keyClick(row.field, Qt.Key.Key_Escape)
    assert row.field is None


async def test_choosing_an_agent_shows_its_activity_alone(team: ActivityPane, qtbot: QtBot) -> None:
    everything = len(titles(team))
    team.tree.choose("dot")
    assert titles(team) == ["Sub-agent started", "CalculatorTool"]
    chip = team.findChild(QPushButton, "activity-agent-filter")
    assert chip.isVisible()
    chip.click()
    assert len(titles(team)) == everything
    assert not chip.isVisible()


async def test_a_row_names_its_sub_agent(team: ActivityPane, qtbot: QtBot) -> None:
    team.on_stream(team_event(40, "message", "dot", message_id="m", role="user", content="Check"))
    await quiet(team, qtbot)
    model = team.list.model()
    rows = {model.index(row, 0).data(): model.index(row, 0) for row in range(model.rowCount())}
    assert "Message to Dot" in rows
    assert rows["CalculatorTool"].data(Qt.ItemDataRole.AccessibleTextRole).startswith("CalculatorTool, running, Dot")
    assert rows["CalculatorTool"].data(Qt.ItemDataRole.ToolTipRole).startswith("Dot\nCalculatorTool")


async def test_an_agent_is_opened_by_its_button_and_with_enter(team: ActivityPane, qtbot: QtBot) -> None:
    with qtbot.waitSignal(team.agent_opened) as told:
        team.tree._rows["bea"].opener.click()
    assert told.args == ["bea"]
    team.tree.choose("dot")
    with qtbot.waitSignal(team.agent_opened) as told:
        qtbot.keyClick(team.tree, Qt.Key.Key_Return)
    assert told.args == ["dot"]
    assert team.tree._rows["ada"].opener.isHidden()


async def test_a_new_turn_begins_with_its_own_agents(team: ActivityPane, atelier: FakeAtelier, qtbot: QtBot) -> None:
    atelier.set("teams", "tree", None)
    again = StreamEvent(seq=90, workflow_id="w1", run_id="next", agent_name="Ada", chunk_type=ChunkType.WORKFLOW_START)
    team.on_stream(again)
    await quiet(team, qtbot)
    assert list(team.tree._rows) == ["next"]


async def test_a_large_teams_rows_are_made_when_they_come_into_view(team: ActivityPane, qtbot: QtBot) -> None:
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


async def test_a_row_out_of_view_is_brought_up_to_date_when_it_is_seen(team: ActivityPane, qtbot: QtBot) -> None:
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
    assert row.accessibleName() == before, "nobody sees it"
    assert tree._items["w39"].data(0, Qt.ItemDataRole.AccessibleTextRole).startswith("W39, done")
    tree.scrollToBottom()
    qtbot.waitUntil(lambda: row.accessibleName().startswith("W39, done"))


async def test_the_menu_key_gives_the_menu_of_the_current_agent(team: ActivityPane) -> None:
    agents = team.tree

    def ask(reason: QContextMenuEvent.Reason, run_id: str) -> list[str]:
        """Open the menu in this agent's row; returns its entries."""
        at = agents.visualItemRect(agents._items[run_id]).center()
        QApplication.sendEvent(agents.viewport(), QContextMenuEvent(reason, at, agents.viewport().mapToGlobal(at)))
        [menu] = [each for each in agents.findChildren(QMenu) if each.isVisible()]
        menu.close()
        return [action.text() for action in menu.actions()]

    agents.choose("bea")
    assert agents._rows["bea"].stop.accessibleName() in ask(QContextMenuEvent.Reason.Keyboard, "ada")
    assert agents.chosen_run == "bea"
    assert agents._rows["ada"].stop.accessibleName() in ask(QContextMenuEvent.Reason.Mouse, "ada")
    assert agents.chosen_run == "ada"
    assert agents._rows["ada"].stop.accessibleName() != agents._rows["bea"].stop.accessibleName()


async def test_the_log_does_not_follow_its_end_under_the_pointer(pane: ActivityPane, qtbot: QtBot) -> None:
    many = [event(100 + number, ChunkType.ERROR, message=str(number)) for number in range(60)]
    await live(pane, qtbot, *many)
    bar = pane.list.verticalScrollBar()
    assert bar.value() == bar.maximum() > 0
    listed, at = len(titles(pane)), bar.value()
    aim(pane.list, listed - 1)
    await live(pane, qtbot, event(200, ChunkType.ERROR, message="late"))
    assert (bar.value(), len(titles(pane))) == (at, listed)
    leave(pane.list)
    assert len(titles(pane)) == listed + 1
    assert bar.value() == bar.maximum() > at


async def test_no_agent_comes_above_the_row_under_the_pointer(pane: ActivityPane, qtbot: QtBot) -> None:
    """Neither above another agent, nor above the log, which the tree would push down."""
    for view in (pane.tree, pane.list):
        agents, top = len(pane.tree._items), pane.list.mapTo(pane, pane.list.rect().topLeft()).y()
        aim(view)
        number = 300 + agents
        await live(pane, qtbot, event(number, ChunkType.SUB_AGENT_START, sub_agent_id=f"s{number}", sub_agent_name="Bea"))
        assert len(pane.tree._items) == agents
        assert pane.list.mapTo(pane, pane.list.rect().topLeft()).y() == top
        leave(view)
        assert len(pane.tree._items) == agents + 1
