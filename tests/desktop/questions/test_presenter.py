"""The presenter: FIFO per workflow, one dialog per view, drafts, errors, visible time, notifications."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QSystemTrayIcon, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.questions.presenter import QuestionPresenter
from atelier_desk.domain.errors import ConflictError, NotFoundError
from atelier_desk.domain.question import QuestionAnswer, QuestionStatus, UserQuestion
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from tests.desktop.questions.approval_fixtures import asks, emit_event
from tests.desktop.questions.conftest import ask
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle


class Time:
    """A monotonic clock set by the test."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Stage:
    """A window with the views of two workflows, a presenter, and an engine that stores questions."""

    def __init__(self, window: QWidget, questions: list[UserQuestion]) -> None:
        self.stored = {q.id: q for q in questions}
        self.atelier = FakeAtelier(
            questions={
                "pending": self._pending,
                "get": self.stored.__getitem__,
                "answer": self._answer,
                "skip": self._skip,
            }
        )
        self.bridge = FakeBridge(self.atelier)
        self.time = Time()
        self.window = window
        self.views = {"w1": QWidget(window), "w2": QWidget(window)}
        layout = window.layout() or QVBoxLayout(window)
        for view in self.views.values():
            layout.addWidget(view)
        self.presenter = QuestionPresenter(self.bridge, window, monotonic=self.time)
        self.notices: list[str] = []
        self.presenter.notice.connect(self.notices.append)

    def _pending(self, *_: Any) -> list[UserQuestion]:
        return [q for q in self.stored.values() if q.status is QuestionStatus.PENDING]

    def _close(self, question_id: str, status: QuestionStatus) -> None:
        self.stored[question_id] = self.stored[question_id].model_copy(update={"status": status})

    def _answer(self, question_id: str, _answer: QuestionAnswer) -> None:
        self._close(question_id, QuestionStatus.ANSWERED)

    def _skip(self, question_id: str) -> None:
        self._close(question_id, QuestionStatus.SKIPPED)

    async def show(self, workflow_id: str) -> None:
        for key, view in self.views.items():
            view.setVisible(key == workflow_id)
        self.presenter.set_view(workflow_id, self.views[workflow_id])
        await settle()

    async def begin(self, workflow_id: str = "w1") -> None:
        self.presenter.start()
        await self.show(workflow_id)

    async def ask(self, question: UserQuestion) -> None:
        self.stored[question.id] = question
        self.bridge.changed.emit("question", question.id)
        await settle()

    async def complete(self, question_id: str, status: str) -> None:
        self._close(question_id, QuestionStatus(status))
        self.bridge.changed.emit("question", question_id)
        await settle()

    def press(self, key: Qt.Key) -> None:
        assert self.presenter.dialog is not None
        QTest.keyClick(self.presenter.dialog, key)

    def find(self, name: str) -> Any:
        assert self.presenter.dialog is not None
        return self.presenter.dialog.findChild(QWidget, name)

    @property
    def shown(self) -> str:
        dialog = self.presenter.dialog
        return dialog.question.id if dialog is not None and dialog.isVisible() else ""

    @property
    def place(self) -> str:
        return str(self.find("question-place").text())


StageMaker = Callable[..., Stage]


@pytest.fixture
def stage(host: QWidget) -> StageMaker:
    return lambda *questions: Stage(host, list(questions))


async def test_pending_questions_are_asked_again_after_a_start_in_order(stage: StageMaker) -> None:
    s = stage(ask("q2"), ask("q1"), ask("q3", workflow="w2"))
    await s.begin()
    assert (s.shown, s.place) == ("q1", "question 1 / 2")
    s.press(Qt.Key.Key_2)
    QTest.mouseClick(s.find("question-submit"), Qt.MouseButton.LeftButton)
    await settle()
    assert s.atelier.calls("questions.answer") == [(("q1", QuestionAnswer(selected_options=("o2",))), {})]
    assert (s.shown, s.place) == ("q2", "question 2 / 2")
    QTest.mouseClick(s.find("question-skip"), Qt.MouseButton.LeftButton)
    await settle()
    assert s.atelier.calls("questions.skip") == [(("q2",), {})]
    assert s.shown == ""
    assert [q.id for q in s.presenter.queue.pending()] == ["q3"]


async def test_a_question_covers_only_its_workflow_and_preserves_input(stage: StageMaker, qtbot: QtBot) -> None:
    s = stage(ask("q1"))
    await s.begin("w2")
    assert s.shown == ""
    await s.show("w1")
    assert s.shown == "q1"
    s.find("question-answer").setPlainText("half")
    await s.show("w2")
    assert s.shown == ""
    assert s.views["w2"].isEnabled()
    await s.show("w1")
    assert s.shown == "q1"
    assert s.find("question-answer").toPlainText() == "half"
    assert QApplication.activeModalWidget() is None


async def test_later_stays_in_the_inbox_with_its_draft_and_can_be_opened(stage: StageMaker) -> None:
    s = stage(ask("q1"), ask("q2"))
    await s.begin()
    s.find("question-answer").setPlainText("draft")
    s.press(Qt.Key.Key_Escape)
    await settle()
    assert s.shown == "q2"
    s.press(Qt.Key.Key_Escape)
    await settle()
    assert s.shown == ""
    assert [q.id for q in s.presenter.queue.pending()] == ["q1", "q2"]
    assert s.atelier.calls("questions.answer") == s.atelier.calls("questions.skip") == []
    s.presenter.open("q1")
    await settle()
    assert s.shown == "q1"
    assert s.find("question-answer").toPlainText() == "draft"


async def test_opening_a_question_of_another_workflow_opens_that_workflow(stage: StageMaker, qtbot: QtBot) -> None:
    s = stage(ask("q1", workflow="w2"))
    await s.begin("w1")
    with qtbot.waitSignal(s.presenter.workflow_requested) as requested:
        s.presenter.open("q1")
    assert requested.args == ["w2"]
    s.presenter.open("gone")
    assert s.notices == ["This question is no longer open."]


async def test_an_error_keeps_the_dialog_and_the_answer(stage: StageMaker) -> None:
    s = stage(ask("q1"))
    s.atelier.set("questions", "answer", ConflictError("The question is no longer open: {status}.", status="timeout"))
    await s.begin()
    s.press(Qt.Key.Key_1)
    QTest.mouseClick(s.find("question-submit"), Qt.MouseButton.LeftButton)
    await settle()
    assert s.shown == "q1"
    assert s.find("question-error").text() == "The question is no longer open: timeout."
    assert s.find("question-option-o1").isChecked()


async def test_new_questions_queue_up_and_answers_from_elsewhere_close_the_dialog(stage: StageMaker) -> None:
    s = stage()
    await s.begin()
    totals: list[int] = []
    s.presenter.pending_changed.connect(totals.append)
    await s.ask(ask("q1"))
    await s.ask(ask("q2"))
    assert (s.shown, s.place) == ("q1", "question 1 / 2")
    await s.complete("q1", "answered")
    assert (s.shown, s.place) == ("q2", "question 2 / 2")
    await s.complete("q2", "timeout")
    assert s.shown == ""
    assert totals[-1] == 0
    assert s.notices == ["A question was not answered in time."]


async def test_questions_asked_at_once_keep_their_order_however_fast_they_load(stage: StageMaker) -> None:
    s = stage()
    await s.begin()
    slow = asyncio.get_running_loop().create_future()

    async def get(question_id: str) -> UserQuestion:
        if question_id == "q1":
            await slow
        return s.stored[question_id]

    s.atelier.set("questions", "get", get)
    first, second = (asyncio.create_task(s.ask(ask(name))) for name in ("q1", "q2"))
    await asyncio.wait([second], timeout=1)
    slow.set_result(None)
    await first
    await second
    await settle()
    assert (s.shown, s.place) == ("q1", "question 1 / 2")


async def test_only_visible_time_counts_and_is_reported(stage: StageMaker) -> None:
    s = stage(ask("q1", timeout_s=60.0, seen_ms=10_000))
    await s.begin()
    assert s.find("question-time").text() == "0:50 left"
    s.time.now += 4
    s.presenter.tick()
    assert s.find("question-time").text() == "0:46 left"
    assert s.atelier.calls("questions.seen") == []
    await s.show("w2")
    assert s.atelier.calls("questions.seen") == [(("q1", 4000), {})]
    s.time.now += 500
    s.presenter.tick()
    await s.show("w1")
    assert s.find("question-time").text() == "0:46 left"
    s.window.showMinimized()
    s.time.now += 8
    s.presenter.tick()
    assert s.find("question-time").text() == "0:46 left"
    s.window.showNormal()
    s.presenter.tick()
    s.time.now += 6
    s.presenter.tick()
    await settle()
    assert s.atelier.calls("questions.seen")[1:] == [(("q1", 6000), {})]
    assert s.find("question-time").text() == "0:40 left"


async def test_the_window_title_counts_questions_while_the_window_is_inactive(
    stage: StageMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = stage(ask("q1"))
    active = [False]
    alerts: list[QWidget] = []
    monkeypatch.setattr(s.window, "isActiveWindow", lambda: active[0])
    monkeypatch.setattr(QApplication, "alert", lambda widget, *_: alerts.append(widget))
    await s.begin()
    await s.ask(ask("q2"))
    assert s.window.windowTitle() == "(2) Atelier"
    assert alerts == [s.window]
    active[0] = True
    s.presenter.attention.update_title()
    assert s.window.windowTitle() == "Atelier"
    await s.ask(ask("q3"))
    assert len(alerts) == 1
    active[0] = False
    s.presenter.set_notifications(False)
    await s.ask(ask("q4"))
    assert len(alerts) == 1
    assert s.window.windowTitle() == "(4) Atelier"


async def test_an_absent_user_is_notified_also_when_the_list_loads_before_the_event(
    stage: StageMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = stage(ask("q0"))
    called: list[str] = []
    monkeypatch.setattr(s.presenter.attention, "show", lambda notice: called.append(notice.about))
    await s.begin()
    s.stored["q1"] = ask("q1")
    s.presenter.start()  # as a change of the workflow does
    await settle()
    await s.ask(s.stored["q1"])
    await s.ask(s.stored["q1"])
    await s.ask(s.stored["q0"])
    assert called == ["q1"], "once, and not for what waited at the start"


async def test_a_tray_notification_names_the_agent_and_opens_the_question(
    stage: StageMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = stage()
    shown: list[tuple[str, str]] = []
    monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", staticmethod(lambda: True))
    monkeypatch.setattr(QSystemTrayIcon, "supportsMessages", staticmethod(lambda: True))
    monkeypatch.setattr(QSystemTrayIcon, "showMessage", lambda self, title, text, *_: shown.append((title, text)))
    monkeypatch.setattr(s.window, "isActiveWindow", lambda: False)
    await s.begin()
    await s.ask(ask("q1", question="long " * 100))
    title, text = shown[0]
    assert title == "Architect has a question"
    assert len(text) == 200
    s.presenter.dialog.reject()  # type: ignore[union-attr]
    s.presenter.attention.activated.emit()
    await settle()
    assert s.shown == "q1"


async def test_widgets_under_the_dialog_cannot_get_the_focus(stage: StageMaker, qtbot: QtBot) -> None:
    s = stage(ask("q1", kind="text"))
    under, elsewhere = QLineEdit(s.views["w1"]), QLineEdit(s.views["w2"].parentWidget())
    under.show()
    await s.begin()
    s.window.activateWindow()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is not None)
    under.setFocus()
    focused = QApplication.focusWidget()
    assert focused is not None
    assert focused.objectName() == "question-answer"
    elsewhere.show()
    elsewhere.setFocus()
    assert QApplication.focusWidget() is elsewhere


@pytest.mark.parametrize("deleted", [False, True])
async def test_an_answer_from_another_program_closes_the_dialog(stage: StageMaker, deleted: bool) -> None:
    s = stage(ask("q1"))
    await s.begin()
    if deleted:
        s.atelier.set("questions", "get", NotFoundError("There is no question {id}.", id="q1"))
    await s.complete("q1", "answered")
    assert s.shown == ""
    assert s.notices == []


async def test_many_changed_workflows_cause_one_reload(stage: StageMaker, qtbot: QtBot) -> None:
    s = stage(ask("q1"))
    await s.begin()
    s.stored.clear()
    for _ in range(3):
        s.bridge.changed.emit("workflow", "w1")
    before = len(s.atelier.calls("questions.pending"))
    qtbot.waitUntil(lambda: not s.presenter._reload_timer.isActive())
    await settle()
    assert len(s.atelier.calls("questions.pending")) == before + 1
    assert s.shown == ""


async def test_approvals_and_agents_that_ask_call_for_attention_too(
    stage: StageMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = stage(ask("q5"))
    shown: list[tuple[str, str]] = []
    monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", staticmethod(lambda: True))
    monkeypatch.setattr(QSystemTrayIcon, "supportsMessages", staticmethod(lambda: True))
    monkeypatch.setattr(QSystemTrayIcon, "showMessage", lambda self, title, text, *_: shown.append((title, text)))
    monkeypatch.setattr(s.window, "isActiveWindow", lambda: False)
    await s.begin()
    s.atelier.set("approvals", "get", asks("v1", workflow="w2"))
    await emit_event(s.bridge, asks("v1", workflow="w2"))
    data = {"sub_agent_id": "r9", "sub_agent_name": "Tester", "question": "All tests?"}
    s.bridge.stream_event.emit(
        StreamEvent(workflow_id="w1", run_id="r", chunk_type=ChunkType.SUB_AGENT_QUESTION, data=data)
    )
    await settle()
    text = "operation: create · name: Read the registry · priority: 2"
    assert shown == [("Checker wants to use TodoTool · create", text), ("Tester has a question", "All tests?")]
    assert s.window.windowTitle() == "(3) Atelier"
    requested: list[str] = []
    s.presenter.workflow_requested.connect(requested.append)
    s.presenter.inbox_requested.connect(lambda: requested.append("inbox"))
    s.presenter.dialog.reject()  # type: ignore[union-attr]
    s.presenter.attention.activated.emit()
    assert requested == ["inbox"], "of several things the inbox is the list"


async def test_a_card_under_an_open_question_is_covered(stage: StageMaker) -> None:
    s = stage()
    await s.begin()
    under, elsewhere = QLineEdit(s.views["w1"]), QLineEdit(s.window)
    assert not s.presenter.approvals.covered(under)
    await s.ask(ask("q1"))
    assert s.presenter.approvals.covered(under)
    assert not s.presenter.approvals.covered(elsewhere)
