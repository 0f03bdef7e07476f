"""Consistency of the window: equal figures everywhere, the open workflow stays marked, looking changes nothing."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QLineEdit, QListView, QMenu, QPlainTextEdit, QWidget

from atelier_desk.desktop.chat.cards.tool_card import ToolCard
from atelier_desk.desktop.chat.transcript.message_blocks import ProseBlock
from atelier_desk.support import i18n
from atelier_desk.support.locale_format import tokens
from tests.e2e.conftest import OpenApp
from tests.e2e.conversation_steps import converse
from tests.e2e.harness import AppDriver, rendered, rows
from tests.e2e.scripted_model_server import ModelServer, batch, calls, spawn
from tests.e2e.scripted_tool_calls import calculate, task
from tests.e2e.team_steps import CHECK, CUT, GOAL, MEASURE, lane, open_team, row


def token_count(text: str) -> str:
    """The token count in a line of figures."""
    return next((part for part in text.replace(",", " ·").split(" · ") if "token" in part), "").strip()


def test_header_tree_and_cards_have_the_same_numbers(open_app: OpenApp, server: ModelServer) -> None:
    server.script(
        GOAL, calls(batch("p1", ("Bea", MEASURE), ("Cid", CUT)), text="I share the work."), "The shelf stands."
    )
    server.script(MEASURE, "The wall is 84 cm wide.")
    server.script(CUT, calls(spawn("s1", "Eve", CHECK)), "Three boards were cut.")
    server.script(CHECK, "84 is right.")
    app = open_team(open_app, server)
    app.send(GOAL)
    app.until_reply("The shelf stands.")
    app.wait_done()
    agree(app)
    app.close()
    again = open_app(None)
    again.until_reply("The shelf stands.")
    again.settle()
    agree(again)


def agree(app: AppDriver) -> None:
    """The figures of the stored run, the header, the tree and the team's card."""
    workflow_id = app.workflow_id
    usage = app.engine(lambda a: a.workflows.get(workflow_id)).usage
    total, header = usage.tokens_input + usage.tokens_output, app.find("status-usage")
    assert total
    app.until(lambda: token_count(rendered(header)) == f"{tokens(total)} tokens", "the header counts what is stored")
    app.until(lambda: token_count(row(app, "Ada").accessibleName()) == f"{tokens(total)} tokens", "so does the tree")
    for name in ("Bea", "Cid"):
        in_card = token_count(rendered(lane(app, name)).replace("\n", " · "))
        assert in_card
        assert in_card == token_count(row(app, name).accessibleName()), f"{name} in the card and in the tree"


def test_an_agent_that_answers_twice_says_why_it_was_asked_again(open_app: OpenApp) -> None:
    app = open_app([[task("a", "Measure"), task("b", "Cut")], "All is done.", "All is done."])
    app.send("Build it")
    app.until(
        lambda: len([each for each in app.find_all("assistant-message") if "All is done." in rendered(each)]) == 2,
        "both answers",
    )
    app.wait_done()
    notice = app.find("notice-card")
    assert "2 tasks" in rendered(notice)

    def top(widget: QWidget) -> int:
        return widget.mapToGlobal(QPoint(0, 0)).y()

    first, second = sorted(top(each) for each in app.find_all("assistant-message") if "All is done." in rendered(each))
    assert first < top(notice) < second, "it is between them"
    app.until_row("activity-list", "2 tasks are open")


def test_turns_have_minimal_spacing(open_app: OpenApp) -> None:
    app = open_app([[calculate("c1", "6*7")], "One.", "Two."])
    for message, answer in (("Count", "One."), ("Again", "Two.")):
        app.send(message)
        app.until_reply(answer)
        app.wait_done()

    def span(text: str) -> tuple[int, int]:
        """Where a text of the transcript begins and ends on the screen."""
        [block] = [
            each
            for each in app.find("chat-view").findChildren(ProseBlock)
            if each.isVisible() and each.toPlainText() == text
        ]
        top = block.mapToGlobal(QPoint(0, 0)).y()
        return top, top + block.height()

    app.until(lambda: span("Again")[0] > span("One.")[1], "both turns are in view")
    card = app.find("tool-card")
    within = span("One.")[0] - (card.mapToGlobal(QPoint(0, 0)).y() + card.height())
    between = span("Again")[0] - span("One.")[1]
    assert 0 < within < between <= 5 * within, f"{within} px inside a turn, {between} px between two"
    assert between <= 64, "with the padding of the bubble and the buttons of the answer"


def test_the_step_bar_does_not_move_the_composer(open_app: OpenApp) -> None:
    app = open_app(["One."])
    composer = app.window.chat.composer
    app.action("step-mode")
    app.settle()
    before = composer.mapTo(app.window, QPoint(0, 0)), composer.width()
    app.send("Count")
    bar = app.find("step-bar")
    app.settle()
    assert (composer.mapTo(app.window, QPoint(0, 0)), composer.width()) == before
    assert bar.width() == composer.width()
    app.click("step-next")
    app.until_reply("One.")
    app.wait_done()
    assert (composer.mapTo(app.window, QPoint(0, 0)), composer.width()) == before


def test_the_open_workflow_stays_marked_whatever_is_inspected(open_app: OpenApp) -> None:
    app = open_app(["One.", "Two."])
    converse(app, ("Apples", "One."), ("Pears", "Two."))
    view = app.find("workflow-list", QListView)
    opened = app.workflow_id

    def row_colours() -> dict[str, str]:
        """The background colour of each workflow's row."""
        picture = view.viewport().grab().toImage()
        indexes = [view.model().index(number, 0) for number in range(view.model().rowCount())]
        boxes = [(index, view.visualRect(index)) for index in indexes if index.flags() & Qt.ItemFlag.ItemIsSelectable]
        return {str(index.data()): picture.pixelColor(box.right() - 12, box.top() + 6).name() for index, box in boxes}

    marked_colour = row_colours()["Pears"]

    def marked() -> list[str]:
        return [name for name, colour in row_colours().items() if colour == marked_colour]

    assert marked() == ["Pears"]
    other = next(
        index
        for number in range(view.model().rowCount())
        if (index := view.model().index(number, 0)).data() == "Apples"
    )
    point = view.visualRect(other).center()
    app.qtbot.mouseClick(view.viewport(), Qt.MouseButton.RightButton, pos=point)
    QApplication.sendEvent(
        view.viewport(), QContextMenuEvent(QContextMenuEvent.Reason.Mouse, point, view.viewport().mapToGlobal(point))
    )
    menu = app.until(lambda: [each for each in app.window.findChildren(QMenu) if each.isVisible()], "its menu")[0]
    assert marked() == ["Pears"]
    menu.close()
    app.settle()
    assert marked() == ["Pears"]
    assert app.workflow_id == opened
    for code in ("fr", "en"):
        app.action("language-french" if code == "fr" else "language-english")
        app.until(partial(speaks, code), code)
        app.settle()
        assert marked() == ["Pears"], code


def speaks(code: str) -> bool:
    return i18n.language() == code


def test_the_activity_list_shows_no_markdown_syntax(open_app: OpenApp) -> None:
    app = open_app(["## Result\n\n- **84**, see `notes.md`"])
    app.send("Count")
    app.wait_done()
    app.window.rail.show_pane("activity")
    app.until_row("activity-list", "Result 84, see notes.md")
    text = "\n".join(rows(app.find("activity-list", QListView)))
    assert not any(each in text for each in ("##", "**", "`"))


def test_a_search_highlights_matches_inside_cards(open_app: OpenApp) -> None:
    app = open_app([[calculate("c1", "1234*2")], "Done."])
    app.send("Count")
    app.until_reply("Done.")
    app.wait_done()
    card = app.find("tool-card", ToolCard)
    assert not card.opened
    app.action("find")
    app.type(app.find("find-field", QLineEdit), "2468")
    app.until(lambda: card.opened, "the card with it opens")

    def marked() -> list[str]:
        fields = [each for each in card.findChildren(QPlainTextEdit) if each.isVisible()]
        return [each.cursor.selectedText() for field in fields for each in field.extraSelections()]

    app.until(lambda: "2468" in marked(), "and it is marked")
