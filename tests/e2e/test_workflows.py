"""The list of workflows: drafts, renaming, deleting with undo, searching."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QListView, QPlainTextEdit

from tests.e2e.asking import calculate
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import Desk, rendered, rows


def converse(desk: Desk, *turns: tuple[str, str]) -> None:
    """Create a workflow for each pair of message and expected answer."""
    for message, answer in turns:
        desk.click("new-workflow")
        desk.send(message)
        desk.last_reply(answer)
        desk.wait_done()
        desk.until_row("workflow-list", message)


def show(desk: Desk, name: str) -> None:
    desk.click_row(desk.find("workflow-list", QListView), name)
    desk.until_shown("user-message", name)
    desk.settle()


def test_each_workflow_keeps_its_draft(open_desk: OpenDesk) -> None:
    desk = open_desk(["One.", "Two."])
    converse(desk, ("Apples", "One."), ("Pears", "Two."))
    field = desk.find("chat-input", QPlainTextEdit)
    desk.type(field, "about pears")
    show(desk, "Apples")
    assert field.toPlainText() == ""
    desk.type(field, "about apples")
    show(desk, "Pears")
    desk.until(lambda: field.toPlainText() == "about pears", "the draft is back")
    desk.close()
    desk = open_desk()
    field = desk.find("chat-input", QPlainTextEdit)
    desk.until(lambda: field.toPlainText() == "about pears", "the draft survived the restart")
    show(desk, "Apples")
    desk.until(lambda: field.toPlainText() == "about apples", "so did the other")


def test_a_workflow_is_renamed_in_place(open_desk: OpenDesk) -> None:
    desk = open_desk(["One."])
    converse(desk, ("Apples", "One."))
    desk.action("rename-workflow")
    editor = desk.find("rename-field", QLineEdit)
    editor.selectAll()
    desk.type(editor, "Fruit salad")
    desk.press(editor, Qt.Key.Key_Return)
    desk.until_row("workflow-list", "Fruit salad")
    desk.until(lambda: desk.window.chat.header.title.text() == "Fruit salad", "the title follows")


def test_deleting_can_be_undone(open_desk: OpenDesk) -> None:
    desk = open_desk(["One."])
    converse(desk, ("Apples", "One."))
    desk.action("delete-workflow")
    desk.until(lambda: desk.workflow_id == "", "nothing is in view")
    desk.until(lambda: rows(desk.window.sidebar.list) == [], "the list is empty")
    desk.click("toast-action")
    desk.until_row("workflow-list", "Apples")
    desk.last_reply("One.")
    desk.action("delete-workflow")
    desk.until(lambda: rows(desk.window.sidebar.list) == [], "the list is empty again")
    field = desk.find("chat-input", QPlainTextEdit)
    desk.type(field, "x")
    desk.press(field, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert field.toPlainText() == ""  # what was typed is undone first
    desk.press(field, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    desk.until_row("workflow-list", "Apples")
    desk.last_reply("One.")


def test_the_list_is_searched_by_name_and_by_what_was_said(open_desk: OpenDesk) -> None:
    desk = open_desk(["The ferry leaves at nine.", "Two."])
    converse(desk, ("Apples", "ferry"), ("Pears", "Two."))
    desk.type("search-field", "appl")
    desk.until(lambda: [row for row in rows(desk.window.sidebar.list) if "Pears" in row] == [], "only one is left")
    desk.until_row("workflow-list", "Apples")
    desk.find("search-field", QLineEdit).clear()
    desk.until_row("workflow-list", "Pears")
    desk.type("search-field", "ferry")
    desk.until_row("workflow-list", "Apples: The ferry leaves at nine.")
    desk.press("search-field", Qt.Key.Key_Down)
    desk.press("workflow-list", Qt.Key.Key_Return)
    desk.last_reply("The ferry leaves at nine.")


def test_the_model_names_a_workflow_after_its_first_answer(open_desk: OpenDesk) -> None:
    desk = open_desk(["The ferry leaves at nine.", '"Timetable of the ferry."'])
    desk.engine(lambda atelier: atelier.settings.update(name_by_model=True))
    desk.click("new-workflow")
    desk.send("Hello! When does the ferry leave? I am in a hurry.")
    desk.last_reply("The ferry leaves at nine.")
    desk.until_row("workflow-list", "Timetable of the ferry")
    desk.until(lambda: desk.window.chat.header.title.text() == "Timetable of the ferry", "the title follows")


def test_what_a_person_told_of_themselves_is_asked_about_and_kept(open_desk: OpenDesk) -> None:
    desk = open_desk(["At nine.", '[{"type": "knowledge", "content": "The user lives in Lyon."}]'])
    desk.engine(lambda atelier: atelier.settings.update(memories_at_end="told"))
    desk.click("new-workflow")
    desk.send("I live in Lyon. When does the ferry leave?")
    desk.last_reply("At nine.")
    desk.until_shown("remembered", "1 thing to remember?")
    desk.click("memory-keep")
    desk.until_shown("remembered", "1 thing remembered")
    assert [each.content for each in desk.engine(lambda atelier: atelier.memories.list())] == [
        "The user lives in Lyon."
    ]


def test_everything_is_searched_and_a_hit_is_opened(open_desk: OpenDesk) -> None:
    desk = open_desk(["The ferry leaves at nine.", [calculate("c1", "1234*2")], "Two."])
    converse(desk, ("Apples", "ferry"), ("Pears", "Two."))
    desk.action("search-everywhere")
    field = desk.find("search-everywhere-field", QLineEdit)
    desk.type(field, "2468")
    desk.until_row("search-everywhere-list", "2468")
    field.clear()
    desk.type(field, "ferry")
    desk.until_row("search-everywhere-list", "ferry")
    desk.until(
        lambda: "2468" not in "".join(rows(desk.find("search-everywhere-list", QListView))), "the old hits are gone"
    )
    desk.press(field, Qt.Key.Key_Return)
    desk.last_reply("The ferry leaves at nine.")


def test_text_is_found_in_the_workflow(open_desk: OpenDesk) -> None:
    desk = open_desk(["The ferry leaves at nine."])
    converse(desk, ("Apples", "ferry"))
    desk.action("find")
    field = desk.find("find-field", QLineEdit)
    desk.type(field, "ferry")
    bar = field.parentWidget()
    assert bar is not None
    desk.until(lambda: "1 / 1" in rendered(bar), "it is found once")
    field.clear()
    desk.type(field, "bicycle")
    desk.until(lambda: "No results" in rendered(bar), "something else is not")
    desk.press(field, Qt.Key.Key_Escape)
    desk.gone("find-field")
