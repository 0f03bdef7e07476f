"""The window with a desktop around it: requests are answered in a notification or the window, whichever comes first."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QCheckBox, QPushButton
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.settings.pages.desktop_integration import QuickPage
from atelier_desk.desktop.system.global_shortcut import GlobalShortcut
from atelier_desk.desktop.system.shortcut_backend import KeyTaken
from atelier_desk.desktop.window import MainWindow
from atelier_desk.domain.approval import ApprovalRequest, ApprovalStatus
from atelier_desk.domain.errors import ConflictError
from atelier_desk.domain.question import QuestionAnswer, QuestionStatus, UserQuestion
from atelier_desk.domain.settings import Settings
from tests.desktop.questions.approval_fixtures import asks, emit_event
from tests.desktop.questions.conftest import ask
from tests.desktop.system.conftest import until
from tests.helpers.accessibility import nameless, out_of_reach
from tests.helpers.fake_bridge import settle
from tests.helpers.fake_dbus_services import FakeNotifications
from tests.helpers.main_window_with_fake_engine import Program


class DesktopHarness(Program):
    """A started window behind others, an engine that stores its data, and a notification server."""

    def __init__(self, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(qtbot)
        self.server = FakeNotifications("actions", "body", "body-markup")
        self.settings = Settings()
        self.questions: dict[str, UserQuestion] = {}
        self.approvals: dict[str, ApprovalRequest] = {}
        monkeypatch.setattr(self.window, "isActiveWindow", lambda: False)
        for service, method, answer in (
            ("settings", "get", lambda: self.settings),
            ("settings", "set", self._set),
            ("questions", "get", self.questions.__getitem__),
            ("questions", "answer", self._answer),
            ("approvals", "get", self.approvals.__getitem__),
            ("approvals", "approve", self._approve),
            ("approvals", "reject", self._reject),
        ):
            self.engine.set(service, method, answer)

    async def open(self) -> DesktopHarness:
        await self.server.start()
        await self.start(workflow="w1")
        await until(lambda: self.window.system.notifications.there)
        return self

    async def _set(self, key: str, value: object) -> None:
        self.settings = self.settings.model_copy(update={key: value})
        await self.window.settings.publish(self.settings)

    def _answer(self, question_id: str, answer: QuestionAnswer) -> None:
        if self.questions[question_id].status is not QuestionStatus.PENDING:
            raise ConflictError("This question was already answered.")
        self.questions[question_id] = self.questions[question_id].model_copy(update={"status": QuestionStatus.ANSWERED})

    def _approve(self, request_id: str, **_more: Any) -> ApprovalRequest:
        return self._decide(request_id, ApprovalStatus.APPROVED)

    def _reject(self, request_id: str, **_more: Any) -> ApprovalRequest:
        return self._decide(request_id, ApprovalStatus.REJECTED)

    def _decide(self, request_id: str, status: ApprovalStatus) -> ApprovalRequest:
        decided = self.approvals[request_id] = self.approvals[request_id].model_copy(update={"status": status})
        return decided

    async def ask(self, question: UserQuestion) -> None:
        self.questions[question.id] = question
        before = len(self.server.calls("Notify"))
        self.bridge.changed.emit("question", question.id)
        await self.wait_notified(before)

    async def request_approval(self, request: ApprovalRequest) -> None:
        self.approvals[request.id] = request
        before = len(self.server.calls("Notify"))
        await emit_event(self.bridge, request)
        await self.wait_notified(before)

    async def wait_notified(self, before: int) -> None:
        """Wait for one more notification than ``before``."""
        await until(lambda: len(self.server.calls("Notify")) > before)
        await self.window.system.notifications.jobs.settled()

    def buttons(self) -> list[str]:
        """Labels of the newest notification's buttons, without its click action."""
        return list(self.server.calls("Notify")[-1][5][3::2])


@pytest.fixture
async def harness(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, daemon: subprocess.Popen[bytes]
) -> AsyncIterator[DesktopHarness]:
    made = await DesktopHarness(qtbot, monkeypatch).open()
    yield made
    made.window.system.stop()
    await made.server.stop()


async def test_an_option_pressed_in_the_notification_answers_the_question(harness: DesktopHarness) -> None:
    await harness.ask(ask("q1"))
    assert harness.buttons() == ["Option 1", "Option 2", "Option 3"]
    assert harness.window.presenter.dialog is not None
    await harness.server.press(7, "1")
    await until(lambda: harness.engine.calls("questions.answer"))
    await settle()
    assert harness.engine.calls("questions.answer") == [(("q1", QuestionAnswer(selected_options=("o2",))), {})]
    assert harness.window.presenter.dialog is None
    await until(lambda: not harness.server.shown)


async def test_an_answer_in_the_window_withdraws_the_notification(harness: DesktopHarness) -> None:
    await harness.ask(ask("q1", kind="checkbox"))
    dialog = harness.window.presenter.dialog
    assert dialog is not None
    QTest.keyClick(dialog, Qt.Key.Key_1)
    QTest.keyClick(dialog, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    await until(lambda: not harness.server.shown)
    assert len(harness.engine.calls("questions.answer")) == 1


async def test_the_first_answer_wins_and_the_second_is_informed(harness: DesktopHarness) -> None:
    await harness.ask(ask("q1"))
    harness.questions["q1"] = harness.questions["q1"].model_copy(update={"status": QuestionStatus.ANSWERED})
    notices: list[str] = []
    harness.window.presenter.notice.connect(notices.append)
    harness.window.presenter.dialog.reject()
    await harness.server.press(7, "0")
    await until(lambda: notices)
    assert notices == ["This question was already answered."]


async def test_a_call_is_allowed_or_rejected_and_the_card_follows(harness: DesktopHarness) -> None:
    await harness.request_approval(asks("v1"))
    assert harness.buttons() == ["Allow once", "Reject"]
    await harness.server.press(7, "0")
    await until(lambda: harness.engine.calls("approvals.approve"))
    await harness.request_approval(asks("v2"))
    await harness.server.press(8, "1")
    await until(lambda: harness.engine.calls("approvals.reject"))
    await until(lambda: len(harness.window.presenter.approvals) == 0 and not harness.server.shown)


async def test_high_risk_is_not_allowed_outside_and_a_click_opens_it(
    harness: DesktopHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.window.new_workflow()
    await settle()
    raised: list[bool] = []
    monkeypatch.setattr(MainWindow, "raise_", lambda _self: raised.append(True))
    await harness.request_approval(asks("v1", risk="high"))
    assert harness.buttons() == ["Reject"]
    await harness.server.press(7, "default")
    await until(lambda: raised)
    await settle()
    assert harness.window.chat.workflow_id == "w1"
    assert harness.engine.calls("approvals.approve") == []


async def test_switched_off_a_notification_has_no_buttons(harness: DesktopHarness) -> None:
    page = await open_page(harness)
    toggle = page.findChild(QCheckBox, "notification-answers")
    assert toggle is not None
    assert toggle.isChecked()
    assert "Buttons let you allow or reject a call" in toggle.accessibleDescription()
    toggle.click()
    await settle()
    await harness.ask(ask("q1"))
    assert harness.buttons() == []


async def test_notifications_are_withdrawn_when_the_program_ends(harness: DesktopHarness) -> None:
    await harness.ask(ask("q1"))
    harness.window.system.stop()
    await until(lambda: not harness.server.shown)


class FakeShortcutBackend:
    """A shortcut backend controlled by the test."""

    def __init__(self) -> None:
        self.pressed: Any = None
        self.changed: Any = None
        self.held = ""
        self.problem: Exception | None = None

    async def hold(self, keys: Any) -> str:
        if self.problem is not None:
            raise self.problem
        self.held = keys.trigger
        return ""

    def release(self) -> None:
        self.held = ""


def usual() -> str:
    """The default shortcut in Qt's notation, whose language another test may have changed."""
    return QKeySequence(Settings().quick_key).toString(QKeySequence.SequenceFormat.NativeText)


async def open_page(program: Program) -> QuickPage:
    program.window.show_settings("quick")
    await settle()
    settings = program.window._settings_window
    assert settings is not None
    page = settings.page("quick")
    assert isinstance(page, QuickPage)
    return page


@pytest.fixture
async def shortcut_harness(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> tuple[DesktopHarness, FakeShortcutBackend]:
    """A window on a system without D-Bus, with a shortcut backend."""
    made, backend = DesktopHarness(qtbot, monkeypatch), FakeShortcutBackend()
    await made.start(workflow="w1")
    shortcut = GlobalShortcut([("windows", backend)], made.window.system)
    shortcut.pressed.connect(made.window.quick_ask)
    made.window.system.shortcut = shortcut
    return made, backend


async def test_the_shortcut_is_off_until_enabled_and_then_opens_quick_ask(
    shortcut_harness: tuple[DesktopHarness, FakeShortcutBackend], qtbot: QtBot
) -> None:
    harness, backend = shortcut_harness
    page = await open_page(harness)
    words = page._key_row.hint
    assert words.text() == "Off: no system-wide shortcut."
    assert not page.field.isEnabled()
    page.findChild(QCheckBox, "quick-key-on").click()  # type: ignore[union-attr]
    await settle()
    assert backend.held == "CTRL+ALT+space"
    assert words.text() == f"Registered in Windows: {usual()}. Other programs cannot use this shortcut."
    backend.pressed()
    assert harness.window._quick is not None
    assert harness.window._quick.isVisible()
    qtbot.addWidget(harness.window._quick)


async def test_another_key_is_chosen_and_one_of_the_window_is_refused(
    shortcut_harness: tuple[DesktopHarness, FakeShortcutBackend], qtbot: QtBot
) -> None:
    harness, backend = shortcut_harness
    page = await open_page(harness)
    page.findChild(QCheckBox, "quick-key-on").click()  # type: ignore[union-attr]
    await settle()

    async def record(key: Qt.Key, held: Qt.KeyboardModifier) -> None:
        page.field.button.click()
        QTest.keyClick(page.field.edit, key, held)
        qtbot.waitUntil(lambda: page.field.edit.isHidden())
        await settle()

    await record(Qt.Key.Key_J, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier)
    assert backend.held == "CTRL+ALT+j"
    assert page.field.button.text() == "Ctrl+Alt+J"
    await record(Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    assert backend.held == "CTRL+ALT+j"
    assert "is already used by “Command palette”" in page._key_row.hint.text()
    page.field.reset.click()
    await settle()
    assert backend.held == "CTRL+ALT+space"


async def test_keys_in_use_are_reported_and_can_be_tried_again(
    shortcut_harness: tuple[DesktopHarness, FakeShortcutBackend],
) -> None:
    harness, backend = shortcut_harness
    backend.problem = KeyTaken()
    page = await open_page(harness)
    page.findChild(QCheckBox, "quick-key-on").click()  # type: ignore[union-attr]
    await settle()
    assert page._key_row.hint.text().startswith(f"{usual()} is used by another program.")
    again = page.findChild(QPushButton, "quick-key-again")
    assert again is not None
    assert again.isVisible()
    backend.problem = None
    again.click()
    await settle()
    assert backend.held
    assert not again.isVisible()
    page.findChild(QCheckBox, "quick-key-on").click()  # type: ignore[union-attr]
    await settle()
    assert backend.held == ""


async def test_without_d_bus_the_page_explains_it_and_everything_works(
    shortcut_harness: tuple[DesktopHarness, FakeShortcutBackend],
) -> None:
    harness, _backend = shortcut_harness
    page = await open_page(harness)
    description = page.findChild(QCheckBox, "notification-answers").accessibleDescription()  # type: ignore[union-attr]
    assert description.startswith("Not available here")
    assert description.endswith("No D-Bus session is running here.")
    assert nameless(page) == []
    assert out_of_reach(page) == []
