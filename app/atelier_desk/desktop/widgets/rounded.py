"""Round corners for windows that float: popups of combo boxes and the command palette."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainterPath, QRegion
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.theme import theme

RADIUS = 8
"""Of the popups of combo boxes, in logical pixels: that of their style."""


def round_popup(window: QWidget, radius: int = RADIUS) -> None:
    """Cut the corners off a window of its present size.

    A mask works without a compositor too, where a translucent window has black corners. Nothing is cut where popups are square.
    """
    if theme().square_popups:
        return
    path = QPainterPath()
    path.addRoundedRect(QRectF(window.rect()), radius, radius)
    window.setMask(QRegion(path.toFillPolygon().toPolygon()))
