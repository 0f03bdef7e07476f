"""What the colours of the timeline mean."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.desktop.panes.timeline_paint import BAR_COLOURS
from app.desktop.theme import theme
from app.desktop.widgets import Translated
from app.i18n import N_, _

_KEYS = (
    (N_("Model"), "model", False),
    (N_("Tool"), "tool", False),
    (N_("Failed"), "failed", False),
    (N_("Waits for a person"), "person", True),
    (N_("Waits"), "idle", True),
)
"""Words, look, and whether the edge is dashed."""


class TimelineKey(Translated, QWidget):
    """Small samples of the bars with their meaning, on one line."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme().changed.connect(self.updateGeometry)
        self.retranslate()

    def _texts(self) -> list[tuple[str, int]]:
        metrics = QFontMetrics(theme().font(12))
        return [(_(words), metrics.horizontalAdvance(_(words))) for words, *_rest in _KEYS]

    def sizeHint(self) -> QSize:
        width = sum(theme().px(16) + 5 + wide + theme().px(12) for _text, wide in self._texts())
        return QSize(width, theme().px(18))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        look = theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(look.font(12))
        x = 0.0
        wide, high = look.px(16), look.px(9)
        for (text, length), (_words, name, dashed) in zip(self._texts(), _KEYS, strict=True):
            ground, edge, _text = BAR_COLOURS[name]
            painter.setPen(QPen(look.colour(edge), 1, Qt.PenStyle.DashLine if dashed else Qt.PenStyle.SolidLine))
            painter.setBrush(look.colour(ground))
            painter.drawRoundedRect(QRectF(x + 0.5, (self.height() - high) / 2 + 0.5, wide - 1, high - 1), 3, 3)
            x += wide + 5
            painter.setPen(look.colour("muted"))
            painter.drawText(QRectF(x, 0, length + 2, self.height()), int(Qt.AlignmentFlag.AlignVCenter), text)
            x += length + look.px(12)
        painter.end()

    def retranslate(self) -> None:
        self.setAccessibleName(_("Meaning of the colours"))
        self.updateGeometry()
        self.update()
