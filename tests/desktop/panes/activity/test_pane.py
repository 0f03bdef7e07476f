"""The activity pane: replayed and live events, filter, details and export."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.file_dialogs import start_folder
from atelier_desk.desktop.panes.activity.list import EntryRole, entry_icon
from atelier_desk.desktop.panes.activity.pane import ActivityPane
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.domain.workflow import Workflow
from atelier_desk.support import i18n
from tests.desktop.panes.activity.conftest import live, quiet, titles
from tests.desktop.panes.activity.sample_run_events import event, one_run
from tests.desktop.team.sample_team_events import event as team_event
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle
from tests.helpers.mouse_pointer import aim, leave


async def test_past_events_are_loaded_and_live_ones_appended(pane: ActivityPane, qtbot: QtBot) -> None:
    assert pane.objectName() == "activity-pane"
    assert titles(pane) == ["Run started", "CalculatorTool"]
    await live(pane, qtbot, *one_run())
    assert titles(pane) == ["Run started", "CalculatorTool", "TodoTool", "Run: done"]


async def test_a_chosen_call_shows_arguments_and_result(pane: ActivityPane) -> None:
    pane.list.setCurrentIndex(pane.list.model().index(1, 0))
    assert pane.details.isVisible()
    assert (
        pane.details.toPlainText()
        == 'Tool\nCalculatorTool\n\nArguments\n{\n  "expression": "12*7"\n}\n\nResult\n{\n  "result": 84\n}'
    )
    pane._close.click()
    assert not pane.details.isVisible()


async def test_rows_are_readable_text_and_the_tools_name_is_in_the_details(pane: ActivityPane, qtbot: QtBot) -> None:
    presentation = {
        "icon": "calculator",
        "title": "Calculator",
        "summary": {"text": "{expression}", "params": {"expression": "12*7"}},
    }
    call = event(
        50,
        ChunkType.TOOL_START,
        call_id="c9",
        tool="CalculatorTool",
        arguments={"expression": "12*7"},
        presentation=presentation,
    )
    reply = event(
        51, ChunkType.MESSAGE, role="assistant", content="## Result\n\n- **84**, see `notes.md`\n- [more](https://x.y)"
    )
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
    presentation = {
        "title": "Question for you",
        "summary": {"text": "{question}", "params": {"question": "Which colour?"}},
    }
    error = "Invalid arguments for UserQuestionTool: options.0: Input should be an object"
    await live(
        pane,
        qtbot,
        event(50, ChunkType.TOOL_START, call_id="c9", tool="UserQuestionTool", presentation=presentation),
        event(51, ChunkType.TOOL_END, call_id="c9", tool="UserQuestionTool", success=False, error=error, duration_ms=9),
        event(52, ChunkType.RETRY, reason="server_error", details={"attempt": 2, "delay_s": 2.5}),
        event(53, ChunkType.LIMIT_REACHED, reason="tokens", details={}),
        event(54, ChunkType.CONTEXT_COMPACTED, reason="digest", details={}),
        event(55, ChunkType.CONTEXT_CHANGED, reason="unpinned", origin="r:2"),
        event(
            56, ChunkType.ERROR, code="bad_request", message="Refused. {'error': 400}", words="The server refused it."
        ),
    )
    model = pane.list.model()
    rows = [
        str(model.index(row, 0).data(Qt.ItemDataRole.AccessibleTextRole)).rpartition(", ")[0]
        for row in range(2, model.rowCount())
    ]
    assert rows == [
        "Question for you, failed, Which colour?",
        "Retrying the model, Attempt 2 after 2.5 s: the server had an internal error",
        "Token limit reached",
        "Older messages shortened, older messages were summarised",
        "Context changed, unpinned",
        "Error, The server refused it.",
    ]
    pane.list.setCurrentIndex(model.index(2, 0))
    assert error in pane.details.toPlainText(), "the details show what the model received"


async def test_a_skipped_question_is_no_failure(pane: ActivityPane, qtbot: QtBot) -> None:
    presentation = {
        "title": "Question for you",
        "summary": {"text": "{question}", "params": {"question": "Which colour?"}},
    }
    result = {"success": False, "error": "Question skipped by user", "code": "skipped"}
    await live(
        pane,
        qtbot,
        event(50, ChunkType.TOOL_START, call_id="c9", tool="UserQuestionTool", presentation=presentation),
        event(
            51,
            ChunkType.TOOL_END,
            call_id="c9",
            tool="UserQuestionTool",
            result=result,
            error=result["error"],
            duration_ms=9,
        ),
    )
    row = pane.list.model().index(2, 0)
    assert row.data(Qt.ItemDataRole.AccessibleTextRole) == "Question for you, skipped, Which colour?"
    assert entry_icon(row.data(EntryRole)) == ("minus", "muted")
    pane.group.setCurrentIndex(pane.group.findData("errors"))
    assert titles(pane) == []


async def test_a_call_that_was_stopped_with_its_run_is_no_failure(pane: ActivityPane, qtbot: QtBot) -> None:
    result = {"success": False, "error": "Stopped by the user"}
    await live(
        pane,
        qtbot,
        event(
            50, ChunkType.TOOL_START, call_id="c9", tool="UserQuestionTool", presentation={"title": "Question for you"}
        ),
        event(
            51,
            ChunkType.TOOL_END,
            call_id="c9",
            tool="UserQuestionTool",
            status="cancelled",
            result=result,
            error=result["error"],
            duration_ms=9,
        ),
    )
    row = pane.list.model().index(2, 0)
    assert row.data(Qt.ItemDataRole.AccessibleTextRole).startswith("Question for you, stopped")
    assert entry_icon(row.data(EntryRole)) == ("minus", "muted")


async def test_a_refused_call_is_no_failure(pane: ActivityPane, qtbot: QtBot) -> None:
    result = {"success": False, "error": "Refused by the user", "code": "rejected"}
    await live(
        pane,
        qtbot,
        event(50, ChunkType.TOOL_START, call_id="c9", tool="ShellTool", presentation={"title": "Command"}),
        event(
            51, ChunkType.TOOL_END, call_id="c9", tool="ShellTool", result=result, error=result["error"], duration_ms=9
        ),
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
        pane,
        qtbot,
        event(
            50, ChunkType.LOOP_DETECTED, reason="warn", details={"tool": "CalculatorTool", "count": 3}, message_id="n"
        ),
    )
    text = pane.list.model().index(2, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert "Calculator × 3" in text
    assert "warn" not in text
    assert "CalculatorTool" not in text


async def test_the_export_starts_in_the_folder_used_last(
    pane: ActivityPane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    assert [(row["tool"], row["result"], row["duration_ms"]) for row in rows] == [
        ("CalculatorTool", {"result": 84}, 12)
    ]


async def test_a_deleted_branchs_run_is_listed_no_more(
    pane: ActivityPane, bridge: FakeBridge, atelier: FakeAtelier, qtbot: QtBot
) -> None:
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


async def test_another_workflows_activity_does_not_include_this_one(pane: ActivityPane, atelier: FakeAtelier) -> None:
    atelier.set("teams", "replay", ("", []))
    pane.set_workflow("w2")
    await settle()
    assert titles(pane) == []
    assert pane.empty.isVisible()
    assert not pane.tree.isVisible()


async def test_in_a_short_pane_the_filter_is_behind_a_button(pane: ActivityPane) -> None:
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


async def test_details_are_visible_in_a_short_pane_too(team: ActivityPane, qtbot: QtBot) -> None:
    for height in (600, 360):
        team.window().resize(300, height)
        team.list.setCurrentIndex(team.list.model().index(0, 0))
        await settle()
        qtbot.waitUntil(lambda: team.details.visibleRegion().boundingRect().height() >= 50)
        team._close.click()
        await settle()
        qtbot.waitUntil(lambda: team.tree.height() == team.tree.wanted)


async def test_focusing_the_list_opens_no_details_until_a_row_is_selected(team: ActivityPane, qtbot: QtBot) -> None:
    team.window().activateWindow()
    qtbot.waitUntil(team.window().isActiveWindow)
    team.list.setFocus(Qt.FocusReason.TabFocusReason)
    assert team.list.hasFocus()
    assert team._details.isHidden()
    QTest.keyClick(team.list, Qt.Key.Key_Down)
    assert team._details.isVisible()
    team._close.click()
    assert team._details.isHidden()
    assert team.list.hasFocus()


async def test_the_list_stays_at_its_end_when_the_tree_grows(team: ActivityPane, qtbot: QtBot) -> None:
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


async def test_a_calls_state_is_shown_in_words(pane: ActivityPane) -> None:
    spoken = pane.list.model().index(1, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert spoken.startswith("CalculatorTool, done, ")


async def test_a_row_names_its_sub_agent(team: ActivityPane, qtbot: QtBot) -> None:
    for number, text in enumerate(("Check the types", "Hurry")):  # its task, then a message of a person
        team.on_stream(team_event(40 + number, "message", "dot", message_id=text, role="user", content=text))
    await quiet(team, qtbot)
    model = team.list.model()
    rows = {model.index(row, 0).data(): model.index(row, 0) for row in range(model.rowCount())}
    assert rows["Message to Dot"].data(Qt.ItemDataRole.ToolTipRole) == "Dot\nMessage to Dot\nHurry"
    assert rows["CalculatorTool"].data(Qt.ItemDataRole.AccessibleTextRole).startswith("CalculatorTool, running, Dot")
    assert rows["CalculatorTool"].data(Qt.ItemDataRole.ToolTipRole).startswith("Dot\nCalculatorTool")


async def test_the_log_does_not_follow_its_end_under_the_pointer(pane: ActivityPane, qtbot: QtBot) -> None:
    events = [event(100 + number, ChunkType.ERROR, message=str(number)) for number in range(60)]
    await live(pane, qtbot, *events)
    bar = pane.list.verticalScrollBar()
    assert bar.value() == bar.maximum() > 0
    listed, scroll_position = len(titles(pane)), bar.value()
    aim(pane.list, listed - 1)
    await live(pane, qtbot, event(200, ChunkType.ERROR, message="late"))
    assert (bar.value(), len(titles(pane))) == (scroll_position, listed)
    leave(pane.list)
    assert len(titles(pane)) == listed + 1
    assert bar.value() == bar.maximum() > scroll_position
