"""Reminders of pending items."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication, QWidget

from atelier_desk.desktop.questions.presenter import QuestionPresenter
from atelier_desk.desktop.questions.reminder import MINUTE_MS, Reminder
from tests.desktop.questions.conftest import ask
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle


@pytest.fixture
def reminder(qapp: QApplication) -> Iterator[Reminder]:
    owner = QObject()
    yield Reminder(owner, lambda: None)
    owner.deleteLater()


def test_reminders_run_while_items_wait_and_restart_with_new_ones(reminder: Reminder) -> None:
    reminder.set_minutes(10)
    assert not reminder.isActive()
    reminder.set_waiting(1)
    timer = reminder.timerId()
    assert reminder.isActive()
    assert reminder.interval() == 10 * MINUTE_MS
    reminder.set_waiting(2)
    assert reminder.timerId() != timer, "new items were just announced"
    timer = reminder.timerId()
    reminder.set_waiting(1)
    assert reminder.timerId() == timer
    reminder.set_waiting(0)
    assert not reminder.isActive()


def test_zero_minutes_disable_reminders(reminder: Reminder) -> None:
    reminder.set_minutes(0)
    reminder.set_waiting(3)
    assert not reminder.isActive()


async def test_pending_items_are_repeated_outside_the_window(host: QWidget, monkeypatch: pytest.MonkeyPatch) -> None:
    atelier = FakeAtelier(questions={"pending": [ask("q1"), ask("q2")]})
    presenter = QuestionPresenter(FakeBridge(atelier), host)
    notified: list[str] = []

    def notify(title: str, text: str, **_more: object) -> bool:
        notified.append(f"{title}: {text}")
        return True

    monkeypatch.setattr(presenter.attention, "notify", notify)
    presenter.set_notifications(True, 10)
    presenter.start()
    await settle()
    assert presenter.reminder.isActive()
    for _again in range(2):
        presenter.reminder.timeout.emit()
    assert notified == ["Atelier: 2 decisions are still waiting for you"] * 2
    presenter.set_notifications(False, 10)
    assert not presenter.reminder.isActive()


async def test_in_a_window_with_another_view_the_reminder_is_a_short_message(host: QWidget) -> None:
    presenter = QuestionPresenter(FakeBridge(FakeAtelier(questions={"pending": [ask("q1")]})), host)
    notices: list[str] = []
    presenter.notice.connect(notices.append)
    presenter.attention.enabled = False
    presenter.start()
    await settle()
    presenter.remind()
    assert notices == ["1 decision is still waiting for you"]
