"""Padding of the text of spin boxes, which the style sheet does not reach."""

from __future__ import annotations

from PySide6.QtWidgets import QAbstractSpinBox

from atelier_desk.desktop.theme import theme


def pad(spin: QAbstractSpinBox) -> None:
    """Add padding to a spin box's text, since the style sheet's padding does not reach its line edit."""
    spin.lineEdit().setTextMargins(theme().px(7), 0, 0, 0)
