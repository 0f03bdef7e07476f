"""Toasts: one at a time, undone or expired, never both."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.desktop.widgets import ToastHost


def test_action_runs_and_expiry_does_not(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    done: list[str] = []
    toast = ToastHost(window).show("Deleted", "Undo", lambda: done.append("undo"), expired=lambda: done.append("gone"))
    qtbot.mouseClick(toast.button, Qt.MouseButton.LeftButton)
    assert done == ["undo"]


def test_a_new_toast_lets_the_old_one_expire(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    done: list[str] = []
    host = ToastHost(window)
    host.show("first", expired=lambda: done.append("first"))
    second = host.show("second", expired=lambda: done.append("second"))
    assert done == ["first"]
    second.dismiss()
    assert done == ["first", "second"]
