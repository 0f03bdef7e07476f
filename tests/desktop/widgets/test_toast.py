"""Toasts: one at a time, undone or expired, never both."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.bridge.jobs import error_text
from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.settings.progress_line import Busy
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import ToastHost
from atelier_desk.domain.errors import AtelierError
from tests.helpers.fake_bridge import FakeBridge


def test_action_runs_and_expiry_does_not(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    done: list[str] = []
    toast = ToastHost(window).show("Deleted", "Undo", lambda: done.append("undo"), expired=lambda: done.append("gone"))
    QTest.mouseClick(toast.button, Qt.MouseButton.LeftButton)
    assert done == ["undo"]


def test_a_new_toast_replaces_and_expires_the_old_one(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    done: list[str] = []
    host = ToastHost(window)
    host.show("first", expired=lambda: done.append("first"))
    second = host.show("second", expired=lambda: done.append("second"))
    assert done == ["first"]
    second.dismiss()
    assert done == ["first", "second"]


class Window(QWidget):
    """A window that is active if ``front`` says so."""

    front = False

    def isActiveWindow(self) -> bool:
        return self.front

    def turn(self, front: bool) -> None:
        self.front = front
        kind = QEvent.Type.WindowActivate if front else QEvent.Type.WindowDeactivate
        QCoreApplication.sendEvent(self, QEvent(kind))


@pytest.fixture
def window(qtbot: QtBot) -> Window:
    made = Window()
    qtbot.addWidget(made)
    made.resize(600, 400)
    made.show()
    return made


def test_a_lasting_toast_waits_until_it_is_seen(window: Window) -> None:
    toast = ToastHost(window).show("Done", lasting=True)
    assert not toast.timer.isActive()
    window.turn(True)
    assert toast.timer.isActive()
    window.turn(False)
    assert not toast.timer.isActive()
    assert toast.isVisible()


def test_a_lasting_toast_comes_back_after_another(window: Window) -> None:
    host = ToastHost(window)
    first, second = host.show("First", lasting=True), host.show("Second", lasting=True)
    passing = host.show("Saved")
    assert [each.isVisible() for each in (first, second, passing)] == [False, False, True]
    passing.dismiss()
    assert [each.isVisible() for each in (first, second)] == [False, True]
    window.turn(True)
    close = second.findChild(QToolButton, "toast-close")
    assert close is not None
    assert close.accessibleName() == "Close"
    close.click()
    assert first.isVisible()
    assert first.timer.isActive()


def test_a_toast_is_higher_above_larger_text(window: Window) -> None:
    host = ToastHost(window, bottom=100)
    low = host.show("Saved")
    assert window.height() - low.geometry().bottom() - 1 == 100
    theme().set_scale(150)
    high = host.show("Saved")
    assert window.height() - high.geometry().bottom() - 1 == 125


def test_a_toast_is_centred_on_the_part_below_it(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(1000, 600)
    part = QWidget(window)
    part.setGeometry(300, 0, 400, 500)
    host = ToastHost(window, bottom=100)
    host.stand_over(part)
    window.show()
    toast = host.show("Done")
    assert abs(toast.geometry().center().x() - part.geometry().center().x()) <= 1
    assert toast.geometry().bottom() == 500 - 100 - 1
    part.setGeometry(0, 0, 600, 600)
    assert abs(toast.geometry().center().x() - 300) <= 1
    part.setGeometry(0, 0, 10, 600)
    assert toast.x() == 0  # never outside the window


@pytest.mark.parametrize("error", [AtelierError("There is no agent {name}.", name="Zoé"), ValueError("x" * 90)])
def test_an_error_is_shown_in_the_current_language(qtbot: QtBot, error: Exception) -> None:
    """As a toast, also if it came by a signal of the bridge, and as the note of a page."""
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(900, 300)
    host, busy, bridge = ToastHost(window), Busy(window), FakeBridge()
    window.show()
    bridge.failed.connect(host.show)
    bridge.failed.emit(error_text(error))
    toast = host.current
    assert toast is not None
    busy.note(error_text(error), "error")
    english = toast.accessibleName()
    for code in ("fr", "en"):
        switch_language(code)
        assert (toast.accessibleName() == english) is (code == "en")
        assert [label.text() for label in toast.findChildren(QLabel)] == [toast.accessibleName()] == [busy.text.text()]
        assert abs(toast.geometry().center().x() - window.rect().center().x()) <= 1, "it stays in the middle"
