"""Small corrections to Qt's own fields that every form needs."""

from __future__ import annotations

from PySide6.QtWidgets import QAbstractSpinBox

from atelier_desk.desktop.theme import theme


def pad(spin: QAbstractSpinBox) -> None:
    """Keep a spin box's text off its border: the style sheet's padding does not reach the line edit inside."""
    spin.lineEdit().setTextMargins(theme().px(7), 0, 0, 0)
