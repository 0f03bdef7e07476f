"""The widget that receives what is typed."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication, QWidget


def focused() -> QWidget:
    """The widget with the keyboard focus; fails if none has it."""
    widget = QApplication.focusWidget()
    assert widget is not None, "no widget has the focus"
    return widget
