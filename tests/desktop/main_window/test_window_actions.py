"""The actions of the main window: their shortcuts, and what they do."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QFileDialog, QLabel, QLineEdit, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.main_window.action_registry import refusal
from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.domain.audit import AuditDecision, AuditEntry, AuditLine, AuditPage
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import settle
from tests.helpers.main_window_with_fake_engine import Program


def test_no_two_actions_share_a_shortcut(program: Program) -> None:
    keys = Counter(
        made.shortcut().toString() for _spec, made in program.window.actions_ if not made.shortcut().isEmpty()
    )
    assert [key for key, count in keys.items() if count > 1] == []
    assert program.window.actions_["command-palette"].shortcut() == QKeySequence("Ctrl+K")
    assert program.window.actions_["search-everywhere"].shortcut() == QKeySequence("Ctrl+Shift+F")


async def test_an_entry_of_the_audit_trail_opens_its_workflow_at_the_call(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    await program.start(workflow="w1")
    window = program.window
    opened: list[str] = []
    shown: list[str] = []
    monkeypatch.setattr(window.chat, "open_workflow", opened.append)
    monkeypatch.setattr(window.chat.finder, "reveal", shown.append)
    entry = AuditEntry(
        workflow_id="w2", run_id="r", call_id="c1", message_id="m1", tool="t", decision=AuditDecision.ALLOWED
    )
    program.engine.set("audit", "page", AuditPage(lines=(AuditLine(entry=entry, workflow="Garden"),)))
    window.show_settings("approvals")
    await settle(30)
    page: Any = window._settings_window and window._settings_window.page("approvals")
    page.trail.table.setCurrentIndex(page.trail.model.index(0, 0))
    page.trail.open.click()
    assert (opened, shown) == (["w2"], ["m1"])
    assert "r:c1" in window.chat.host.state.open_calls, "its card is open"
    assert window._settings_window is not None
    window._settings_window.close()


async def test_custom_shortcuts_work_in_the_window(program: Program) -> None:
    await program.start(workflow="w1")
    program.window.sidebar.foot.resize(400, 60)
    program.window.set_shortcuts({"command-palette": "Ctrl+P", "new-workflow": ""})
    assert program.window.actions_["command-palette"].shortcut() == QKeySequence("Ctrl+P")
    assert program.window.actions_["new-workflow"].shortcut().isEmpty()
    assert program.window.sidebar.foot.palette_button.text() == "Ctrl+P"


async def test_shortcuts_of_the_whole_program_work_in_its_other_windows(program: Program, qtbot: QtBot) -> None:
    await program.start(workflow="w1")
    closing: list[bool] = []
    program.window.closing.connect(lambda: closing.append(True))
    program.window.open_guide()
    program.window.quick_ask()
    assert program.window._guide_window is not None
    assert program.window._quick is not None
    others = [
        program.window._quick,
        program.window._guide_window,
        program.window.projects_window(),
        program.window._open_settings(),
    ]
    await settle(30)
    for other in others:
        other.activateWindow()
        qtbot.waitUntil(other.isActiveWindow)
        sizes = len(program.engine.calls("settings.update"))
        QTest.keyClick(other, Qt.Key.Key_Plus, Qt.KeyboardModifier.ControlModifier)
        await settle()
        assert len(program.engine.calls("settings.update")) == sizes + 1, other.objectName()
    program.window.set_shortcuts({"quit": "Ctrl+W"})
    QTest.keyClick(others[-1], Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
    assert not closing
    QTest.keyClick(others[-1], Qt.Key.Key_W, Qt.KeyboardModifier.ControlModifier)
    assert closing == [True]
    for other in others:
        other.close()


async def test_the_settings_open_with_the_cursor_in_their_search(program: Program, qtbot: QtBot) -> None:
    await program.start(workflow="w1")
    settings = program.window._open_settings()
    for _again in range(2):
        settings.list.setFocus()
        program.window.actions_["settings"].trigger()
        qtbot.waitUntil(settings.search.hasFocus)
        QTest.keyClicks(settings.search, "lang")
        assert settings.search.text() == "lang", "what was searched before is replaced"
    settings.close()


async def test_text_grows_with_the_plus_key_with_and_without_shift(program: Program, qtbot: QtBot) -> None:
    await program.start(workflow="w1")
    window = program.window
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    for key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
        sizes = len(program.engine.calls("settings.update"))
        QTest.keyClick(window, key, Qt.KeyboardModifier.ControlModifier)
        await settle()
        assert len(program.engine.calls("settings.update")) == sizes + 1, key.name
    assert window.actions_["larger-text"].shortcut() == QKeySequence("Ctrl++"), "the one that is shown"
    assert "Larger text" in refusal(QKeySequence("Ctrl+="), window.actions_, "new-workflow")


async def test_the_first_steps_can_be_read_larger(program: Program, qtbot: QtBot) -> None:
    await program.start(workflow="w1")
    program.window.show_first_steps()
    steps = program.window._first_steps
    assert steps is not None
    qtbot.waitUntil(steps.isActiveWindow)
    sizes = len(program.engine.calls("settings.update"))
    QTest.keyClick(steps, Qt.Key.Key_Plus, Qt.KeyboardModifier.ControlModifier)
    await settle()
    [(_others, changed)] = program.engine.calls("settings.update")[sizes:]
    assert changed["font_scale"](100) == 110
    steps.reject()


async def test_tool_tips_with_shortcuts_follow_their_changes(program: Program) -> None:
    await program.start(workflow="w1")
    window = program.window
    assert window.sidebar.new.toolTip() == "New workflow (Ctrl+N)"
    assert window.chat.header.left.toolTip() == "Show or hide the list of workflows (Ctrl+B)"
    window.set_shortcuts({"new-workflow": "Ctrl+J", "toggle-sidebar": "", "search-everywhere": "F9"})
    assert window.sidebar.new.toolTip() == "New workflow (Ctrl+J)"
    assert window.chat.header.left.toolTip() == "Show or hide the list of workflows"
    window.sidebar.search.setText("nowhere")
    window.sidebar._update_empty_text()
    assert window.sidebar.empty._hint.text().endswith("Search everywhere with F9.")
    window.actions_.set_shortcuts({})  # as the shortcuts page does
    assert window.sidebar.new.toolTip() == "New workflow (Ctrl+N)"
    assert window.sidebar.empty._hint.text().endswith("Search everywhere with Ctrl+Shift+F.")


async def test_actions_during_start_wait_or_are_ignored_and_never_fail(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, ran = program.window, list[str]()
    program.engine.set("memories", "list", RuntimeError("the engine is not open"))
    monkeypatch.setattr(window.toasts, "show", ran.append)
    for name in ("theme-dark", "delete-workflow", "new-workflow"):
        window.actions_[name].trigger()
    QTest.mouseClick(child(window, QPushButton, "new-workflow"), Qt.MouseButton.LeftButton)
    await settle()
    assert program.engine.log == []
    assert ran == []
    program.engine.set("memories", "list", [])
    await program.start(workflow="w1")
    assert window.chat.workflow_id == "", "the requested new workflow, not the last one"
    assert program.engine.calls("settings.update") == []
    assert program.engine.calls("workflows.delete") == []
    assert program.bridge.errors == []


async def test_selected_text_is_quoted_in_the_message(program: Program, qtbot: QtBot) -> None:
    await program.start()
    window = program.window
    shown = QPlainTextEdit("first\nsecond", window)
    shown.show()
    window.show()
    window.activateWindow()
    shown.setFocus()
    qtbot.waitUntil(shown.hasFocus)
    window.actions_["quote-selection"].trigger()
    assert window.chat.composer.field.toPlainText() == ""
    assert any("Select some text first" in each.text() for each in window.findChildren(QLabel))
    shown.selectAll()
    window.actions_["quote-selection"].trigger()
    assert window.chat.composer.field.toPlainText() == "> first\n> second\n\n"


async def test_actions_work_on_an_open_workflow_that_the_list_does_not_show(program: Program) -> None:
    await program.start(workflow="w1")
    window = program.window
    program.engine.set("workflows", "list", [])
    await window.sidebar.load()
    assert window.sidebar.model.workflows == []
    assert window.chat.workflow_id == "w1"
    for name in ("pin-workflow", "archive-workflow", "export-workflow", "rename-workflow"):
        window.actions_[name].trigger()
    await settle()
    assert program.engine.calls("workflows.set_pinned") == [(("w1", True), {})]
    assert program.engine.calls("workflows.set_archived") == [(("w1", True), {})]
    export = window.findChild(QFileDialog)
    assert export is not None
    assert export.isVisible()
    export.reject()
    dialog = window.findChild(QDialog, "name-dialog")
    assert dialog is not None
    field = child(dialog, QLineEdit, "workflow-name")
    assert field.text() == "First"
    field.setText("Better")
    QTest.keyClick(field, Qt.Key.Key_Return)
    await settle()
    assert program.engine.calls("workflows.rename") == [(("w1", "Better"), {})]


async def test_menu_and_palette_say_whether_a_workflow_will_be_pinned_or_unpinned(program: Program) -> None:
    await program.start(workflow="w1")
    window = program.window
    actions = [window.actions_[name] for name in ("pin-workflow", "archive-workflow")]
    assert [each.text() for each in actions] == ["Pin workflow", "Archive workflow"]
    assert window.chat.pages.workflow is not None
    changed = window.chat.pages.workflow.model_copy(update={"pinned": True, "archived": True})
    program.engine.set("workflows", "get", changed)
    program.bridge.changed.emit("workflow", "w1")
    await settle()
    assert [each.text() for each in actions] == ["Unpin workflow", "Unarchive workflow"]
    menu = window.chat.header.more.open()
    assert {"Unpin workflow", "Unarchive workflow"} < {each.text() for each in menu.actions()}
    switch_language("fr")
    try:
        assert [each.text() for each in actions] == ["Désépingler le workflow", "Désarchiver le workflow"]
    finally:
        switch_language("en")
