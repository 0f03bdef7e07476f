"""Views of complete runs: panes, replay, forks, step mode, and ends in the background."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtWidgets import QPushButton, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.panes.context.pane import ContextPane
from atelier_desk.desktop.panes.timeline.pane import TimelinePane
from atelier_desk.desktop.questions.attention import Attention
from atelier_desk.desktop.replay.view import ReplayView
from atelier_desk.desktop.sidebar.list_model import state_text
from atelier_desk.domain.workflow import Workflow
from tests.desktop.main_window.window_with_runs import Program
from tests.helpers.fake_bridge import settle


@pytest.fixture
async def program(qtbot: QtBot) -> Program:
    return await Program(qtbot).start()


async def test_timeline_and_context_are_created_on_demand(program: Program) -> None:
    docks = program.window.rail.docks
    assert docks["timeline"].isHidden()
    assert docks["context"].isHidden()
    assert program.window.findChild(QWidget, "timeline-pane") is None  # it is created on demand
    program.window.actions_["show-timeline"].trigger()
    await settle()
    assert isinstance(program.window.findChild(QWidget, "timeline-pane"), TimelinePane)
    assert not docks["timeline"].isHidden()
    assert docks["timeline"].width() > 600
    program.window.actions_["show-context"].trigger()
    assert not docks["context"].isHidden()
    program.window.toggle_panes()
    program.window.toggle_panes()
    assert not docks["timeline"].isHidden()
    program.window.reset_layout()
    assert docks["timeline"].isHidden()


async def test_a_sent_request_opens_in_the_context_pane(program: Program) -> None:
    program.window.rail.show_pane("timeline")
    pane = program.window.rail.panes["timeline"]
    assert isinstance(pane, TimelinePane)
    pane.request_requested.emit("child", 3)
    await settle()
    context = program.window.rail.panes["context"]
    assert isinstance(context, ContextPane)
    assert context.isVisible()
    assert context._run_id == "child"


async def test_a_replay_replaces_the_conversation_until_it_is_closed(program: Program) -> None:
    window = program.window
    program.conductor.show_replay("w1", "root", 3)
    await settle(20)
    replay = window.middle.currentWidget()
    assert isinstance(replay, ReplayView)
    assert replay is program.conductor.replay
    assert replay.objectName() == "replay-view"
    assert replay.seq == 3
    button = window.findChild(QToolButton, "replay-close")
    assert button is not None
    button.click()
    assert window.middle.currentWidget() is window.chat


async def test_another_workflow_ends_the_replay(program: Program) -> None:
    program.conductor.show_replay("w1", "root", 3)
    await settle(20)
    program.window.chat.open_workflow("w2")
    await settle(20)
    assert program.window.middle.currentWidget() is program.window.chat


async def test_a_workflow_without_runs_has_nothing_to_replay(program: Program) -> None:
    program.window.chat.open_workflow("w2")
    await settle(20)
    program.window.actions_["replay-run"].trigger()
    await settle()
    assert program.toast() == "Nothing has run here yet."
    assert program.window.middle.currentWidget() is program.window.chat


async def test_a_fork_is_created_and_shown(program: Program) -> None:
    program.conductor.show_replay("w1", "root", 3)
    await settle(20)
    program.conductor.replay.fork.click()
    await settle(20)
    assert program.engine.calls("runs.fork") == [(("w1", 3), {})]
    assert program.window.chat.workflow_id == "w3"
    assert program.window.middle.currentWidget() is program.window.chat
    assert "(branch)" in program.toast()
    assert program.window.findChild(QPushButton, "toast-action") is None


async def test_step_mode_is_a_toggle_with_visible_state(program: Program) -> None:
    switch = program.window.actions_["step-mode"]
    toggle = program.window.findChild(QToolButton, "step-toggle")
    assert toggle is not None
    assert toggle.isHidden()
    switch.trigger()
    assert switch.isChecked()
    assert program.window.chat.sending.stepping
    assert not toggle.isHidden()
    toggle.click()
    assert not switch.isChecked()
    assert not program.window.chat.sending.stepping
    assert not program.window.actions_["next-step"].isEnabled()


async def test_an_unseen_end_leaves_a_dot_until_the_workflow_is_opened(program: Program) -> None:
    program.end("w2")
    await settle()
    assert await program.unread("w2")
    assert program.toast() == "“Second” is done" or not program.window.isActiveWindow()
    program.window.chat.open_workflow("w2")
    await settle(20)
    assert not await program.unread("w2")


@pytest.mark.parametrize(
    ("workflow", "status", "more"),
    [
        ("w1", "completed", {}),
        ("w2", "waiting", {}),
        ("w2", "cancelled", {}),
        ("w2", "completed", {"depth": 1, "parent_run_id": "root"}),
    ],
)
async def test_a_visible_end_and_other_events_leave_no_dot(
    program: Program, workflow: str, status: str, more: dict[str, Any]
) -> None:
    program.end(workflow, status, **more)
    await settle()
    assert not await program.unread(workflow)


async def test_notifications_are_shown_while_the_window_is_behind_and_never_when_off(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    notified: list[str] = []
    attention = program.window.presenter.attention
    monkeypatch.setattr(Attention, "seen_outside", True)

    def notify(title: str, text: str, then: Callable[[], None] | None = None) -> bool:
        notified.append(text)
        return True

    monkeypatch.setattr(attention, "notify", notify)
    program.end("w2", "error")
    await settle()
    assert notified == ["“Second” failed"]
    assert program.toast() == ""
    monkeypatch.undo()
    attention.enabled = False
    assert not attention.notify("Atelier", "text")


async def test_unread_dots_survive_a_restart(program: Program, qtbot: QtBot) -> None:
    program.end("w2")
    await settle()
    again = await Program(qtbot, program.known).start()
    assert await again.unread("w2")
    assert not await again.unread("w1")


def test_the_badge_counts_questions_and_approvals() -> None:
    waiting = Workflow(name="x", pending_questions=2, pending_approvals=1)
    assert state_text(waiting) == "2 open questions, 1 approval waiting"
    assert state_text(Workflow(name="x"), unread=True) == "unread"
