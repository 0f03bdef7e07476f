"""Notifications about runs ending in the background, on a desktop without notifications."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.panes.inbox.ended_workflow_cards import NewsCard
from atelier_desk.desktop.questions.attention import Attention
from atelier_desk.domain.workflow import WorkflowStatus
from tests.desktop.main_window.window_with_runs import Program
from tests.helpers.fake_bridge import settle


@pytest.fixture
async def away(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> Program:
    """A started program on a desktop without a tray, its window behind others."""
    program = await Program(qtbot).start()
    monkeypatch.setattr(Attention, "seen_outside", False)
    monkeypatch.setattr(program.window, "isActiveWindow", lambda: False)
    return program


async def test_the_end_of_a_run_is_shown_in_the_window_until_the_user_returns(
    away: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    alerted: list[object] = []
    monkeypatch.setattr(QApplication, "alert", lambda window, *_: alerted.append(window))
    away.end("w2")
    await settle()
    assert await away.unread("w2")
    assert alerted == [away.window]
    assert away.toast() == "“Second” is done"
    toast = away.window.toasts.current
    assert toast is not None
    assert not toast.timer.isActive()
    monkeypatch.setattr(away.window, "isActiveWindow", lambda: True)
    QCoreApplication.sendEvent(away.window, QEvent(QEvent.Type.WindowActivate))
    assert toast.isVisible()
    assert toast.timer.isActive()
    button = away.window.findChild(QPushButton, "toast-action")
    assert button is not None
    button.click()
    await settle(20)
    assert away.window.chat.workflow_id == "w2"
    assert away.toast() == ""


async def test_an_answer_visible_in_quick_ask_is_not_announced(away: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    away.window.quick_ask()
    quick = away.window._quick
    assert quick is not None
    monkeypatch.setattr(quick, "isActiveWindow", lambda: True)
    quick.workflow_id = "w2"
    away.end("w2")
    away.end("w3")
    await settle()
    assert away.toast() == "“First (branch)” is done"
    assert len(away.window.toasts._toasts) == 1
    assert not await away.unread("w2")


async def test_with_notifications_off_it_is_shown_in_the_window_too(away: Program) -> None:
    away.window.presenter.attention.enabled = False
    away.end("w2", "error")
    await settle()
    assert away.toast() == "“Second” failed"
    toast = away.window.toasts.current
    assert toast is not None
    assert not toast.timer.isActive()


async def test_opening_or_deleting_the_workflow_removes_the_message(away: Program) -> None:
    away.end("w2")
    away.end("w3")
    away.end("w3", "error")
    await settle()
    assert len(away.window.toasts._toasts) == 2
    away.window.chat.open_workflow("w2")
    await settle(20)
    assert away.toast() == "“First (branch)” failed"
    away.window.sidebar.workflow_gone.emit("w3")
    await settle()
    assert away.toast() == ""


async def test_the_end_of_the_workflow_in_view_is_announced_to_screen_readers(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = await Program(qtbot).start()
    monkeypatch.setattr(program.window, "isActiveWindow", lambda: True)
    announced: list[str] = []
    monkeypatch.setattr(
        QAccessible, "updateAccessibility", staticmethod(lambda event: announced.append(event.message()))
    )
    program.end(program.window.chat.workflow_id)
    await settle()
    assert announced == ["“First” is done"]
    assert program.toast() == "", "who sees it needs no message"


async def failed_cards(program: Program) -> list[str]:
    """The names of the inbox's cards of failed workflows."""
    program.window.rail.show_pane("questions")
    program.window.rail.panes["questions"].reload()
    await settle(20)
    return [each.workflow.name for each in program.window.findChildren(NewsCard) if each.isVisible()]


def fail(program: Program, status: str = "error") -> None:
    """The run of the workflow in view fails, or its agent gives up."""
    program.known["w1"] = program.known["w1"].model_copy(update={"status": WorkflowStatus.ERROR})
    program.end("w1", status)


@pytest.mark.parametrize(("leave", "status"), [("w2", "error"), ("", "error"), ("w2", "abandoned")])
async def test_a_failure_in_view_is_in_the_inbox_once_the_user_goes_elsewhere(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, leave: str, status: str
) -> None:
    program = await Program(qtbot).start()
    monkeypatch.setattr(program.window, "isActiveWindow", lambda: True)
    fail(program, status)
    await settle()
    assert not await program.unread("w1"), "the user sees it"
    assert await failed_cards(program) == []
    if leave:
        program.window.chat.open_workflow(leave)
    else:
        program.window.actions_["new-workflow"].trigger()
    await settle(20)
    assert await program.unread("w1")
    assert await failed_cards(program) == ["First"]
    program.window.chat.open_workflow("w1")
    await settle(20)
    assert await failed_cards(program) == []


async def test_a_failure_that_was_continued_is_not_in_the_inbox(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    program = await Program(qtbot).start()
    monkeypatch.setattr(program.window, "isActiveWindow", lambda: True)
    fail(program)
    program.known["w1"] = program.known["w1"].model_copy(update={"status": WorkflowStatus.PAUSED})
    await program.window.sidebar.load()
    program.window.chat.open_workflow("w2")
    await settle(20)
    assert not await program.unread("w1")


async def test_a_failure_in_view_of_a_window_behind_others_is_in_the_inbox(
    away: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(away)
    await settle()
    assert await away.unread("w1")
    assert await failed_cards(away) == ["First"]
    monkeypatch.setattr(away.window, "isActiveWindow", lambda: True)
    away.known["w1"] = away.known["w1"].model_copy(update={"status": WorkflowStatus.COMPLETED})
    away.end("w1")
    await settle()
    assert not await away.unread("w1"), "its next turn ended before the user's eyes"
