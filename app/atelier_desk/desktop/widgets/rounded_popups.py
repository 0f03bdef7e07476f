"""Rounded corners of floating windows: popups of combo boxes and the command palette."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainterPath, QRegion
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.theme import theme

RADIUS = 8
"""Radius for popups of combo boxes, in logical pixels, as in their style."""


def round_popup(window: QWidget, radius: int = RADIUS) -> None:
    """Mask the corners of a window at its current size.

    A mask works without a compositor too, where a translucent window has black corners. No effect if popups are
    square.
    """
    if theme().square_popups:
        return
    path = QPainterPath()
    path.addRoundedRect(QRectF(window.rect()), radius, radius)
    window.setMask(QRegion(path.toFillPolygon().toPolygon()))
