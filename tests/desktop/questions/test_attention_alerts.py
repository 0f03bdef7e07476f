"""Notifications while the window is not active."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.questions.attention import Attention
from atelier_desk.desktop.system.notification import Action, Notice


@pytest.fixture
def attention(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> Attention:
    window = QWidget()
    qtbot.addWidget(window)
    monkeypatch.setattr(window, "isActiveWindow", lambda: False)
    return Attention(window)


def test_a_click_performs_the_newest_notifications_action(attention: Attention) -> None:
    done: list[str] = []
    attention.activated.connect(lambda: done.append("shown"))
    assert attention.notify("Atelier", "“First” is done", lambda: done.append("opened"))
    attention.click()
    attention.click()
    attention.notify("Ada", "Which one?")
    attention.click()
    assert done == ["opened", "shown", "shown"]


def test_nothing_is_shown_when_active_or_switched_off(attention: Attention, monkeypatch: pytest.MonkeyPatch) -> None:
    attention.enabled = False
    assert not attention.notify("Atelier", "done")
    attention.enabled = True
    monkeypatch.setattr(attention._window, "isActiveWindow", lambda: True)
    assert not attention.notify("Atelier", "done")


@pytest.mark.parametrize("active", [False, True])
def test_screen_readers_announce_it_in_any_case(
    attention: Attention, monkeypatch: pytest.MonkeyPatch, active: bool
) -> None:
    announced: list[tuple[str, QAccessible.AnnouncementPoliteness]] = []
    monkeypatch.setattr(
        QAccessible,
        "updateAccessibility",
        staticmethod(lambda event: announced.append((event.message(), event.politeness()))),
    )
    monkeypatch.setattr(attention._window, "isActiveWindow", lambda: active)
    attention.notify("Atelier", "“First” is done")
    attention.show(Notice("Ada has a question", "Which one?", lambda: None, "q", (Action("This one", lambda: None),)))
    polite, assertive = QAccessible.AnnouncementPoliteness.Polite, QAccessible.AnnouncementPoliteness.Assertive
    assert announced == [("Atelier: “First” is done", polite), ("Ada has a question: Which one?", assertive)]
