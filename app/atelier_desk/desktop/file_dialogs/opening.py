"""Open a file or folder with the system's program for it; one that cannot be opened is named in a toast."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication

from atelier_desk.desktop.widgets import ToastHost
from atelier_desk.support.i18n import _

_SEEN_MS = 15_000


def open_path(toasts: ToastHost, path: Path) -> None:
    """Open a file or folder, or say that it could not be opened."""
    try:
        # A program that opens paths may be there for missing ones too: it would show its own error, or none.
        there = path.exists()
    except OSError:  # in a folder that may not be entered
        there = False
    if not (there and QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))):
        show_not_opened(toasts, str(path))


def show_not_opened(toasts: ToastHost, place: str) -> None:
    """Name the path or address that no program opened, and offer to copy it."""
    toasts.show(
        _("Could not open {path}", path=place),
        _("Copy"),
        lambda: QGuiApplication.clipboard().setText(place),
        duration_ms=_SEEN_MS,
    )
