"""Queued messages above the composer."""

from __future__ import annotations

import asyncio

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPlainTextEdit
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.compose.composer import Composer
from atelier_desk.desktop.chat.compose.queue_controller import QueueController
from atelier_desk.desktop.chat.compose.queue_strip import QueueStrip
from atelier_desk.domain.errors import ConflictError
from atelier_desk.domain.events.run import UserMessage
from atelier_desk.domain.stream.payloads import Waiting
from atelier_desk.domain.workflow import RunMode, Workflow
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle

TWO = (
    Waiting(message_id="a", content="first"),
    Waiting(message_id="b", content="second", images=1, files=("notes.md",)),
)


class Bench:
    def __init__(self, qtbot: QtBot) -> None:
        self.engine = FakeAtelier(runs={"waiting.list": (UserMessage(message_id="a", content="first"),)})
        self.bridge = FakeBridge(self.engine)
        self.strip, self.composer = QueueStrip(), Composer()
        self.controller = QueueController(self.bridge, self.strip, self.composer)
        for widget in (self.strip, self.composer):
            qtbot.addWidget(widget)
        self.composer.show()


@pytest.fixture
def bench(qtbot: QtBot) -> Bench:
    return Bench(qtbot)


async def test_the_queue_is_loaded_and_closed_with_the_workflow(bench: Bench) -> None:
    bench.controller.set_workflow("w1")
    await settle()
    assert [row.text.text() for row in bench.strip.rows] == ["first"]
    assert bench.strip.isVisible()
    bench.controller.set_workflow("")
    assert not bench.strip.isVisible()


def test_images_and_files_are_named_and_the_ends_cannot_be_passed(bench: Bench) -> None:
    bench.strip.show_waiting(TWO)
    first, second = bench.strip.rows
    assert second.text.text() == "second · 1 image · notes.md"
    assert [first.up.isEnabled(), first.down.isEnabled(), second.up.isEnabled(), second.down.isEnabled()] == [
        False,
        True,
        True,
        False,
    ]


def test_it_shows_whether_they_are_sent_automatically(bench: Bench) -> None:
    bench.strip.show_waiting(TWO)
    bench.strip.set_running(True)
    assert bench.strip.heading.text() == "2 messages will be sent when the agent has finished this turn"
    assert not bench.strip.send.isVisible()
    bench.strip.set_running(False)
    assert bench.strip.heading.text() == "2 messages not sent yet"
    assert bench.strip.send.isVisible()


async def test_every_button_performs_its_action(bench: Bench) -> None:
    bench.controller.set_workflow("w1")
    bench.strip.show_waiting(TWO)
    first, second = bench.strip.rows
    QTest.mouseClick(second.up, Qt.MouseButton.LeftButton)
    QTest.mouseClick(first.now, Qt.MouseButton.LeftButton)
    first.edit.click()
    editor = first.findChild(QPlainTextEdit, "queued-editor")
    assert editor is not None
    QTest.keyClicks(editor, ", better")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    await settle()
    assert bench.engine.calls("runs.waiting.move") == [(("w1", "b", 0), {})]
    assert bench.engine.calls("runs.send_queued") == [(("w1", "a"), {"mode": RunMode.AUTO})]
    assert bench.engine.calls("runs.waiting.edit") == [(("w1", "a", "first, better"), {})]


async def test_a_withdrawn_message_is_appended_to_the_composer(bench: Bench) -> None:
    bench.engine.set("runs.waiting", "withdraw", UserMessage(message_id="a", content="first"))
    bench.controller.set_workflow("w1")
    bench.strip.show_waiting(TWO)
    bench.composer.field.setPlainText("half written")
    QTest.mouseClick(bench.strip.rows[0].back, Qt.MouseButton.LeftButton)
    await settle()
    assert bench.composer.field.toPlainText() == "half written\n\nfirst"


async def test_a_message_sent_at_that_moment_is_reported(bench: Bench) -> None:
    bench.engine.set(
        "runs.waiting", "withdraw", ConflictError("This message is no longer queued: it was sent or removed.")
    )
    bench.controller.set_workflow("w1")
    bench.strip.show_waiting(TWO)
    QTest.mouseClick(bench.strip.rows[0].back, Qt.MouseButton.LeftButton)
    await settle()
    assert bench.bridge.errors == ["This message is no longer queued: it was sent or removed."]
    assert bench.composer.field.toPlainText() == ""


def test_an_edit_continues_when_the_list_changes_and_esc_cancels_it(bench: Bench) -> None:
    bench.strip.show_waiting(TWO)
    bench.strip.rows[1].edit.click()
    editor = bench.strip.rows[1].findChild(QPlainTextEdit, "queued-editor")
    assert editor is not None
    QTest.keyClicks(editor, " x")
    bench.strip.show_waiting(TWO[1:])
    assert bench.strip.rows[0].editing == "second x"
    editor = bench.strip.rows[0].findChild(QPlainTextEdit, "queued-editor")
    assert editor is not None
    QTest.keyClick(editor, Qt.Key.Key_Escape)
    assert bench.strip.rows[0].editing is None
    assert bench.strip.rows[0].text.text().startswith("second")


def editor_of(bench: Bench, row: int) -> QPlainTextEdit:
    bench.strip.rows[row].edit.click()
    return bench.strip.rows[row].findChildren(QPlainTextEdit, "queued-editor")[-1]


async def test_an_edit_is_not_lost_when_the_message_was_sent_meanwhile(bench: Bench) -> None:
    bench.strip.show_waiting(TWO)
    QTest.keyClicks(editor_of(bench, 0), ", better")
    bench.composer.field.setPlainText("half written")
    bench.strip.show_waiting(TWO[1:])
    assert bench.composer.field.toPlainText() == "half written\n\nfirst, better"
    assert bench.bridge.errors == ["The message is no longer queued. Your text is in the field below."]


async def test_an_edit_is_not_lost_when_the_engine_refuses_it(bench: Bench) -> None:
    bench.engine.set("runs.waiting", "edit", ConflictError("This message is no longer queued: it was sent or removed."))
    bench.strip.show_waiting(TWO)
    editor = editor_of(bench, 0)
    QTest.keyClicks(editor, "!")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    await settle()
    assert bench.composer.field.toPlainText() == "first!"


async def test_an_edit_is_not_lost_when_another_workflow_is_shown(bench: Bench) -> None:
    bench.controller.set_workflow("w1")
    await settle()
    QTest.keyClicks(editor_of(bench, 0), "!")
    bench.controller.set_workflow("")
    assert bench.composer.field.toPlainText() == ""
    bench.controller.set_workflow("w1")
    await settle()
    assert bench.strip.rows[0].editing == "first!"


async def test_an_edit_that_comes_too_late_for_a_workflow_out_of_view_is_in_its_draft(bench: Bench) -> None:
    late = asyncio.Event()

    async def edit(*_args: str) -> None:
        await late.wait()
        raise ConflictError("This message is no longer queued: it was sent or removed.")

    bench.engine.set("runs.waiting", "edit", edit)
    bench.engine.set("workflows", "get", Workflow(id="w1", name="x", draft="begun"))
    bench.controller.set_workflow("w1")
    bench.strip.edit_requested.emit("a", "typed for a long time")
    await settle()
    bench.controller.set_workflow("w2")
    late.set()
    await settle(30)
    assert bench.engine.calls("workflows.set_draft") == [(("w1", "begun\n\ntyped for a long time", ()), {})]
    assert bench.composer.field.toPlainText() == ""


async def test_an_edit_is_saved_or_cancelled_by_mouse_and_blocks_other_actions(bench: Bench) -> None:
    requested: list[str] = []
    bench.strip.edit_requested.connect(lambda _id, text: requested.append(text))
    bench.strip.show_waiting(TWO)
    row = bench.strip.rows[0]
    QTest.keyClicks(editor_of(bench, 0), "!")
    assert [each.isHidden() for each in (row.back, row.now, row.save_button, row.leave)] == [True, True, False, False]
    QTest.mouseClick(row.leave, Qt.MouseButton.LeftButton)
    assert requested == []
    QTest.keyClicks(editor_of(bench, 0), "?")
    QTest.mouseClick(row.save_button, Qt.MouseButton.LeftButton)
    assert requested == ["first?"]
    assert [each.isHidden() for each in (row.back, row.now, row.save_button, row.leave)] == [False, False, True, True]
