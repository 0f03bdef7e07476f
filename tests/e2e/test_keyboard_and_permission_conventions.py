"""Habits from other programs: typing while a dialog opens, digits, Enter, one permissions control, recent folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QCheckBox,
    QFileDialog,
    QPlainTextEdit,
    QPushButton,
    QWidget,
)

from atelier_desk.desktop.widgets import scrim
from atelier_desk.desktop.widgets.picker import Picker
from atelier_desk.domain.agent import ApprovalMode
from tests.e2e.conftest import OpenApp
from tests.e2e.echo_replies import echo
from tests.e2e.harness import AppDriver, rendered
from tests.e2e.scripted_model_server import ModelServer, calls, config, hire, newest_message
from tests.e2e.scripted_tool_calls import ask_user
from tests.helpers.child_widgets import child
from tests.helpers.servers.scripted_http_server import Call

GOAL = "Tidy up the folder"


def test_keys_typed_while_a_question_opens_do_not_answer_it_and_a_digit_and_enter_do(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrim, "PAUSE_MS", 2_000)  # a busy machine may not notice at once that it opened
    app = open_app([[ask_user("q1", "Which colour?", "mixed")], echo])
    field = app.find("chat-input", QPlainTextEdit)
    app.send("Paint it")
    field.setFocus()
    app.type(field, "1 or ")
    app.until(lambda: app.find_all("user-question-modal"), "the question is shown")
    for _key in range(3):
        app.type(app.window.focusWidget() or field, "3")
    written = "1 or 333"
    assert field.toPlainText() == written, "every key was typed into the message"
    assert not [each for each in app.find("user-question-modal").findChildren(QCheckBox) if each.isChecked()]
    dialog = app.find("user-question-modal")
    app.until(lambda: dialog.isAncestorOf(app.window.focusWidget()), "the dialog has the keyboard")
    app.press(app.find("question-option-red"), Qt.Key.Key_2)
    assert app.find("question-option-green", QCheckBox).isChecked()
    assert "Enter" in rendered(app.find("question-submit")) + app.find("question-submit").toolTip()
    app.press(app.find("question-option-green"), Qt.Key.Key_Return)
    app.until_hidden("user-question-modal")
    reply = rendered(app.until_reply('"green"'))
    assert '"blue"' not in reply
    app.wait_done()
    assert field.toPlainText() == written, "the message waits as it was typed"


def test_digits_count_by_their_position_on_other_keyboards(open_app: OpenApp) -> None:
    app = open_app([[ask_user("q1", "Which colour?", "mixed")], echo])
    app.send("Paint it")
    dialog = app.find("user-question-modal")
    app.until(lambda: dialog.isAncestorOf(app.window.focusWidget()), "the dialog has the keyboard")
    typed, second_key = Qt.Key.Key_Eacute, 11  # the second key of the upper row on AZERTY
    none = Qt.KeyboardModifier.NoModifier
    event = QKeyEvent(QEvent.Type.KeyPress, typed, none, second_key, 0, 0, "é")
    QApplication.sendEvent(app.find("question-option-red"), event)
    assert app.find("question-option-green", QCheckBox).isChecked()
    app.press(app.find("question-option-green"), Qt.Key.Key_Return)
    app.until_reply('"green"')
    app.wait_done()


def test_enter_sends_and_shift_enter_breaks_the_line(open_app: OpenApp) -> None:
    app = open_app([[ask_user("q1", "What shall it say?", "text")], echo])
    field = app.find("chat-input", QPlainTextEdit)
    app.type(field, "Paint")
    app.press(field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    app.type(field, "it")
    assert field.toPlainText() == "Paint\nit"
    app.press(field, Qt.Key.Key_Return)
    answer = app.find("question-answer", QPlainTextEdit)
    app.until(answer.hasFocus, "the answer has the keyboard")
    app.type(answer, "One")
    app.press(answer, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    app.type(answer, "two")
    assert answer.toPlainText() == "One\ntwo"
    app.press(answer, Qt.Key.Key_Return)
    app.until_reply("One")
    app.wait_done()


def test_a_high_risk_card_explains_undo_and_reason_and_has_no_accented_button(
    open_app: OpenApp, server: ModelServer, tmp_path: Path
) -> None:
    folder = tmp_path / "dossier"
    (folder / "old").mkdir(parents=True)
    (folder / "old" / "letter.txt").write_text("Dear\n")
    server.script(GOAL, calls(Call("delete_path", {"path": "old", "recursive": True}, id="d1")), "I leave it.")
    app = open_app(None)
    agent = config("Ada", tools=("delete_path",), approval=ApprovalMode.SELECTIVE)
    app.engine(lambda a: hire(a, server.provider, agent))
    app.settle()
    app.window.chat.folders.grant([str(folder)])
    app.settle()
    app.send(GOAL)
    card = app.until(
        lambda: [each for each in app.window.chat.findChildren(QWidget, "approval-card") if each.isVisible()], "a card"
    )[0]
    text = rendered(card)
    assert "high risk" in text.lower()
    assert "30 days" in text, "the card names what can be undone"
    allow = child(card, QAbstractButton, "approval-approve")
    assert "primary" not in str(allow.property("variant"))
    assert "primary" not in str(child(card, QAbstractButton, "approval-run").property("variant"))
    app.click(child(card, QAbstractButton, "approval-reject"))
    reason = child(card, QPlainTextEdit, "approval-reason")
    app.type(reason, "It is still needed, all of it, until the end of the year " * 3)
    app.settle()
    buttons = [each for each in card.findChildren(QAbstractButton) if each.isVisible() and each.height()]
    boxes = [each.rect().translated(each.mapTo(card, each.rect().topLeft())) for each in buttons]
    field = reason.rect().translated(reason.mapTo(card, reason.rect().topLeft()))
    assert not [each for each in boxes if each.intersects(field)], "nothing covers the reason"
    assert not [(a, b) for n, a in enumerate(boxes) for b in boxes[n + 1 :] if a.intersects(b)]
    app.press(reason, Qt.Key.Key_Return)
    app.until_reply("I leave it.")
    app.wait_done()
    assert "You rejected this call: It is still needed" in rendered(app.window.chat)
    assert "It is still needed" in newest_message(server.requests(GOAL)[1])
    assert (folder / "old" / "letter.txt").exists()


def test_one_permissions_control_explains_its_levels_and_recent_folders_are_offered(
    open_app: OpenApp, server: ModelServer, tmp_path: Path
) -> None:
    folder = tmp_path / "dossier"
    folder.mkdir()
    call = Call("write_file", {"path": "new.txt", "content": "x"}, id="w1")
    server.script(GOAL, calls(call), "I may not.")
    app = open_app(None)
    app.engine(
        lambda a: hire(a, server.provider, config("Ada", tools=("write_file",), approval=ApprovalMode.SELECTIVE))
    )
    app.engine(lambda a: a.workflows.create("Earlier", workspace=(str(folder),)))
    app.settle()
    app.action("new-workflow")
    offered = app.until(lambda: app.find_all("recent-folder", QPushButton), "folders used before are offered")
    app.click(offered[0])
    app.settle()
    control = app.find("profile-select", Picker)
    assert control.full_text == "Ask"
    assert [
        button for button in app.window.findChildren(QAbstractButton) if button.isVisible() and button.text() == "Ask"
    ] in ([], [control])
    assert app.window.chat.composer.isAncestorOf(control)
    app.click(control)
    menu = control.menu_open
    assert menu is not None
    while menu.current != "plan":
        app.press(menu, Qt.Key.Key_Up)
    app.press(menu, Qt.Key.Key_Return)
    app.until(lambda: control.full_text == "Plan", "it may only read")
    app.send(GOAL)
    app.until_reply("I may not.")
    app.wait_done()
    assert not app.find_all("approval-card"), "what is refused needs no approval"
    assert not (folder / "new.txt").exists()
    [workflow] = [each for each in app.engine(lambda a: a.workflows.list()) if each.id == app.workflow_id]
    assert workflow.workspace == (str(folder),)


def test_an_exported_workflow_can_be_imported(open_app: OpenApp, tmp_path: Path) -> None:
    app = open_app(["Rye, seven."])
    app.send("How much rye")
    app.until_reply("Rye, seven.")
    app.wait_done()
    file = tmp_path / "rye.json"
    app.action("export-workflow")
    _answer(app, file)
    app.until(lambda: file.is_file() and bool(file.read_bytes()), "it is written")
    app.settle()
    assert json.loads(file.read_text(encoding="utf-8"))
    app.action("delete-workflow")
    app.settle()
    app.action("import-workflow")
    _answer(app, file)
    app.until(app.find("chats-all").isVisible, "its content is shown")
    app.click("chats-all")  # it was deleted here, and is not preselected
    app.click("chats-import")
    app.until_row("workflow-list", "How much rye")
    app.settle()
    app.until(lambda: "Rye, seven." in rendered(app.find("chat-view")), "it is opened, with its messages")


def _answer(app: AppDriver, file: Path) -> None:
    dialog = app.until(
        lambda: [each for each in app.window.findChildren(QFileDialog) if each.isVisible()], "which file"
    )[0]
    if dialog.fileMode() is QFileDialog.FileMode.ExistingFiles:
        dialog.filesSelected.emit([str(file)])
    else:
        dialog.fileSelected.emit(str(file))
    dialog.close()
    dialog.deleteLater()


@pytest.mark.parametrize("language", ["english", "french"])
def test_the_starter_notice_names_its_limits_and_leads_to_better_models(open_app: OpenApp, language: str) -> None:
    app = open_app(None)
    app.action(f"language-{language}")
    words = {
        "english": ("simple questions", "Choose a better model"),
        "french": ("questions simples", "Choisir un meilleur modèle"),
    }
    line = app.find("starter-notice")
    for each in words[language]:
        assert each in rendered(line)
    app.click("better-models")
    guide = app.find("first-start")
    assert "OpenAI" in rendered(guide)
