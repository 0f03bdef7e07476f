"""Quick ask and the tray icon."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QSystemTrayIcon
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.quick_ask import QuickAsk
from atelier_desk.desktop.system import tray_icon
from atelier_desk.domain.errors import ConflictError
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.domain.workflow import Workflow
from tests.helpers.accessibility import nameless, out_of_reach
from tests.helpers.fake_bridge import settle
from tests.helpers.main_window_with_fake_engine import Program


@pytest.fixture
async def program(qtbot: QtBot) -> Program:
    made = Program(qtbot)
    made.engine.set(
        "workflows",
        "create",
        lambda name="", agent_id="", choices=None: Workflow(id="w9", name="Quick", agent_id=agent_id),
    )
    made.engine.set("runs", "send", "r9")
    await made.start(workflow="w1")
    return made


@pytest.fixture
async def quick(program: Program, qtbot: QtBot) -> QuickAsk:
    program.window.actions_["quick-ask"].trigger()
    await settle()
    found = program.window._quick
    assert found is not None
    qtbot.addWidget(found)
    return found


async def reply_event(program: Program, kind: ChunkType, **data: Any) -> None:
    program.bridge.stream_event.emit(StreamEvent(workflow_id="w9", run_id="r9", chunk_type=kind, data=data))
    await settle()


async def test_enter_starts_a_workflow_in_the_background_and_the_answer_is_shown(
    program: Program, quick: QuickAsk, qtbot: QtBot
) -> None:
    assert "Ada" in quick.who.text()
    assert not quick.answer.isVisible()
    quick.field.setText("How high is the Eiffel tower?")
    QTest.keyClick(quick.field, Qt.Key.Key_Return)
    await settle()
    [(args, _fields)] = program.engine.calls("runs.send")
    assert args == ("w9", "How high is the Eiffel tower?")
    assert program.window.chat.workflow_id == "w1", "the window stays where it was"
    assert quick.field.text() == ""
    assert quick.stop.isVisible()
    await reply_event(program, ChunkType.TOKEN, content="330 ")
    await reply_event(program, ChunkType.MESSAGE, role="assistant", content="**330** metres")
    await reply_event(program, ChunkType.WORKFLOW_COMPLETE, status="completed")
    qtbot.waitUntil(lambda: quick.answer.toPlainText() == "330 metres")
    assert not quick.stop.isVisible()
    quick.open.click()
    await settle()
    assert not quick.isVisible()
    assert program.window.chat.workflow_id == "w9"


async def test_it_opens_with_room_for_the_answer_and_does_not_grow_out_of_the_screen(
    program: Program, quick: QuickAsk
) -> None:
    area = quick.screen().availableGeometry()
    assert abs(quick.geometry().center().x() - area.center().x()) <= 1
    assert quick.y() < area.center().y()
    quick.move(quick.x(), area.bottom() - quick.height())
    quick.field.setText("How high is the Eiffel tower?")
    QTest.keyClick(quick.field, Qt.Key.Key_Return)
    await settle()
    await reply_event(program, ChunkType.MESSAGE, role="assistant", content="330 metres")
    assert quick.answer.isVisible()
    assert area.contains(quick.frameGeometry())


async def test_a_message_that_cannot_be_sent_stays_in_the_field(program: Program, quick: QuickAsk) -> None:
    program.engine.set("runs", "send", ConflictError("Too many runs."))
    quick.field.setText("Hello")
    QTest.keyClick(quick.field, Qt.Key.Key_Return)
    await settle()
    assert quick.field.text() == "Hello"
    assert quick.status.text() == "Too many runs."
    assert not quick.stop.isVisible()


async def test_a_question_opens_its_workflow_and_a_running_agent_can_be_stopped(
    program: Program, quick: QuickAsk
) -> None:
    quick.field.setText("Hello")
    QTest.keyClick(quick.field, Qt.Key.Key_Return)
    await settle()
    await reply_event(program, ChunkType.RUN_STATUS, status="awaiting_user")
    assert "waiting for you" in quick.status.text()
    quick.stop.click()
    await settle()
    assert program.engine.calls("workflows.stop") == [(("w9",), {})]
    QTest.keyClick(quick, Qt.Key.Key_Escape)
    assert not quick.isVisible()


async def test_quick_ask_is_accessible(quick: QuickAsk) -> None:
    assert nameless(quick) == []
    assert out_of_reach(quick) == []


async def test_without_a_system_tray_there_is_no_icon(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tray_icon, "there_is_a_tray", lambda: False)
    program.window.show_tray(True)
    assert program.window._tray is None


async def test_the_tray_icon_offers_quick_ask_and_shows_notifications(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tray_icon, "there_is_a_tray", lambda: True)
    program.window.show_tray(True)
    made = program.window._tray
    assert made is not None
    assert [action.text() for action in made.menu.actions() if action.text()] == [
        "Quick ask",
        "Show Atelier",
        "New workflow",
        "Quit",
    ]
    assert program.window.presenter.attention._tray_icon() is made.icon
    made.icon.activated.emit(QSystemTrayIcon.ActivationReason.Trigger)
    assert program.window._quick is not None
    assert program.window._quick.isVisible()
    program.window._quick.close()
    program.window.hide()  # closed while its agents work
    made.icon.activated.emit(QSystemTrayIcon.ActivationReason.Trigger)
    assert program.window.isVisible()
    assert not program.window._quick.isVisible()
    made.menu.actions()[2].trigger()
    await settle()
    assert program.window.chat.workflow_id == ""
    program.window.show_tray(False)
    assert not made.icon.isVisible()
