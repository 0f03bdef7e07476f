"""Keyboard navigation to pending items: by shortcut, by Tab from the focused field, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.questions.approval_card import ApprovalCard
from atelier_desk.desktop.questions.dialog import QuestionDialog
from atelier_desk.desktop.window import MainWindow
from atelier_desk.domain.agent import Agent, AgentConfig
from atelier_desk.domain.approval import ApprovalRequest, ApprovalStatus
from atelier_desk.domain.settings import Settings
from atelier_desk.domain.workflow import Message, MessageRole, Workflow
from atelier_desk.engine.services.workflow.transcript import TranscriptEntry
from tests.desktop.questions import approval_fixtures
from tests.desktop.questions.approval_fixtures import ApprovalEngine
from tests.desktop.questions.conftest import ask
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import FakeBridge, settle
from tests.helpers.focused_widget import focused


def asks(name: str, **fields: Any) -> ApprovalRequest:
    """A request under a call of the only run, with a card of its own."""
    return approval_fixtures.asks(name, **({"run_id": "r", "reason": "rule"} | fields))


class WindowHarness:
    """The window over an engine with these pending requests, each under a call of its workflow's only message."""

    def __init__(self, qtbot: QtBot, *requests: ApprovalRequest) -> None:
        self.qtbot: Any = qtbot
        agent = Agent(config=AgentConfig(name="Ada", provider="p", model="m"))
        names = sorted({"w1", *(each.workflow_id for each in requests)})
        self.engine = ApprovalEngine(
            *requests,
            workflows={
                "list": [Workflow(id=name, name=name) for name in names],
                "get": lambda key: Workflow(id=key, name=key),
                "transcript": self._said,
            },
            agents={"list": [agent], "default": agent},
            settings={"get": Settings()},
        )
        self.window = MainWindow(FakeBridge(self.engine))
        self.window.prepare()
        qtbot.addWidget(self.window)
        self.window.resize(1280, 800)
        self.window.show()
        self.window.activateWindow()

    def _said(self, key: str, **_limits: Any) -> list[TranscriptEntry]:
        found = [each for each in self.engine.stored.values() if each.workflow_id == key]
        ids = tuple(each.call_id for each in found)
        message = Message(
            id=f"m-{key}",
            workflow_id=key,
            run_id="r",
            seq=1,
            role=MessageRole.ASSISTANT,
            content="I ask.",
            call_ids=ids,
        )
        return [TranscriptEntry(message, approvals={each.call_id: (each,) for each in found})] if found else []

    async def start(self) -> None:
        await self.window.start(Settings(window={"workflow": "w1"}))
        await settle(40)
        self.qtbot.waitUntil(self.window.isActiveWindow)
        self.field.setFocus()

    @property
    def field(self) -> QPlainTextEdit:
        return self.window.chat.composer.field

    async def go(self) -> None:
        self.window.actions_["go-to-waiting"].trigger()
        await settle(40)

    def question(self) -> QuestionDialog:
        dialog = self.window.presenter.dialog
        assert isinstance(dialog, QuestionDialog)
        return dialog

    def focused_request(self) -> str:
        """The request whose card has the focus; empty if none."""
        now = QApplication.focusWidget()
        return now.request.id if isinstance(now, ApprovalCard) else ""

    def tab(self, times: int = 1, *, back: bool = False) -> str:
        for _time in range(times):
            QTest.keyClick(focused(), Qt.Key.Key_Backtab if back else Qt.Key.Key_Tab)
        now = QApplication.focusWidget()
        return now.objectName() if now is not None else ""


HarnessMaker = Callable[..., WindowHarness]


@pytest.fixture
def harness(qtbot: QtBot) -> HarnessMaker:
    return lambda *requests: WindowHarness(qtbot, *requests)


async def test_the_shortcut_focuses_the_card_and_a_letter_decides_and_returns(harness: HarnessMaker) -> None:
    d = harness(asks("v1"))
    await d.start()
    assert d.window.actions_["go-to-waiting"].shortcut().toString() == "Ctrl+J"
    await d.go()
    assert d.focused_request() == "v1"
    card = focused()
    assert d.window.chat.isAncestorOf(card), "the one in the conversation, under its call"
    QTest.keyClick(card, Qt.Key.Key_A)
    await settle(40)
    assert d.engine.stored["v1"].status is ApprovalStatus.APPROVED
    assert QApplication.focusWidget() is d.field


async def test_tab_leads_from_the_field_through_the_complete_card(harness: HarnessMaker) -> None:
    d = harness(asks("v1"))
    await d.start()
    assert d.tab() == "approval-card"
    reached = [d.tab() for _stop in range(9)]
    for name in ("approval-approve", "approval-reject", "approval-run", "approval-scope"):
        assert name in reached
    d.field.setFocus()
    d.tab()
    assert d.tab(back=True) == "chat-input"


async def test_a_reason_is_typed_and_sent_without_the_mouse(harness: HarnessMaker) -> None:
    d = harness(asks("v1"))
    await d.start()
    await d.go()
    QTest.keyClick(focused(), Qt.Key.Key_R)
    assert focused().objectName() == "approval-reason"
    QTest.keyClicks(focused(), "Not in main")
    QTest.keyClick(focused(), Qt.Key.Key_Return)
    await settle(40)
    assert d.engine.calls("approvals.reject") == [(("v1",), {"note": "Not in main"})]
    assert QApplication.focusWidget() is d.field


async def test_the_shortcut_again_goes_to_the_next_item_and_other_workflows(harness: HarnessMaker) -> None:
    d = harness(asks("v1"), asks("v2"), asks("v0", workflow="w0"))
    await d.start()
    await d.go()
    assert d.focused_request() == "v1", "this workflow first, though another waits longer"
    await d.go()
    assert d.focused_request() == "v2"
    await d.go()
    assert (d.focused_request(), d.window.chat.workflow_id) == ("v0", "w0")
    await d.go()
    assert (d.focused_request(), d.window.chat.workflow_id) == ("v1", "w1")


async def test_items_without_a_card_in_the_transcript_are_found_in_the_inbox(harness: HarnessMaker) -> None:
    d = harness(asks("v1", run_id="elsewhere"))
    d.engine.set("workflows", "transcript", [])
    await d.start()
    await d.go()
    assert d.focused_request() == "v1"
    assert d.window.rail.panes["questions"].isAncestorOf(focused())


async def test_the_inbox_focuses_its_first_card(harness: HarnessMaker) -> None:
    d = harness(asks("v1"), asks("v2"))
    await d.start()
    d.window.actions_["show-questions"].trigger()
    await settle()
    assert d.focused_request() == "v1"
    assert d.window.rail.panes["questions"].isAncestorOf(focused())


async def test_a_postponed_question_is_opened_and_an_empty_queue_is_reported(harness: HarnessMaker) -> None:
    d = harness()
    await d.start()
    await d.go()
    assert d.window.toasts.current is not None
    assert d.window.toasts.current.accessibleName() == "Nothing is waiting for you."
    d.engine.set("questions", "pending", [ask("q1")])
    d.window.presenter.start()
    await settle(40)
    dialog = d.question()
    dialog.postponed.emit(dialog.entered())
    await settle()
    assert d.window.presenter.dialog is None
    await d.go()
    assert d.question().isAncestorOf(focused())


async def test_a_failed_decision_keeps_the_focus_on_the_card(harness: HarnessMaker) -> None:
    d = harness(asks("v1"))
    d.engine.set("approvals", "approve", OSError("disk"))
    await d.start()
    await d.go()
    card = focused()
    button = child(card, QWidget, "approval-approve")
    button.setFocus()
    QTest.keyClick(button, Qt.Key.Key_Space)
    await settle(40)
    assert d.focused_request() == "v1"


async def test_a_toast_does_not_cover_an_open_question(harness: HarnessMaker) -> None:
    """Whichever comes first; without a question it is above the composer again."""
    d = harness()
    d.window.resize(1280, 640)
    await d.start()
    toasts, presenter = d.window.toasts, d.window.presenter
    first = toasts.show("82% of this month's limit", "Change limit", lambda: None)
    low = first.geometry()
    d.engine.set("questions", "pending", [ask("q1", options=6)])
    presenter.start()
    await settle(40)
    dialog = d.question()
    shown = QRect(dialog.mapTo(d.window, QPoint()), dialog.size())
    assert not first.geometry().intersects(shown)
    second = toasts.show("82% of this month's limit", "Change limit", lambda: None)
    assert not second.geometry().intersects(shown)
    dialog.postponed.emit(dialog.entered())
    await settle(40)
    assert second.geometry().y() == low.y()
