"""Bar charts: vertical bars along time, or horizontal bars with names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QHelpEvent, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.theme.design_tokens import blend
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.support.i18n import _
from atelier_desk.support.visible_and_shortened_text import visible

HEIGHT = 180
"""Height of vertical bars, in pixels at 100 %."""
ROW = 26
"""Height of a horizontal bar with its name."""
NAMES = 0.36
"""Maximum share of the width for names."""
PALER = 0.55
"""Opacity of the accent colour in the second part of a bar."""
WIDEST = 44
"""Maximum width of a vertical bar: a single day does not fill the chart."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: its name, the lengths of its parts from the base, and its value in words."""

    name: str
    parts: tuple[float, ...]
    text: str

    @property
    def length(self) -> float:
        return sum(self.parts)


class BarChart(QWidget):
    """``upright`` bars are labelled with the highest value and a few names.

    Horizontal bars with all names and values.

    It visualizes a table shown next to it; its accessible description summarizes it.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.bars: list[Bar] = []
        self._upright = True
        self._places: list[tuple[QRectF, Bar]] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme().changed.connect(self.updateGeometry)

    def show_bars(self, bars: Sequence[Bar], *, upright: bool) -> None:
        """Show these bars."""
        self.bars, self._upright = list(bars), upright
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(theme().px(240), theme().px(HEIGHT if self._upright else ROW * max(1, len(self.bars)) + 4))

    def minimumSizeHint(self) -> QSize:
        return QSize(theme().px(120), self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(theme().font(12))
        self._places = []
        if self.bars:
            (self._paint_upright if self._upright else self._paint_lying)(painter)
        painter.end()

    def _colours(self) -> list[QColor]:
        """Colours of the parts: upper ones are paler, but distinct from the background."""
        tokens = theme().tokens
        return [QColor(tokens.accent), QColor(blend(tokens.accent, tokens.surface, PALER))]

    def _paint_upright(self, painter: QPainter) -> None:
        metrics, tokens = QFontMetrics(theme().font(12)), theme().tokens
        line = metrics.height()
        room = QRectF(0, line + 6, self.width(), self.height() - 2 * line - 14)
        most = max(bar.length for bar in self.bars) or 1.0
        painter.setPen(QColor(tokens.border))
        painter.drawLine(QPointF(0, room.bottom() + 0.5), QPointF(self.width(), room.bottom() + 0.5))
        step = room.width() / len(self.bars)
        wide = max(1.0, min(step * 0.72, theme().px(WIDEST)))
        free = -1.0
        highest = max(range(len(self.bars)), key=lambda number: self.bars[number].length)
        for number, bar in enumerate(self.bars):
            middle = step * (number + 0.5)
            box = QRectF(middle - wide / 2, room.top(), wide, room.height())
            self._places.append((QRectF(step * number, 0, step, self.height()), bar))
            high = room.height() * bar.length / most
            self._paint_bar(painter, QRectF(box.left(), room.bottom() - high, wide, high), bar, lying=False)
            width = metrics.horizontalAdvance(bar.name)
            left = min(max(0.0, middle - width / 2), self.width() - width)
            if left > free:
                painter.setPen(QColor(tokens.muted))
                painter.drawText(
                    QRectF(left, room.bottom() + 6, width + 1, line), int(Qt.AlignmentFlag.AlignLeft), bar.name
                )
                free = left + width + theme().px(14)
            if number == highest and bar.length:
                self._paint_value(painter, metrics, middle, bar.text)

    def _paint_value(self, painter: QPainter, metrics: QFontMetrics, middle: float, text: str) -> None:
        width = metrics.horizontalAdvance(text)
        left = min(max(0.0, middle - width / 2), self.width() - width)
        painter.setPen(QColor(theme().tokens.text))
        painter.drawText(QRectF(left, 0, width + 1, metrics.height()), int(Qt.AlignmentFlag.AlignLeft), text)

    def _paint_lying(self, painter: QPainter) -> None:
        metrics, tokens = QFontMetrics(theme().font(12)), theme().tokens
        row, gap = theme().px(ROW), theme().px(10)
        names = min(round(self.width() * NAMES), max(metrics.horizontalAdvance(bar.name) for bar in self.bars))
        values = max(metrics.horizontalAdvance(bar.text) for bar in self.bars)
        room = max(theme().px(24), self.width() - names - values - 2 * gap)
        most = max(bar.length for bar in self.bars) or 1.0
        middle = int(Qt.AlignmentFlag.AlignVCenter)
        for number, bar in enumerate(self.bars):
            top = number * row
            self._places.append((QRectF(0, top, self.width(), row), bar))
            painter.setPen(QColor(tokens.text))
            name = metrics.elidedText(visible(bar.name), Qt.TextElideMode.ElideRight, names)
            painter.drawText(QRect(0, top, names, row), middle, name)
            long = room * bar.length / most
            thick = theme().px(12)
            self._paint_bar(painter, QRectF(names + gap, top + (row - thick) / 2, long, thick), bar, lying=True)
            painter.setPen(QColor(tokens.muted))
            painter.drawText(QRect(round(names + 2 * gap + long), top, values + 2, row), middle, bar.text)

    def _paint_bar(self, painter: QPainter, box: QRectF, bar: Bar, *, lying: bool) -> None:
        if bar.length <= 0:
            return
        painter.save()
        shape = QPainterPath()
        shape.addRoundedRect(box, 3, 3)
        painter.setClipPath(shape)
        at = box.left() if lying else box.bottom()
        for part, colour in zip(bar.parts, self._colours(), strict=False):
            size = (box.width() if lying else box.height()) * part / bar.length
            painter.fillRect(
                QRectF(at, box.top(), size, box.height())
                if lying
                else QRectF(box.left(), at - size, box.width(), size),
                colour,
            )
            at += size if lying else -size
        painter.restore()

    def event(self, event: QEvent) -> bool:
        """The tool tip shows the value of the bar under the pointer."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            found = next((bar for place, bar in self._places if place.contains(QPointF(event.pos()))), None)
            if found is not None:
                QToolTip.showText(
                    event.globalPos(), plain_tip(_("{name}: {text}", name=found.name, text=found.text)), self
                )
            else:
                QToolTip.hideText()
            return True
        return super().event(event)
