"""A small turning arc: something works."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, QTimerEvent
from PySide6.QtGui import QHideEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.theme import theme

_STEP_MS = 60


class Spinner(QWidget):
    """Turns while it is shown, where the system allows motion; costs nothing hidden."""

    def __init__(self, parent: QWidget | None = None, size: int = 14) -> None:
        super().__init__(parent)
        self._size = size
        self._angle = 0
        self._timer = 0
        side = theme().px(size)
        self.setFixedSize(side, side)

    def sizeHint(self) -> QSize:
        side = theme().px(self._size)
        return QSize(side, side)

    def hideEvent(self, event: QHideEvent) -> None:
        if self._timer:
            self.killTimer(self._timer)
            self._timer = 0
        super().hideEvent(event)

    def timerEvent(self, event: QTimerEvent) -> None:
        style = self.style()  # after the first paint: see ``theme.manager.STYLE``
        if not style.styleHint(style.StyleHint.SH_Widget_Animation_Duration):  # 0: the system requests reduced motion
            self.killTimer(self._timer)
            self._timer = 0
            return
        self._angle = (self._angle - 30) % 360
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        self._timer = self._timer or self.startTimer(_STEP_MS)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(1.5, 1.5, -1.5, -1.5)
        painter.setPen(QPen(theme().colour("border"), 1.8))
        painter.drawEllipse(box)
        painter.setPen(QPen(theme().colour("accent"), 1.8, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        painter.drawArc(box, self._angle * 16, 110 * 16)
        painter.end()
