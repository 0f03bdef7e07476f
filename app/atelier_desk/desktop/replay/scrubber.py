"""The slider of a replay, with ticks for notable events."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPixmap, QResizeEvent
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.theme.manager import Role
from atelier_desk.desktop.widgets.language_theme_bindings import bind
from atelier_desk.desktop.widgets.wheel_safe_inputs import Slider

HANDLE = 14
"""Width of the handle in pixels; its centre moves within half of it from both ends."""
TICKS = 10
"""Height of the ticks above the groove."""
CLOSEST = 3
"""Minimum pixels between ticks of ordinary events."""


class Scrubber(Slider):
    """``replay-scrubber``: one position per event.

    Click to seek; arrows step, Page keys step by ten, Home and End jump.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setObjectName("replay-scrubber")
        self.setPageStep(10)
        self._roles: Sequence[Role | None] = ()
        self._ticks: QPixmap | None = None
        bind(self._draw_again)

    def set_events(self, roles: Sequence[Role | None]) -> None:
        """Set the events: the colour of each tick, None for an ordinary one."""
        self._roles = roles
        self.setRange(0, max(0, len(roles) - 1))
        self._draw_again()

    def sizeHint(self) -> QSize:
        return QSize(200, 34)

    def minimumSizeHint(self) -> QSize:
        return QSize(80, 34)

    def x_of(self, place: int) -> float:
        """The handle's centre for a position."""
        room = max(1, self.width() - HANDLE)
        return HANDLE / 2 + room * place / max(1, self.maximum())

    def place_at(self, x: float) -> int:
        """The position nearest to a horizontal coordinate."""
        room = max(1, self.width() - HANDLE)
        return min(max(0, round((x - HANDLE / 2) / room * self.maximum())), self.maximum())

    def _draw_again(self) -> None:
        """Redraw the ticks for other events, another size or another theme."""
        self._ticks = None
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._draw_again()

    def _draw_ticks(self) -> QPixmap:
        """Draw the ticks into a cached image: a long run has a thousand, and they do not move with the handle."""
        ratio = self.devicePixelRatioF()
        picture = QPixmap(self.size() * ratio)
        picture.setDevicePixelRatio(ratio)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        style = theme()
        groove_y = self.height() - 12.0
        crowded = self.width() / max(1, self.maximum()) < CLOSEST
        for place, role in enumerate(self._roles):
            if role is None and crowded:
                continue
            high = TICKS if role is not None else TICKS / 2
            colour = style.colour(role or "field_border")
            painter.fillRect(QRectF(self.x_of(place) - 0.75, groove_y - 7 - high, 1.5, high), colour)
        painter.end()
        return picture

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._ticks is None or self._ticks.devicePixelRatioF() != self.devicePixelRatioF():
            self._ticks = self._draw_ticks()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        style = theme()
        groove_y = self.height() - 12.0
        middle = self.x_of(self.value())
        painter.drawPixmap(0, 0, self._ticks)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(style.colour("border"))
        painter.drawRoundedRect(QRectF(HANDLE / 2, groove_y - 2, self.width() - HANDLE, 4), 2, 2)
        painter.setBrush(style.colour("accent"))
        painter.drawRoundedRect(QRectF(HANDLE / 2, groove_y - 2, max(0.0, middle - HANDLE / 2), 4), 2, 2)
        if self.hasFocus():
            painter.setBrush(style.colour("text"))
            painter.drawEllipse(QRectF(middle - 9, groove_y - 9, 18, 18))
        painter.setBrush(style.colour("surface"))
        painter.drawEllipse(QRectF(middle - 7.5, groove_y - 7.5, 15, 15))
        painter.setBrush(style.colour("accent"))
        painter.drawEllipse(QRectF(middle - 6, groove_y - 6, 12, 12))
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            self.setSliderDown(True)
            self.setValue(self.place_at(event.position().x()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self.isSliderDown():
            self.setValue(self.place_at(event.position().x()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self.setSliderDown(False)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Up, Qt.Key.Key_Down}:
            event.ignore()  # the transcript above scrolls
        else:
            super().keyPressEvent(event)
