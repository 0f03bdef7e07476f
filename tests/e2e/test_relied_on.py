"""Consistency of the window: equal figures everywhere, the open workflow stays marked, looking changes nothing."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QStandardPaths, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit, QListView, QMenu, QPlainTextEdit, QWidget

from atelier_desk.desktop.chat.cards.tool_card import ToolCard
from atelier_desk.desktop.chat.transcript.blocks import ProseBlock
from atelier_desk.desktop.file_dialogs import start_folder
from atelier_desk.desktop.settings.registry import sections
from atelier_desk.support import i18n
from atelier_desk.support.number_format import tokens
from tests.e2e.asking import calculate, task
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import Desk, rendered, rows
from tests.e2e.test_teams import CHECK, CUT, GOAL, MEASURE, lane, open_team, row
from tests.e2e.test_workflows import converse
from tests.e2e.wire import ModelServer, batch, calls, spawn
from tests.support.wheel import changed_by_wheel, inputs


def spent(text: str) -> str:
    """The token count in a line of figures."""
    return next((part for part in text.replace(",", " ·").split(" · ") if "token" in part), "").strip()


def test_header_tree_and_cards_have_the_same_numbers(open_desk: OpenDesk, server: ModelServer) -> None:
    server.script(
        GOAL, calls(batch("p1", ("Bea", MEASURE), ("Cid", CUT)), text="I share the work."), "The shelf stands."
    )
    server.script(MEASURE, "The wall is 84 cm wide.")
    server.script(CUT, calls(spawn("s1", "Eve", CHECK)), "Three boards were cut.")
    server.script(CHECK, "84 is right.")
    desk = open_team(open_desk, server)
    desk.send(GOAL)
    desk.last_reply("The shelf stands.")
    desk.wait_done()
    agree(desk)
    desk.close()
    again = open_desk(None)
    again.last_reply("The shelf stands.")
    again.settle()
    agree(again)


def agree(desk: Desk) -> None:
    """The figures of the stored run, the header, the tree and the team's card."""
    workflow_id = desk.workflow_id
    usage = desk.engine(lambda a: a.workflows.get(workflow_id)).usage
    total, header = usage.tokens_input + usage.tokens_output, desk.find("status-usage")
    assert total
    desk.until(lambda: spent(rendered(header)) == f"{tokens(total)} tokens", "the header counts what is stored")
    desk.until(lambda: spent(row(desk, "Ada").accessibleName()) == f"{tokens(total)} tokens", "so does the tree")
    for name in ("Bea", "Cid"):
        shown = spent(rendered(lane(desk, name)).replace("\n", " · "))
        assert shown
        assert shown == spent(row(desk, name).accessibleName()), f"{name} in the card and in the tree"


def test_an_agent_that_answers_twice_says_why_it_was_asked_again(open_desk: OpenDesk) -> None:
    desk = open_desk([[task("a", "Measure"), task("b", "Cut")], "All is done.", "All is done."])
    desk.send("Build it")
    desk.until(
        lambda: len([each for each in desk.all("assistant-message") if "All is done." in rendered(each)]) == 2,
        "both answers",
    )
    desk.wait_done()
    notice = desk.find("notice-card")
    assert "2 tasks" in rendered(notice)

    def top(widget: QWidget) -> int:
        return widget.mapToGlobal(QPoint(0, 0)).y()

    first, second = sorted(top(each) for each in desk.all("assistant-message") if "All is done." in rendered(each))
    assert first < top(notice) < second, "it stands between them"
    desk.until_row("activity-list", "2 tasks are open")


def test_turns_stand_apart_by_no_more_than_they_have_to(open_desk: OpenDesk) -> None:
    desk = open_desk([[calculate("c1", "6*7")], "One.", "Two."])
    for message, answer in (("Count", "One."), ("Again", "Two.")):
        desk.send(message)
        desk.last_reply(answer)
        desk.wait_done()

    def span(text: str) -> tuple[int, int]:
        """Where a text of the transcript begins and ends on the screen."""
        [block] = [
            each
            for each in desk.find("chat-view").findChildren(ProseBlock)
            if each.isVisible() and each.toPlainText() == text
        ]
        top = block.mapToGlobal(QPoint(0, 0)).y()
        return top, top + block.height()

    desk.until(lambda: span("Again")[0] > span("One.")[1], "both turns are in view")
    card = desk.find("tool-card")
    within = span("One.")[0] - (card.mapToGlobal(QPoint(0, 0)).y() + card.height())
    between = span("Again")[0] - span("One.")[1]
    assert 0 < within < between <= 5 * within, f"{within} px inside a turn, {between} px between two"
    assert between <= 64, "with the padding of the bubble and the buttons of the answer"


def test_the_step_bar_leaves_the_composer_where_it_is(open_desk: OpenDesk) -> None:
    desk = open_desk(["One."])
    composer = desk.window.chat.composer
    desk.action("step-mode")
    desk.settle()
    before = composer.mapTo(desk.window, QPoint(0, 0)), composer.width()
    desk.send("Count")
    bar = desk.find("step-bar")
    desk.settle()
    assert (composer.mapTo(desk.window, QPoint(0, 0)), composer.width()) == before
    assert bar.width() == composer.width()
    desk.click("step-next")
    desk.last_reply("One.")
    desk.wait_done()
    assert (composer.mapTo(desk.window, QPoint(0, 0)), composer.width()) == before


def test_the_open_workflow_stays_marked_whatever_is_inspected(open_desk: OpenDesk) -> None:
    desk = open_desk(["One.", "Two."])
    converse(desk, ("Apples", "One."), ("Pears", "Two."))
    view = desk.find("workflow-list", QListView)
    opened = desk.workflow_id

    def grounds() -> dict[str, str]:
        """The background colour of each workflow's row."""
        shown = view.viewport().grab().toImage()
        indexes = [view.model().index(number, 0) for number in range(view.model().rowCount())]
        places = [(index, view.visualRect(index)) for index in indexes if index.flags() & Qt.ItemFlag.ItemIsSelectable]
        return {str(index.data()): shown.pixelColor(box.right() - 12, box.top() + 6).name() for index, box in places}

    mark = grounds()["Pears"]

    def marked() -> list[str]:
        return [name for name, colour in grounds().items() if colour == mark]

    assert marked() == ["Pears"]
    other = next(
        index
        for number in range(view.model().rowCount())
        if (index := view.model().index(number, 0)).data() == "Apples"
    )
    at = view.visualRect(other).center()
    desk.qtbot.mouseClick(view.viewport(), Qt.MouseButton.RightButton, pos=at)
    QApplication.sendEvent(
        view.viewport(), QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, view.viewport().mapToGlobal(at))
    )
    menu = desk.until(lambda: [each for each in desk.window.findChildren(QMenu) if each.isVisible()], "its menu")[0]
    assert marked() == ["Pears"]
    menu.close()
    desk.settle()
    assert marked() == ["Pears"]
    assert desk.workflow_id == opened
    for code in ("fr", "en"):
        desk.action("language-french" if code == "fr" else "language-english")
        desk.until(partial(speaks, code), code)
        desk.settle()
        assert marked() == ["Pears"], code


def speaks(code: str) -> bool:
    return i18n.language() == code


def test_an_export_begins_in_the_documents_and_not_where_the_program_was_started(
    open_desk: OpenDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents, started = tmp_path / "Documents", tmp_path / "started"
    documents.mkdir()
    started.mkdir()
    monkeypatch.chdir(started)
    monkeypatch.setattr(start_folder, "_last", None)
    monkeypatch.setattr(QStandardPaths, "writableLocation", lambda _kind: str(documents))
    desk = open_desk(["One."])
    converse(desk, ("Apples", "One."))
    desk.action("export-workflow")
    dialog = desk.until(
        lambda: [each for each in desk.window.findChildren(QFileDialog) if each.isVisible()], "where to"
    )[0]
    assert Path(dialog.directory().absolutePath()) == documents
    dialog.fileSelected.emit(str(documents / "Apples.json"))
    dialog.close()
    desk.until(lambda: (documents / "Apples.json").is_file(), "it is written")
    assert list(started.iterdir()) == []


def test_the_activity_list_has_no_marks_of_markdown(open_desk: OpenDesk) -> None:
    desk = open_desk(["## Result\n\n- **84**, see `notes.md`"])
    desk.send("Count")
    desk.wait_done()
    desk.window.rail.show_pane("activity")
    desk.until_row("activity-list", "Result 84, see notes.md")
    shown = "\n".join(rows(desk.find("activity-list", QListView)))
    assert not any(each in shown for each in ("##", "**", "`"))


def test_a_search_marks_what_it_finds_inside_cards(open_desk: OpenDesk) -> None:
    desk = open_desk([[calculate("c1", "1234*2")], "Done."])
    desk.send("Count")
    desk.last_reply("Done.")
    desk.wait_done()
    card = desk.find("tool-card", ToolCard)
    assert not card.opened
    desk.action("find")
    desk.type(desk.find("find-field", QLineEdit), "2468")
    desk.until(lambda: card.opened, "the card with it opens")

    def marked() -> list[str]:
        fields = [each for each in card.findChildren(QPlainTextEdit) if each.isVisible()]
        return [each.cursor.selectedText() for field in fields for each in field.extraSelections()]

    desk.until(lambda: "2468" in marked(), "and it is marked")


def test_the_wheel_changes_nothing_without_the_keyboard(open_desk: OpenDesk) -> None:
    desk = open_desk(["One."])
    converse(desk, ("Apples", "One."))
    for name in desk.window.rail.docks:
        desk.window.rail.show_pane(name)
    desk.settle()
    seen: dict[str, int] = {}

    def turn(where: str, widget: QWidget) -> None:
        seen[where] = len(inputs(widget))
        assert changed_by_wheel(widget) == [], where

    turn("the window", desk.window)
    desk.action("settings")
    settings = desk.window._settings_window
    assert settings is not None
    for entry in sections():
        settings.show_page(entry.name)
        desk.settle()
        turn(entry.name, settings.page(entry.name))
    settings.close()
    desk.action("workflow-settings")
    form = desk.find("workflow-settings")
    turn("the settings of the workflow", form)
    form.close()
    panes = desk.window.rail.panes
    for pane, name in (("tasks", "task-dialog"), ("memory", "memory-dialog")):
        panes[pane].add()  # type: ignore[attr-defined]
        form = desk.find(name)
        turn(name, form)
        form.close()
    assert seen["the window"] >= 4
    assert seen["agents"] >= 5
    assert all(seen[name] for name in ("general", "task-dialog", "memory-dialog")), seen
