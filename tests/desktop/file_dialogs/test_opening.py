"""Opening files and folders in other programs."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.file_dialogs.exporting import announce_saved
from atelier_desk.desktop.file_dialogs.opening import open_path
from atelier_desk.desktop.widgets import ToastHost
from tests.helpers.child_widgets import child


@pytest.fixture
def toasts(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> ToastHost:
    """The toasts of a window on a system without a program for files or folders."""
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda _url: False)
    window = QWidget()
    window.resize(900, 400)
    qtbot.addWidget(window)
    return ToastHost(window)


def shown(toasts: ToastHost) -> str:
    return toasts.current.accessibleName() if toasts.current is not None else ""


@pytest.mark.parametrize("button", ["toast-action", "toast-second"])
def test_an_export_that_no_program_opens_is_named(toasts: ToastHost, tmp_path: Path, button: str) -> None:
    path = tmp_path / "letter.docx"
    path.write_bytes(b"x")
    place = str(path if button == "toast-action" else tmp_path)
    announce_saved(toasts, path)
    assert toasts.current is not None
    QTest.mouseClick(child(toasts.current, QPushButton, button), Qt.MouseButton.LeftButton)
    assert shown(toasts) == f"Could not open {place}"
    QTest.mouseClick(toasts.current.button, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == place


def test_a_missing_folder_is_not_left_to_another_program(
    toasts: ToastHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda _url: True)
    open_path(toasts, tmp_path)
    assert toasts.current is None
    open_path(toasts, tmp_path / "deleted")
    assert shown(toasts) == f"Could not open {tmp_path / 'deleted'}"


def test_a_folder_that_may_not_be_entered_is_named(
    toasts: ToastHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(_path: Path) -> bool:
        raise PermissionError

    monkeypatch.setattr(Path, "exists", forbidden)
    open_path(toasts, tmp_path / "inside")
    assert shown(toasts) == f"Could not open {tmp_path / 'inside'}"
