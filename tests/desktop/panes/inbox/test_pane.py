"""The inbox: all pending questions over all workflows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QLabel, QPlainTextEdit, QPushButton, QWidget

from atelier_desk.desktop.diff.view import DiffView
from atelier_desk.desktop.panes import time_format
from atelier_desk.desktop.panes.inbox.ended_workflow_cards import news_of
from atelier_desk.desktop.panes.inbox.pane import InboxPane
from atelier_desk.desktop.questions.approval_group import ApprovalGroup
from atelier_desk.desktop.questions.presenter import QuestionPresenter
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.language_theme_bindings import refresh_texts
from atelier_desk.desktop.widgets.minute_clock import MinuteClock
from atelier_desk.desktop.widgets.toast import Toast
from atelier_desk.domain.approval import ApprovalStatus
from atelier_desk.domain.errors import ConflictError
from atelier_desk.domain.memory import Memory, MemoryType
from atelier_desk.domain.result_parts import FileChange
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.domain.workflow import Workflow, WorkflowStatus
from atelier_desk.engine.services.team.agent_tree_and_timeline_types import AgentNode
from atelier_desk.support import i18n
from tests.desktop.panes.conftest import Show
from tests.desktop.questions.approval_fixtures import LINEAGE, ApprovalEngine, asks, emit_event
from tests.desktop.questions.conftest import START, ask
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle
from tests.helpers.mouse_pointer import aim, leave


async def test_it_counts_lists_opens_and_skips(bridge: FakeBridge, atelier: FakeAtelier, shown: Show) -> None:
    atelier.set("questions", "pending", [ask("q1"), ask("q2", workflow="w2")])
    atelier.set("workflows", "list", [Workflow(id="w1", name="One"), Workflow(id="w2", name="Two")])
    window = QWidget()
    presenter = QuestionPresenter(bridge, window)
    pane = shown(InboxPane(bridge, presenter))
    assert pane.objectName() == "question-inbox"
    assert pane.count.text() == "0"
    assert pane.empty.isVisible()
    counts: list[int] = []
    pane.waiting.connect(counts.append)
    presenter.start()
    await settle()
    assert child(pane, QLabel, "pending-count").text() == "2"
    assert counts[-1] == 2
    card = child(pane, QWidget, "inbox-q2")
    assert card.accessibleName() == "Which way?"
    assert any("Two" in label.accessibleName() for label in card.findChildren(QWidget))
    opened: list[str] = []
    presenter.workflow_requested.connect(opened.append)
    child(pane, QPushButton, "inbox-open-q2").click()
    assert opened == ["w2"]
    atelier.set("questions", "pending", [ask("q2", workflow="w2")])
    child(pane, QPushButton, "inbox-skip-q1").click()
    await settle()
    assert atelier.calls("questions.skip") == [(("q1",), {})]
    assert pane.count.text() == "1"
    window.deleteLater()


async def test_a_question_is_shown_in_its_dialog_or_in_the_inbox_never_in_both(
    bridge: FakeBridge, atelier: FakeAtelier, shown: Show
) -> None:
    atelier.set("questions", "pending", [ask("q1"), ask("q2", workflow="w2")])
    window = QWidget()
    view = QWidget(window)
    presenter = QuestionPresenter(bridge, window)
    pane = shown(InboxPane(bridge, presenter))
    presenter.set_view("w1", view)
    presenter.start()
    await settle()
    assert presenter.dialog is not None
    assert list(pane._cards) == ["question:q2"]
    assert pane.count.text() == "2"  # the open one waits too
    presenter.dialog.postponed.emit(presenter.dialog.entered())
    await settle()
    assert set(pane._cards) == {"question:q1", "question:q2"}
    presenter.open("q1")
    await settle()
    assert list(pane._cards) == ["question:q2"]
    presenter.set_view("", None)  # another workflow is shown: no dialog is open any more
    await settle()
    assert set(pane._cards) == {"question:q1", "question:q2"}
    window.deleteLater()


WORKFLOWS = [Workflow(id="w1", name="One", status=WorkflowStatus.WAITING), Workflow(id="w2", name="Two")]


class Inbox:
    """The pane over an engine with a question, approvals and a sub-agent that asks its parent."""

    def __init__(self, shown: Show) -> None:
        child = AgentNode(
            run_id="r9",
            name="Tester",
            status="awaiting_parent",
            question="All tests?",
            started_at=asks("v2").created_at,
        )
        self.engine = ApprovalEngine(
            asks("v1"),
            asks("v3", workflow="w2"),
            workflows={"list": WORKFLOWS},
            teams={
                "at_work": {
                    "w1": AgentNode(run_id="r0", name="Architect", status="awaiting_children", children=(child,))
                }
            },
            questions={"pending": [ask("q4", lineage=LINEAGE)]},
        )
        self.bridge = FakeBridge(self.engine)
        self.window = QWidget()
        self.presenter = QuestionPresenter(self.bridge, self.window)
        self.pane = shown(InboxPane(self.bridge, self.presenter))

    async def begin(self) -> None:
        self.presenter.start()
        await settle(30)

    def order(self) -> list[str]:
        return sorted(self.pane._cards, key=lambda key: self.pane._cards[key].y())

    def find(self, name: str) -> Any:
        found = self.pane.findChild(QWidget, name)
        assert found is not None, name
        return found


async def test_all_pending_items_are_one_list_in_order_of_arrival(shown: Show) -> None:
    inbox = Inbox(shown)
    totals: list[int] = []
    inbox.presenter.pending_changed.connect(totals.append)
    await inbox.begin()
    assert inbox.order() == ["approval:v1", "parent:r9", "approval:v3", "question:q4"]
    assert inbox.find("pending-count").text() == "4"
    assert totals[-1] == 4
    assert inbox.find("inbox-lineage-q4").text() == "Architect → Reviewer → Architect"
    opened: list[str] = []
    inbox.presenter.workflow_requested.connect(opened.append)
    child(inbox.pane._cards["approval:v3"], QAbstractButton, "approval-show").click()
    assert opened == ["w2"]
    inbox.window.deleteLater()


async def test_text_typed_in_a_card_survives_new_items(shown: Show) -> None:
    inbox = Inbox(shown)
    await inbox.begin()
    card = inbox.pane._cards["approval:v1"]
    inbox.find("parent-answer-r9").setPlainText("Only the")
    child(card, QPushButton, "approval-reject").click()
    child(card, QPlainTextEdit, "approval-reason").setPlainText("because")
    inbox.engine.stored["v0"] = asks("v0")
    await emit_event(inbox.bridge, inbox.engine.stored["v0"])
    await settle(30)
    assert inbox.order()[:2] == ["approval:v0", "approval:v1"]
    assert inbox.pane._cards["approval:v1"] is card
    assert child(card, QPlainTextEdit, "approval-reason").toPlainText() == "because"
    assert inbox.find("parent-answer-r9").toPlainText() == "Only the"
    child(card, QPushButton, "approval-reject").click()  # the reason is entered, so this sends it
    await settle(30)
    assert inbox.engine.stored["v1"].status is ApprovalStatus.REJECTED
    assert "approval:v1" not in inbox.pane._cards
    inbox.window.deleteLater()


async def test_a_person_answers_instead_of_the_parent(shown: Show) -> None:
    inbox = Inbox(shown)
    await inbox.begin()
    field, send = inbox.find("parent-answer-r9"), inbox.find("parent-answer-send-r9")
    assert not send.isEnabled()
    inbox.engine.set(
        "runs.answering", "answer_child", ConflictError("{agent} does not wait for an answer.", agent="Tester")
    )
    field.setPlainText("Only the changed ones")
    send.click()
    await settle()
    assert inbox.find("parent-answer-error-r9").text() == "Tester does not wait for an answer."
    assert field.toPlainText() == "Only the changed ones"
    inbox.engine.set("runs.answering", "answer_child", None)
    send.click()
    await settle()
    assert inbox.engine.calls("runs.answering.answer_child")[-1] == (("r9", "Only the changed ones"), {})
    assert "parent:r9" not in inbox.pane._cards
    inbox.window.deleteLater()


async def test_an_approval_is_no_taller_than_the_pane(shown: Show) -> None:
    inbox = Inbox(shown)
    inbox.engine.stored["v1"] = asks("v1", arguments={"content": "word " * 4000})
    await inbox.begin()
    card, view = inbox.pane._cards["approval:v1"], inbox.pane._area.viewport()
    assert card.height() <= view.height()
    inbox.pane.window().resize(300, 460)
    await settle(30)
    assert card.height() <= view.height()
    inbox.window.deleteLater()


async def test_a_reviewed_diff_uses_the_height_of_a_low_pane(shown: Show) -> None:
    """Its group has a scroll bar; a second one around a few lines of the diff would hide the rest of it."""
    inbox = Inbox(shown)
    for key in ("v1", "v3"):
        inbox.engine.stored[key] = asks(key, run_id="r", tool="edit_file", operation="", effect="write")
    added = [f"+line {number}" for number in range(14)]
    diff = "\n".join(["--- a/b.md", "+++ b/b.md", "@@ -1,1 +1,15 @@", *added, " end"])
    inbox.engine.set("approvals", "preview", [FileChange(action="changed", path="b.md", diff=diff, added=14)])
    theme().set_scale(150)
    inbox.pane.window().resize(420, 700)
    await inbox.begin()
    (group,) = inbox.pane.findChildren(ApprovalGroup)
    child(group, QPushButton, "approval-review-v1").click()
    await settle(30)
    card = group.lines["v1"].card
    assert card is not None
    (shown_diff,) = card.findChildren(DiffView)
    assert shown_diff.isVisible()
    assert card.area.verticalScrollBarPolicy() is Qt.ScrollBarPolicy.ScrollBarAlwaysOff
    group.area.ensureWidgetVisible(shown_diff)
    visible = shown_diff.visibleRegion().boundingRect().height()
    assert visible >= min(shown_diff.height(), group.area.viewport().height() - theme().px(8))
    assert group.height() <= inbox.pane._area.viewport().height()
    inbox.window.deleteLater()


async def test_the_focus_stays_on_a_question_while_others_arrive(shown: Show) -> None:
    inbox = Inbox(shown)
    await inbox.begin()
    button = inbox.find("inbox-open-q4")
    button.setFocus()
    inbox.engine.stored["v0"] = asks("v0")
    await emit_event(inbox.bridge, inbox.engine.stored["v0"])
    await settle(30)
    assert len(inbox.order()) == 5
    assert inbox.find("inbox-open-q4") is button
    assert inbox.pane.focusWidget() is button
    inbox.window.deleteLater()


async def test_cards_show_how_long_they_wait(shown: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    inbox = Inbox(shown)
    await inbox.begin()
    asked = inbox.presenter.queue.pending()[0].created_at
    monkeypatch.setattr(time_format, "utc_now", lambda: asked + timedelta(minutes=3))
    clock = child(inbox.pane, MinuteClock)
    assert clock.isActive()
    clock.timeout.emit()
    assert inbox.find("inbox-where-q4").text() == "3 minutes ago · One"
    inbox.pane.hide()
    assert not clock.isActive()
    inbox.window.deleteLater()


async def test_question_cards_follow_the_language(shown: Show) -> None:
    inbox = Inbox(shown)
    await inbox.begin()
    button = inbox.find("inbox-skip-q4")
    assert button.text() == "Skip"
    i18n.set_language("fr")
    refresh_texts()
    assert inbox.find("inbox-skip-q4") is button
    assert button.text() == "Ne pas répondre"
    inbox.window.deleteLater()


def ended(name: str, status: WorkflowStatus, minute: int, *, unread: bool = True) -> Workflow:
    return Workflow(
        id=name, name=name.title(), status=status, unread=unread, updated_at=START + timedelta(minutes=minute)
    )


NEWS = [
    ended("done1", WorkflowStatus.COMPLETED, 1),
    ended("done2", WorkflowStatus.COMPLETED, 2),
    ended("seen", WorkflowStatus.COMPLETED, 3, unread=False),
    ended("failed", WorkflowStatus.ERROR, 4),
    ended("looked at", WorkflowStatus.ERROR, 5, unread=False),
    ended("cut off", WorkflowStatus.INTERRUPTED, 6, unread=False),
    ended("limit", WorkflowStatus.PAUSED, 7),
    ended("at work", WorkflowStatus.RUNNING, 8),
]


def test_runs_that_ended_unseen_are_listed_and_interrupted_ones_stay_listed() -> None:
    failed, done = news_of(NEWS)
    assert [each.id for each in failed] == ["limit", "cut off", "failed"]
    assert [each.id for each in done] == ["done2", "done1"]


async def test_waiting_failed_and_finished_runs_are_one_list(shown: Show) -> None:
    inbox = Inbox(shown)
    inbox.engine.set("workflows", "list", [*WORKFLOWS, *NEWS])
    inbox.pane.set_workflow("w1")
    await inbox.begin()
    shown_names = [each.objectName() for each in sorted(inbox.pane._ended.values(), key=lambda card: card.y())]
    assert shown_names == [
        "inbox-ended-limit",
        "inbox-ended-cut off",
        "inbox-ended-failed",
        "inbox-ended-done2",
        "inbox-ended-done1",
    ]
    assert (
        max(card.y() for card in inbox.pane._cards.values())
        < inbox.find("inbox-section-1").y()
        < inbox.find("inbox-ended-limit").y()
    )
    assert [inbox.find(f"inbox-section-{number}").text() for number in range(3)] == [
        "Waiting for you",
        "Failed or interrupted",
        "Finished",
    ]
    assert inbox.find("pending-count").text() == str(len(inbox.pane._cards)), "finished work does not wait for a person"
    assert inbox.find("inbox-ended-failed").accessibleName() == "Failed, failed"
    opened: list[str] = []
    inbox.presenter.workflow_requested.connect(opened.append)
    inbox.find("inbox-show-done1").click()
    assert opened == ["done1"]
    inbox.find("inbox-dismiss-done2").click()
    assert inbox.find("inbox-dismiss-cut off").isHidden(), "it stays until it is continued or stopped"
    await settle()
    assert inbox.engine.calls("workflows.set_unread") == [(("done2", False), {})]
    inbox.engine.set("workflows", "list", WORKFLOWS)
    inbox.pane.reload()
    await settle()
    assert inbox.pane._ended == {}
    assert inbox.find("inbox-section-0").isHidden()
    inbox.window.deleteLater()


async def test_no_card_is_inserted_above_the_one_under_the_pointer(shown: Show) -> None:
    inbox = Inbox(shown)
    await inbox.begin()
    before = inbox.order()
    aim(inbox.pane._area)
    failed = Workflow(id="w9", name="Nine", status=WorkflowStatus.ERROR, unread=True)
    inbox.engine.set("workflows", "list", [*WORKFLOWS, failed])
    inbox.engine.set("questions", "pending", [ask("q0", workflow="w2"), ask("q4", lineage=LINEAGE)])
    inbox.presenter.start()
    inbox.pane.reload()
    await settle(30)
    assert inbox.order() == before
    assert inbox.pane._ended == {}
    leave(inbox.pane._area)
    await settle()
    assert "question:q0" in inbox.order()
    assert list(inbox.pane._ended) == ["w9"]


async def test_a_workflow_stopped_at_a_limit_is_listed_once(shown: Show) -> None:
    inbox = Inbox(shown)
    stopped = AgentNode(run_id="r5", name="Chief", status="paused", pause="limit", limit="tokens")
    inbox.engine.set("teams", "at_work", {"limit": stopped})
    inbox.engine.set("workflows", "list", [*WORKFLOWS, *NEWS])
    inbox.pane.set_workflow("w1")
    await inbox.begin()
    assert "stopped:r5" in inbox.pane._cards
    assert "limit" not in inbox.pane._ended
    assert "failed" in inbox.pane._ended
    inbox.window.deleteLater()


async def test_a_run_whose_models_price_is_unknown_waits_in_the_inbox(shown: Show) -> None:
    inbox = Inbox(shown)
    stopped = AgentNode(run_id="r5", name="Chief", status="paused", pause="limit", limit="unpriced")
    inbox.engine.set("teams", "at_work", {"w2": stopped})
    await inbox.begin()
    card = inbox.find("inbox-stopped-r5")
    assert "The price of the model is unknown" in card.accessibleName()
    assert inbox.find("inbox-show-r5").text().endswith("Two")
    assert inbox.find("pending-count").text() == "4"
    with_price: list[str] = []
    inbox.presenter.price_requested.connect(with_price.append)
    child(card, QPushButton, "notice-enter-price").click()
    assert with_price == ["r5"]
    child(card, QPushButton, "notice-allow-unpriced").click()
    await settle()
    assert inbox.engine.calls("runs.steering.resume") == [(("r5",), {"raise_limits": {"unpriced": 1.0}})]
    event = StreamEvent(workflow_id="w2", run_id="r5", chunk_type=ChunkType.RUN_STATUS, data={"status": "processing"})
    inbox.bridge.stream_event.emit(event)
    await settle()
    assert "stopped:r5" not in inbox.pane._cards
    assert inbox.find("pending-count").text() == "3"
    inbox.window.deleteLater()


async def test_a_long_workflow_name_is_elided_and_the_buttons_of_a_limit_stay_in_view(
    shown: Show,
) -> None:
    inbox = Inbox(shown)
    long = "The annual accounts of Martin & Sons, with every invoice of the last twelve months and a summary"
    inbox.engine.set("workflows", "list", [WORKFLOWS[0], Workflow(id="w2", name=long)])
    inbox.engine.set(
        "teams", "at_work", {"w2": AgentNode(run_id="r5", name="Chief", status="paused", pause="limit", limit="tokens")}
    )
    await inbox.begin()
    inbox.pane.resize(300, 700)
    await settle(30)
    where = inbox.find("inbox-show-r5")
    where.grab()
    assert where.toolTip().endswith(long)
    view = inbox.pane._area.viewport()
    for each in inbox.find("inbox-stopped-r5").findChildren(QPushButton):
        if each.isVisible():
            assert each.mapTo(view, each.rect().topRight()).x() < view.width(), each.objectName()
    stopped = StreamEvent(workflow_id="w2", run_id="r5", chunk_type=ChunkType.RUN_STATUS, data={"status": "cancelled"})
    inbox.bridge.stream_event.emit(stopped)
    await settle()
    assert "stopped:r5" not in inbox.pane._cards
    inbox.window.deleteLater()


async def test_a_memory_that_waits_for_a_yes_is_kept_from_the_inbox(shown: Show) -> None:
    inbox = Inbox(shown)
    stored = [
        Memory(id=id, type=MemoryType.USER_PREF, content=text, workflow_id="w2", proposed=True)
        for id, text in (("m1", "Likes short answers."), ("m2", "Lives in Lyon."))
    ]
    inbox.engine.set("memories", "proposed", lambda limit: list(stored))
    await inbox.begin()
    count = int(inbox.find("pending-count").text())
    card = inbox.find("inbox-memory-m1")
    assert "Likes short answers." in [each.text() for each in card.findChildren(QLabel)]
    assert inbox.find("inbox-show-m1").text().endswith("Two")

    def accept(id: str, everywhere: bool, content: str) -> None:
        assert (id, everywhere, content) == ("m1", True, "Likes short answers.")
        del stored[0]
        inbox.bridge.changed.emit("memory", id)

    inbox.engine.set("memories", "accept", accept)
    child(card, QPushButton, "memory-keep").click()
    await settle()
    inbox.pane._reload_timer.timeout.emit()
    await settle()
    assert "memory:m1" not in inbox.pane._cards
    assert int(inbox.find("pending-count").text()) == count - 1
    toast = inbox.window.findChild(Toast) or inbox.pane.window().findChild(Toast)
    assert toast is not None
    assert toast.accessibleName() == "Remembered for all workflows"
    inbox.pane.resize(190, 700)
    await settle(30)
    view = inbox.pane._area.viewport()
    for each in inbox.find("inbox-memory-m2").findChildren(QPushButton):
        assert each.isHidden() or each.mapTo(view, each.rect().topRight()).x() < view.width(), each.objectName()
    opened: list[str] = []
    inbox.presenter.workflow_requested.connect(opened.append)
    inbox.find("inbox-show-m2").click()
    assert opened == ["w2"]
    inbox.window.deleteLater()
