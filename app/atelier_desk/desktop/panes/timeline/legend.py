"""The legend of the timeline's colours."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from atelier_desk.desktop.panes.timeline.paint import BAR_COLOURS
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind, bind_text
from atelier_desk.support.i18n import N_, _

_KEYS = (
    (N_("Model"), "model", False),
    (N_("Tool"), "tool", False),
    (N_("Failed"), "failed", False),
    (N_("Waiting for you"), "person", True),
    (N_("Waiting"), "idle", True),
)
"""Label, style, and whether the border is dashed."""


class TimelineKey(QWidget):
    """Samples of the bars with labels, on one line unless given a narrower ``room``."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._room = 0
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        bind(self.updateGeometry)
        bind_text(self, name=N_("Legend"))
        bind(self.update)

    def set_room(self, width: int) -> None:
        """Wrap to this width; 0 for a single line."""
        if width != self._room:
            self._room = width
            self.updateGeometry()
            self.update()

    def _places(self, room: int) -> list[tuple[int, int, str, int]]:
        """Line, left edge, text and text width of each sample."""
        metrics, style = QFontMetrics(theme().font(12)), theme()
        placed: list[tuple[int, int, str, int]] = []
        line, x = 0, 0
        for words, *_rest in _KEYS:
            length = metrics.horizontalAdvance(_(words))
            wide = style.px(16) + 5 + length
            if x and room and x + wide > room:
                line, x = line + 1, 0
            placed.append((line, x, _(words), length))
            x += wide + style.px(12)
        return placed

    def size_in(self, room: int) -> QSize:
        """The size at this width, 0 for unlimited."""
        placed = self._places(room)
        width = max(x + theme().px(16) + 5 + length for _line, x, _text, length in placed)
        return QSize(width, (placed[-1][0] + 1) * theme().px(18))

    def sizeHint(self) -> QSize:
        return self.size_in(self._room)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        style = theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(style.font(12))
        wide, high, row = style.px(16), style.px(9), style.px(18)
        for (line, x, text, length), (_words, name, dashed) in zip(self._places(self._room), _KEYS, strict=True):
            ground, edge, _text = BAR_COLOURS[name]
            painter.setPen(QPen(style.colour(edge), 1, Qt.PenStyle.DashLine if dashed else Qt.PenStyle.SolidLine))
            painter.setBrush(style.colour(ground))
            painter.drawRoundedRect(QRectF(x + 0.5, line * row + (row - high) / 2 + 0.5, wide - 1, high - 1), 3, 3)
            painter.setPen(style.colour("muted"))
            painter.drawText(
                QRectF(x + wide + 5, line * row, length + 2, row), int(Qt.AlignmentFlag.AlignVCenter), text
            )
        painter.end()
