"""The list of workflows: drafts, renaming, deleting with undo, searching."""

from __future__ import annotations

import re

from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QFontMetricsF, QHoverEvent
from PySide6.QtWidgets import QApplication, QLineEdit, QListView, QPlainTextEdit

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.list_rows import ListRow, RowRole
from tests.e2e.conftest import OpenApp
from tests.e2e.conversation_steps import converse
from tests.e2e.harness import AppDriver, rows
from tests.e2e.scripted_tool_calls import calculate


def show(app: AppDriver, name: str) -> None:
    app.click_row(app.find("workflow-list", QListView), name)
    app.until_text("user-message", name)
    app.settle()


def test_each_workflow_keeps_its_draft(open_app: OpenApp) -> None:
    app = open_app(["One.", "Two."])
    converse(app, ("Apples", "One."), ("Pears", "Two."))
    field = app.find("chat-input", QPlainTextEdit)
    app.type(field, "about pears")
    show(app, "Apples")
    assert field.toPlainText() == ""
    app.type(field, "about apples")
    show(app, "Pears")
    app.until(lambda: field.toPlainText() == "about pears", "the draft is back")
    app.close()
    app = open_app()
    field = app.find("chat-input", QPlainTextEdit)
    app.until(lambda: field.toPlainText() == "about pears", "the draft survived the restart")
    show(app, "Apples")
    app.until(lambda: field.toPlainText() == "about apples", "so did the other")


def test_a_workflow_is_renamed_in_place(open_app: OpenApp) -> None:
    app = open_app(["One."])
    converse(app, ("Apples", "One."))
    app.action("rename-workflow")
    editor = app.find("rename-field", QLineEdit)
    editor.selectAll()
    app.type(editor, "Fruit salad")
    app.press(editor, Qt.Key.Key_Return)
    app.until_row("workflow-list", "Fruit salad")
    app.until(lambda: app.window.chat.header.title.text() == "Fruit salad", "the title follows")


def test_rows_stay_where_they_are_under_the_pointer(open_app: OpenApp) -> None:
    app = open_app(["One.", "Two.", "Three."])
    converse(app, ("Apples", "One."), ("Pears", "Two."))
    view = app.find("workflow-list", QListView)

    def order() -> list[str]:
        return [name for row in rows(view) for name in ("Apples", "Pears") if name in row]

    def aim() -> None:
        where = QPointF(view.viewport().rect().center())
        QApplication.sendEvent(view.viewport(), QHoverEvent(QEvent.Type.HoverMove, where, where, where))

    assert order() == ["Pears", "Apples"]
    apples = app.engine(lambda a: a.workflows.list())[-1]
    aim()
    run = app.engine(lambda a: a.runs.send(apples.id, "More"))
    app.engine(lambda a: a.runs.wait(run))
    aim()
    app.until(lambda: not app.bridge._queue, "the window knows it")
    assert order() == ["Pears", "Apples"]
    QApplication.sendEvent(view.viewport(), QEvent(QEvent.Type.Leave))
    app.until(lambda: order() == ["Apples", "Pears"], "the rows move once the pointer has left")


def test_deleting_can_be_undone(open_app: OpenApp) -> None:
    app = open_app(["One."])
    converse(app, ("Apples", "One."))
    app.action("delete-workflow")
    app.until(lambda: app.workflow_id == "", "nothing is in view")
    app.until(lambda: rows(app.window.sidebar.list) == [], "the list is empty")
    app.click("toast-action")
    app.until_row("workflow-list", "Apples")
    app.until_reply("One.")
    app.action("delete-workflow")
    app.until(lambda: rows(app.window.sidebar.list) == [], "the list is empty again")
    field = app.find("chat-input", QPlainTextEdit)
    app.type(field, "x")
    app.press(field, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert field.toPlainText() == ""  # what was typed is undone first
    app.press(field, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    app.until_row("workflow-list", "Apples")
    app.until_reply("One.")


def test_the_list_is_searched_by_name_and_message_text(open_app: OpenApp) -> None:
    app = open_app(["The ferry leaves at nine.", "Two."])
    converse(app, ("Apples", "ferry"), ("Pears", "Two."))
    app.type("search-field", "appl")
    app.until(lambda: [row for row in rows(app.window.sidebar.list) if "Pears" in row] == [], "only one is left")
    app.until_row("workflow-list", "Apples")
    app.find("search-field", QLineEdit).clear()
    app.until_row("workflow-list", "Pears")
    app.type("search-field", "ferry")
    app.until_row("workflow-list", "The ferry leaves at nine.")
    app.press("search-field", Qt.Key.Key_Down)
    app.press("workflow-list", Qt.Key.Key_Return)
    app.until_reply("The ferry leaves at nine.")


def test_the_model_names_a_workflow_after_its_first_answer(open_app: OpenApp) -> None:
    app = open_app(["The ferry leaves at nine.", '"Timetable of the ferry."'])
    app.engine(lambda atelier: atelier.settings.update(name_by_model=True))
    app.click("new-workflow")
    app.send("Hello! When does the ferry leave? I am in a hurry.")
    app.until_reply("The ferry leaves at nine.")
    app.until_row("workflow-list", "Timetable of the ferry")
    app.until(lambda: app.window.chat.header.title.text() == "Timetable of the ferry", "the title follows")


def test_facts_a_person_mentions_are_proposed_as_memories_and_stored(open_app: OpenApp) -> None:
    app = open_app(["At nine.", '[{"type": "knowledge", "content": "The user lives in Lyon."}]'])
    app.engine(lambda atelier: atelier.settings.update(memories_at_end="told"))
    app.click("new-workflow")
    app.send("I live in Lyon. When does the ferry leave?")
    app.until_reply("At nine.")
    app.until_text("remembered", "1 proposed memory")
    app.click("memory-keep")
    app.until_text("remembered", "1 memory saved")
    assert [each.content for each in app.engine(lambda atelier: atelier.memories.list())] == ["The user lives in Lyon."]


def test_search_everywhere_opens_a_result(open_app: OpenApp) -> None:
    app = open_app(["The ferry leaves at nine.", [calculate("c1", "1234*2")], "Two."])
    converse(app, ("Apples", "ferry"), ("Pears", "Two."))
    app.action("search-everywhere")
    field = app.find("search-everywhere-field", QLineEdit)
    app.type(field, "2468")
    app.until_row("search-everywhere-list", "2468")
    field.clear()
    app.type(field, "ferry")
    app.until_row("search-everywhere-list", "ferry")
    app.until(
        lambda: "2468" not in "".join(rows(app.find("search-everywhere-list", QListView))), "the old results are gone"
    )
    app.press(field, Qt.Key.Key_Return)
    app.until_reply("The ferry leaves at nine.")


def test_found_words_are_bold_and_have_a_date(open_app: OpenApp) -> None:
    app = open_app(["The harbourmaster leaves at nine."])
    converse(app, ("Apples", "harbourmaster"))
    app.action("search-everywhere")
    app.type("search-everywhere-field", "harbourmaster")
    app.until_row("search-everywhere-list", "Assistant")
    app.settle()
    view = app.find("search-everywhere-list", QListView)
    index = view.model().index(1, 0)
    shown: ListRow = index.data(RowRole)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", shown.end), "when it was said"
    image = view.viewport().grab(view.visualRect(index)).toImage()
    ground, scale = theme().colour("warn_soft").rgb(), image.devicePixelRatio()
    marked = [x for x in range(image.width()) if any(image.pixel(x, y) == ground for y in range(image.height()))]
    width = (marked[-1] - marked[0] + 1) / scale
    plain, bold = (QFontMetricsF(theme().font(13, weight)).horizontalAdvance("harbourmaster") for weight in (400, 700))
    assert bold - plain > 3
    assert abs(width - bold) < abs(width - plain), (width, plain, bold)
    right = range(round(image.width() * 0.85), image.width() - 2)
    assert any(image.pixel(x, y) != image.pixel(right[0], 2) for x in right for y in range(4, 20)), "it is painted"
