"""Habits from other programs: typing while a dialog opens, digits, Enter, one permissions control, recent folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QCheckBox, QFileDialog, QPlainTextEdit, QPushButton, QWidget

from atelier_desk.desktop.widgets import scrim
from atelier_desk.desktop.widgets.picker import Picker
from atelier_desk.domain.agent import ApprovalMode
from tests.e2e.asking import ask
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import Desk, child, rendered
from tests.e2e.test_questions import echo
from tests.e2e.wire import ModelServer, calls, config, hire, told
from tests.support.servers.base import Call

GOAL = "Tidy up the folder"


def test_what_is_typed_while_a_question_opens_is_no_answer_and_a_digit_and_enter_are(
    open_desk: OpenDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrim, "PAUSE_MS", 2_000)  # a busy machine may not notice at once that it opened
    desk = open_desk([[ask("q1", "Which colour?", "mixed")], echo])
    field = desk.find("chat-input", QPlainTextEdit)
    desk.send("Paint it")
    field.setFocus()
    desk.type(field, "1 or ")
    desk.until(lambda: desk.all("user-question-modal"), "the question is asked")
    for _key in range(3):
        desk.type(desk.window.focusWidget() or field, "3")
    written = "1 or 333"
    assert field.toPlainText() == written, "every key went into the message"
    assert not [each for each in desk.find("user-question-modal").findChildren(QCheckBox) if each.isChecked()]
    dialog = desk.find("user-question-modal")
    desk.until(lambda: dialog.isAncestorOf(desk.window.focusWidget()), "the dialog has the keyboard")
    desk.press(desk.find("question-option-red"), Qt.Key.Key_2)
    assert desk.find("question-option-green", QCheckBox).isChecked()
    assert "Enter" in rendered(desk.find("question-submit")) + desk.find("question-submit").toolTip()
    desk.press(desk.find("question-option-green"), Qt.Key.Key_Return)
    desk.gone("user-question-modal")
    reply = rendered(desk.last_reply('"green"'))
    assert '"blue"' not in reply
    desk.wait_done()
    assert field.toPlainText() == written, "the message waits as it was typed"


def test_enter_sends_and_shift_enter_breaks_the_line(open_desk: OpenDesk) -> None:
    desk = open_desk([[ask("q1", "What shall it say?", "text")], echo])
    field = desk.find("chat-input", QPlainTextEdit)
    desk.type(field, "Paint")
    desk.press(field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    desk.type(field, "it")
    assert field.toPlainText() == "Paint\nit"
    desk.press(field, Qt.Key.Key_Return)
    answer = desk.find("question-answer", QPlainTextEdit)
    desk.until(answer.hasFocus, "the answer has the keyboard")
    desk.type(answer, "One")
    desk.press(answer, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    desk.type(answer, "two")
    assert answer.toPlainText() == "One\ntwo"
    desk.press(answer, Qt.Key.Key_Return)
    desk.last_reply("One")
    desk.wait_done()


def test_a_high_risk_says_what_can_be_undone_offers_no_accent_and_shows_the_reason(
    open_desk: OpenDesk, server: ModelServer, tmp_path: Path
) -> None:
    folder = tmp_path / "dossier"
    (folder / "old").mkdir(parents=True)
    (folder / "old" / "letter.txt").write_text("Dear\n")
    server.script(GOAL, calls(Call("delete_path", {"path": "old", "recursive": True}, id="d1")), "I leave it.")
    desk = open_desk(None)
    agent = config("Ada", tools=("delete_path",), approval=ApprovalMode.SELECTIVE)
    desk.engine(lambda a: hire(a, server.provider, agent))
    desk.settle()
    desk.window.chat.folders.grant([str(folder)])
    desk.settle()
    desk.send(GOAL)
    card = desk.until(
        lambda: [each for each in desk.window.chat.findChildren(QWidget, "approval-card") if each.isVisible()], "a card"
    )[0]
    said = rendered(card)
    assert "high risk" in said.lower()
    assert "30 days" in said, "what can be undone is said"
    allow = child(card, QAbstractButton, "approval-approve")
    assert "primary" not in str(allow.property("variant"))
    assert "primary" not in str(child(card, QAbstractButton, "approval-run").property("variant"))
    desk.click(child(card, QAbstractButton, "approval-reject"))
    reason = child(card, QPlainTextEdit, "approval-reason")
    desk.type(reason, "It is still needed, all of it, until the end of the year " * 3)
    desk.settle()
    buttons = [each for each in card.findChildren(QAbstractButton) if each.isVisible() and each.height()]
    boxes = [each.rect().translated(each.mapTo(card, each.rect().topLeft())) for each in buttons]
    field = reason.rect().translated(reason.mapTo(card, reason.rect().topLeft()))
    assert not [each for each in boxes if each.intersects(field)], "nothing lies over the reason"
    assert not [(a, b) for n, a in enumerate(boxes) for b in boxes[n + 1 :] if a.intersects(b)]
    desk.press(reason, Qt.Key.Key_Return)
    desk.last_reply("I leave it.")
    desk.wait_done()
    assert "You rejected it: It is still needed" in rendered(desk.window.chat)
    assert "It is still needed" in told(server.requests(GOAL)[1])
    assert (folder / "old" / "letter.txt").exists()


def test_one_control_at_the_composer_says_what_is_asked_first_and_recent_folders_are_offered(
    open_desk: OpenDesk, server: ModelServer, tmp_path: Path
) -> None:
    folder = tmp_path / "dossier"
    folder.mkdir()
    call = Call("write_file", {"path": "new.txt", "content": "x"}, id="w1")
    server.script(GOAL, calls(call), "I may not.")
    desk = open_desk(None)
    desk.engine(
        lambda a: hire(a, server.provider, config("Ada", tools=("write_file",), approval=ApprovalMode.SELECTIVE))
    )
    desk.engine(lambda a: a.workflows.create("Earlier", workspace=(str(folder),)))
    desk.settle()
    desk.action("new-workflow")
    offered = desk.until(lambda: desk.all("recent-folder", QPushButton), "folders used before are offered")
    desk.click(offered[0])
    desk.settle()
    control = desk.find("profile-select", Picker)
    assert control.full_text == "Ask"
    assert [
        each for each in desk.window.findChildren(QAbstractButton) if each.isVisible() and each.text() == "Ask"
    ] in ([], [control])
    assert desk.window.chat.composer.isAncestorOf(control)
    desk.click(control)
    menu = control.menu_open
    assert menu is not None
    while menu.current != "plan":
        desk.press(menu, Qt.Key.Key_Up)
    desk.press(menu, Qt.Key.Key_Return)
    desk.until(lambda: control.full_text == "Plan", "it may only read")
    desk.send(GOAL)
    desk.last_reply("I may not.")
    desk.wait_done()
    assert not desk.all("approval-card"), "what is refused is not asked about"
    assert not (folder / "new.txt").exists()
    [workflow] = [each for each in desk.engine(lambda a: a.workflows.list()) if each.id == desk.workflow_id]
    assert workflow.workspace == (str(folder),)


def test_what_export_writes_import_takes(open_desk: OpenDesk, tmp_path: Path) -> None:
    desk = open_desk(["Rye, seven."])
    desk.send("How much rye")
    desk.last_reply("Rye, seven.")
    desk.wait_done()
    file = tmp_path / "rye.json"
    desk.action("export-workflow")
    _answer(desk, file)
    desk.until(lambda: file.is_file() and bool(file.read_bytes()), "it is written")
    desk.settle()
    assert json.loads(file.read_text(encoding="utf-8"))
    desk.action("delete-workflow")
    desk.settle()
    desk.action("import-workflow")
    _answer(desk, file)
    desk.until_row("workflow-list", "How much rye")
    desk.settle()
    desk.until(lambda: "Rye, seven." in rendered(desk.find("chat-view")), "it is opened, with what was said")


def _answer(desk: Desk, file: Path) -> None:
    dialog = desk.until(
        lambda: [each for each in desk.window.findChildren(QFileDialog) if each.isVisible()], "which file"
    )[0]
    dialog.fileSelected.emit(str(file))
    dialog.close()
    dialog.deleteLater()


@pytest.mark.parametrize("language", ["english", "french"])
def test_the_starter_says_what_it_is_good_for_and_leads_to_better_ones(open_desk: OpenDesk, language: str) -> None:
    desk = open_desk(None)
    desk.action(f"language-{language}")
    words = {
        "english": ("simple questions", "Choose a better model"),
        "french": ("questions simples", "Choisir un meilleur modèle"),
    }
    line = desk.find("starter-notice")
    for each in words[language]:
        assert each in rendered(line)
    desk.click("better-models")
    guide = desk.find("first-start")
    assert "OpenAI" in rendered(guide)
