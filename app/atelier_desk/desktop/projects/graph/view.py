"""The graph view, usable by pointer or keyboard alone."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from atelier_desk.desktop.projects.graph.layout import Floats
from atelier_desk.desktop.projects.graph.model import GraphModel
from atelier_desk.desktop.projects.graph.paint import LARGER, GraphPainter, View, radius, sizes
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind, bind_text
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.presentation.project_text import describe
from atelier_desk.support.i18n import N_, ngettext
from atelier_desk.support.visible_and_shortened_text import visible

ZOOM = 1.25
"""Zoom factor per wheel step or key press."""
SCALES = (1.0, 220.0)
"""Minimum and maximum of pixels per unit."""
FIRST_SCALE = 110.0
"""Maximum initial scale of a small graph."""
REST_MS = 140
"""Milliseconds without movement after which the graph is drawn with antialiasing again."""
EASY = 5
"""Pixels beside a node that still hit it."""
_ARROWS = {
    Qt.Key.Key_Left: (-1.0, 0.0),
    Qt.Key.Key_Right: (1.0, 0.0),
    Qt.Key.Key_Up: (0.0, -1.0),
    Qt.Key.Key_Down: (0.0, 1.0),
}


class GraphView(QWidget):
    """``graph-view``.

    The wheel zooms at the pointer while focused, or with Ctrl; background and nodes can be dragged.

    Arrows select the neighbour in that direction, with Ctrl they pan; Enter expands, Space opens the source, + and -
    zoom, 0 fits, Home selects the node with most edges, Esc deselects, the menu key opens the node's menu.

    Signals:
        node_chosen: number of the node, -1 for none.
        expand_requested, open_requested: of this node.
        menu_requested: the menu of the selected node, at this global position.
    """

    node_chosen = Signal(int)
    expand_requested = Signal(int)
    open_requested = Signal(int)
    menu_requested = Signal(QPoint)

    def __init__(self, model: GraphModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("graph-view")
        self.model = model
        self.scale = FIRST_SCALE
        self.centre = (0.0, 0.0)
        self.chosen = -1
        self.hovered = -1
        self.fitted = True
        """Nobody moved the picture since it was fitted: it is fitted again when more comes."""
        self.painter = GraphPainter()
        self._grab: QPointF | None = None
        self._dragged = -1
        self._far = False
        self._moving = QTimer(self)
        self._moving.setSingleShot(True)
        self._moving.setInterval(REST_MS)
        self._moving.timeout.connect(self.update)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        model.changed.connect(self._on_changed)
        model.moved.connect(self._on_moved)
        bind(self._on_theme)
        bind_text(self, name=N_("Graph of the project"))

    def sizeHint(self) -> QSize:
        return QSize(600, 420)

    def minimumSizeHint(self) -> QSize:
        return QSize(160, 120)

    def view(self) -> View:
        """The current viewport."""
        return View(
            self.size(), self.scale, self.centre, self.chosen, self.hovered, self.hasFocus(), self._moving.isActive()
        )

    def points(self) -> Floats:
        """Positions of all nodes in the widget, in pixels; NaN without a position."""
        return self.view().points(self.model.places)

    def node_at(self, position: QPointF) -> int:
        """The node at a point of the widget; -1 for none."""
        placed = np.flatnonzero(self.model.placed)
        if not len(placed):
            return -1
        away = self.points()[placed] - np.array([position.x(), position.y()])
        reach = radius(self.scale) * np.array(LARGER)[sizes(self.model)[placed]] + EASY
        distance = np.hypot(away[:, 0], away[:, 1]) - reach
        best = int(np.argmin(distance))
        return int(placed[best]) if distance[best] <= 0 else -1

    def choose(self, node: int, *, reveal: bool = True) -> None:
        """Select a node (-1: none), emit its signal, and scroll to it."""
        self.chosen = node if 0 <= node < len(self.model) else -1
        self._describe_chosen()
        if self.chosen >= 0 and reveal:
            self._reveal(self.chosen)
        self.node_chosen.emit(self.chosen)
        self.update()

    def _describe_chosen(self) -> None:
        if self.chosen < 0:
            self.setAccessibleDescription(visible(""))
            return
        joined = len(self.model.neighbours(self.chosen))
        count = ngettext("{n} neighbour", "{n} neighbours", joined)
        self.setAccessibleDescription(visible(f"{describe(self.model.entities[self.chosen])}, {count}"))

    def _reveal(self, node: int) -> None:
        """Pan as little as needed to move the node away from the border."""
        if not np.isfinite(self.model.places[node]).all():
            return
        point = self.points()[node]
        margin = min(self.width(), self.height()) * 0.15
        low, high = np.array([margin, margin]), np.array([self.width() - margin, self.height() - margin])
        off = point - np.clip(point, low, high)
        if off.any():
            self._centre_on(self.centre[0] + off[0] / self.scale, self.centre[1] + off[1] / self.scale)

    def centre_on(self, node: int) -> None:
        """Centre the node, zoomed in enough to read the names around it."""
        self.scale = max(self.scale, FIRST_SCALE * 0.5)
        x, y = self.model.places[node]
        if np.isfinite(x):
            self._centre_on(float(x), float(y))

    def _centre_on(self, x: float, y: float) -> None:
        self.centre = (x, y)
        self.fitted = False
        self._move()

    def _move(self) -> None:
        self._moving.start()
        self.update()

    def zoom_by(self, factor: float, at: QPointF | None = None) -> None:
        """Zoom around a point of the widget, by default its centre."""
        scale = min(max(self.scale * factor, SCALES[0]), SCALES[1])
        off = QPointF(0, 0) if at is None else at - QPointF(self.width() / 2, self.height() / 2)
        x = self.centre[0] + off.x() * (1 / self.scale - 1 / scale)
        y = self.centre[1] + off.y() * (1 / self.scale - 1 / scale)
        self.scale = scale
        self._centre_on(x, y)

    def fit(self) -> None:
        """Fit all visible nodes into the widget."""
        places = self.model.places[self.model.placed]
        self.fitted = True
        if len(places):
            low, high = places.min(axis=0), places.max(axis=0)
            self.centre = (float(low[0] + high[0]) / 2, float(low[1] + high[1]) / 2)
            wide, tall = np.maximum(high - low, 0.5) + 0.6
            room = theme().px(70)
            scale = min(max(40, self.width() - room) / wide, max(40, self.height() - room) / tall)
            self.scale = float(min(max(scale, SCALES[0]), FIRST_SCALE))
        self.update()

    def _on_changed(self) -> None:
        if not len(self.model):
            self.chosen, self.hovered = -1, -1
        elif self.chosen >= 0 and not self.model.node_shown[self.chosen]:
            self.choose(-1)
        if self.hovered >= 0 and not self.model.node_shown[self.hovered]:
            self.hovered = -1
        self._describe_chosen()
        self.update()

    def _on_moved(self) -> None:
        if self.fitted:
            self.fit()
        self.update()

    def _on_theme(self) -> None:
        self.painter.clear_cache()
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.fitted:
            self.fit()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self.painter.paint(painter, self.model, self.view())
        painter.end()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            node = self.node_at(QPointF(event.pos()))
            QToolTip.showText(
                event.globalPos(), plain_tip(describe(self.model.entities[node]) if node >= 0 else ""), self
            )
            return True
        if event.type() == QEvent.Type.Leave:
            self._hover(-1)
        return super().event(event)

    def _hover(self, node: int) -> None:
        if node != self.hovered:
            self.hovered = node
            self.setCursor(Qt.CursorShape.PointingHandCursor if node >= 0 else Qt.CursorShape.ArrowCursor)
            self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() not in (Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton):
            return
        self._grab, self._far = event.position(), False
        node = self.node_at(event.position()) if event.button() == Qt.MouseButton.LeftButton else -1
        self._dragged = node
        if node >= 0:
            self.choose(node, reveal=False)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._grab is None:
            self._hover(self.node_at(event.position()))
            return
        by = event.position() - self._grab
        if not self._far and by.manhattanLength() < 4:
            return
        self._far, self._grab = True, event.position()
        if self._dragged >= 0:
            self.model.places[self._dragged] += (by.x() / self.scale, by.y() / self.scale)
            self.fitted = False
            self._move()
        else:
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            self._centre_on(self.centre[0] - by.x() / self.scale, self.centre[1] - by.y() / self.scale)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if (
            self._grab is not None
            and not self._far
            and self._dragged < 0
            and event.button() == Qt.MouseButton.LeftButton
        ):
            self.choose(-1)
        self._grab, self._dragged = None, -1
        self.setCursor(Qt.CursorShape.PointingHandCursor if self.hovered >= 0 else Qt.CursorShape.ArrowCursor)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        node = self.node_at(event.position())
        if node >= 0:
            self.expand_requested.emit(node)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if event.reason() is QContextMenuEvent.Reason.Mouse:
            node = self.node_at(QPointF(event.pos()))
            if node >= 0:
                self.choose(node, reveal=False)
                self.menu_requested.emit(event.globalPos())
        elif self.chosen >= 0:
            x, y = self.points()[self.chosen]
            self.menu_requested.emit(self.mapToGlobal(QPoint(round(x), round(y))))

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Without focus or Ctrl, the wheel goes to the surroundings."""
        turn = event.angleDelta().y()
        if not turn or not (self.hasFocus() or event.modifiers() & Qt.KeyboardModifier.ControlModifier):
            event.ignore()
            return
        self.zoom_by(ZOOM ** (turn / 120), event.position())
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in _ARROWS:
            self._arrow(*_ARROWS[key], far=bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier))
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self.zoom_by(ZOOM)
        elif key == Qt.Key.Key_Minus:
            self.zoom_by(1 / ZOOM)
        elif key == Qt.Key.Key_0:
            self.fit()
        elif key == Qt.Key.Key_Home:
            self._show_home()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.chosen >= 0:
            self.expand_requested.emit(self.chosen)
        elif key == Qt.Key.Key_Space and self.chosen >= 0:
            self.open_requested.emit(self.chosen)
        elif key == Qt.Key.Key_Escape and self.chosen >= 0:
            self.choose(-1)
        else:
            super().keyPressEvent(event)

    def _arrow(self, x: float, y: float, *, far: bool) -> None:
        if far:
            step = theme().px(60) / self.scale
            self._centre_on(self.centre[0] + x * step, self.centre[1] + y * step)
        elif self.chosen < 0:
            self._show_home()
        elif (node := self.model.toward(self.chosen, x, y)) is not None:
            self.choose(node)

    def _show_home(self) -> None:
        placed = np.flatnonzero(self.model.placed)
        if len(placed):
            self.choose(int(placed[np.argmax(self.model.degree[placed])]))
