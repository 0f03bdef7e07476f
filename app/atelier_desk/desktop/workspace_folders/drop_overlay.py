"""Shows where something dragged over the window may be dropped."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QVBoxLayout, QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import fill, label

_MARGIN, _RADIUS = 8, 14
"""Pixels at 100 %."""


class DropHighlight(QWidget):
    """``drop-highlight``: a frame with a text over part of a window; mouse and drops pass through it."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setObjectName("drop-highlight")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._text = label("", "strong", self, wrap=True)
        self._text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        fill(QVBoxLayout(self), self._text)
        self.hide()

    def show_over(self, part: QRect, text: str) -> None:
        """Cover a rectangle of the window, above its other children."""
        self._text.setText(text)
        self.setGeometry(part)
        self.show()
        self.raise_()

    def paintEvent(self, event: QPaintEvent) -> None:
        style = theme()
        ground, accent = QColor(style.colour("accent_soft")), style.colour("accent")
        ground.setAlpha(240)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(accent, 2, Qt.PenStyle.DashLine))
        painter.setBrush(ground)
        margin = style.px(_MARGIN)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(margin, margin, -margin, -margin), _RADIUS, _RADIUS)
        painter.end()
