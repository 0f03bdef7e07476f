"""The timeline: a lane per agent, a bar per span. Painted; its accessible alternative is ``list``."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QHelpEvent,
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QToolTip, QWidget

from atelier_desk.desktop.panes.time_format import duration
from atelier_desk.desktop.panes.timeline.axis import TimeAxis, axis_of, sub_rows
from atelier_desk.desktop.panes.timeline.lanes_bars_and_scene import Bar, Lane, Scene, SpanKey, span_key
from atelier_desk.desktop.panes.timeline.paint import names_width, paint_timeline
from atelier_desk.desktop.replay.span_and_event_titles import STATUS_WORDS, span_title
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import bind, bind_text
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.domain.base_model import utc_now
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from atelier_desk.engine.services.team.agent_tree_and_timeline_types import Span, Timeline, TimelineRun

ROW, BAR, RULER = 20, 14, 24
"""Height of a row of bars, of a bar, and of the ruler, in pixels at 100 %."""
MOST_ROWS = 4
"""Maximum rows of a lane; further overlapping spans share the last."""
NAMES_SHARE = 0.26
ZOOM = 1.5
CLOCK_MS = 250
"""Milliseconds between two redraws of running spans: four a second."""


class TimelineView(QAbstractScrollArea):
    """``timeline-view``. Arrows select a span, + and - zoom, 0 fits, Ctrl and the wheel zoom at the pointer.

    Signals:
        span_chosen: the span selected with pointer or keyboard.
        menu_requested: the context menu of the selected span, at this global position.
        activated: Enter or a double click on the selected span.
    """

    span_chosen = Signal(object)
    menu_requested = Signal(QPoint)
    activated = Signal(object)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("timeline-view")
        mark(self, "surface")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)
        self.timeline: Timeline | None = None
        self.axis: TimeAxis | None = None
        self.zoom = 1.0
        self.bars: list[Bar] = []
        self.lanes: list[Lane] = []
        self.hovered: Bar | None = None
        self._chosen: SpanKey | None = None
        self._names = 0
        self._clock = QTimer(self)
        self._clock.setInterval(CLOCK_MS)
        self._clock.timeout.connect(self._lay_out)
        self.now = utc_now
        bind(self._lay_out)
        bind_text(self, name=N_("Timeline of the run"))
        bind(self._describe_chosen)

    def show_timeline(self, timeline: Timeline | None) -> None:
        """Show this team; zoom, position and selection stay for the same team."""
        if timeline is None or self.timeline is None or timeline.root_run_id != self.timeline.root_run_id:
            self.zoom, self._chosen = 1.0, None
        self.timeline = timeline
        self._lay_out()
        self._turn_clock()

    def _turn_clock(self) -> None:
        """Redraw running spans, only while visible."""
        lasts = self.timeline is not None and self.timeline.end is None
        if not lasts or not self.isVisible():
            self._clock.stop()
        elif not self._clock.isActive():
            self._clock.start()

    @property
    def chosen(self) -> Bar | None:
        """The selected bar."""
        return next((bar for bar in self.bars if span_key(bar.span) == self._chosen), None)

    def choose(self, span: Span | None) -> None:
        """Select a span without a signal, and scroll to it."""
        self._chosen = span_key(span) if span is not None else None
        self._describe_chosen()
        self._reveal()
        self.viewport().update()

    @property
    def gutter(self) -> int:
        """Width in pixels of the names: a share of the view, which large text may exceed if needed."""
        share = self.viewport().width() * NAMES_SHARE
        grown = min(self._names, round(share * (1 + (theme().scale - 1) * 0.6)))
        return max(theme().px(90), min(theme().px(200), max(round(share), grown)))

    @property
    def ruler(self) -> int:
        return theme().px(RULER)

    @property
    def scale(self) -> float:
        """Pixels per drawn millisecond."""
        room = self.viewport().width() - self.gutter - theme().px(20)
        return max(40, room) * self.zoom / (self.axis.length if self.axis is not None else 1.0)

    def x_of(self, moment: datetime) -> float:
        """Content coordinate of a moment."""
        return self.axis.drawn(moment) * self.scale if self.axis is not None else 0.0

    def _lay_out(self) -> None:
        self.bars, self.lanes = [], []
        timeline = self.timeline
        if timeline is None:
            self.axis = None
            self.viewport().update()
            return
        now = self.now()
        self._names = names_width(timeline.runs)
        self.axis = axis_of(timeline, now)
        row, bar_height = theme().px(ROW), theme().px(BAR)
        gap = theme().px(5)
        y = 0
        drawn, scale = self.axis.drawn, self.scale
        for run in timeline.runs:
            places = [min(place, MOST_ROWS - 1) for place in sub_rows(run.spans, now)]
            height = row * (max(places, default=0) + 1) + 2 * gap
            for span, place in zip(run.spans, places, strict=True):
                left = drawn(span.start) * scale
                width = max(2.0, drawn(span.end or max(now, span.start)) * scale - left)
                top = y + gap + place * row + (row - bar_height) / 2
                self.bars.append(Bar(run, span, QRectF(left, top, width, bar_height)))
            self.lanes.append(Lane(run, y, height))
            y += height
        self._size_bars(y)
        self.viewport().update()

    def _size_bars(self, height: int) -> None:
        across, down = self.horizontalScrollBar(), self.verticalScrollBar()
        room = self.viewport().width() - self.gutter
        wide = round((self.axis.length if self.axis is not None else 0) * self.scale) + theme().px(20)
        following = self.zoom > 1 and across.value() >= across.maximum() - 2
        across.setRange(0, max(0, wide - room) if self.zoom > 1 else 0)
        across.setPageStep(max(1, room))
        across.setSingleStep(theme().px(40))
        if following:
            across.setValue(across.maximum())
        view = self.viewport().height() - self.ruler
        down.setRange(0, max(0, height - view))
        down.setPageStep(max(1, view))
        down.setSingleStep(theme().px(ROW))

    def origin(self) -> QPoint:
        """Position of content coordinate (0, 0) in the viewport."""
        return QPoint(
            self.gutter + theme().px(6) - self.horizontalScrollBar().value(),
            self.ruler - self.verticalScrollBar().value(),
        )

    def bar_at(self, position: QPoint) -> Bar | None:
        """The bar at a viewport position; narrow bars have a larger hit area."""
        if position.x() < self.gutter or position.y() < self.ruler:
            return None
        place = (position - self.origin()).toPointF()
        hits = [bar for bar in self.bars if bar.rect.adjusted(-3, -3, 3, 3).contains(place)]
        return min(hits, key=lambda bar: abs(bar.rect.center().x() - place.x()), default=None)

    def lane_at(self, position: QPoint) -> Lane | None:
        """The lane at a viewport position."""
        y = position.y() - self.origin().y()
        return next(
            (lane for lane in self.lanes if position.y() >= self.ruler and lane.top <= y < lane.top + lane.height), None
        )

    def _reveal(self) -> None:
        bar = self.chosen
        if bar is None:
            return
        rect = bar.rect.toAlignedRect().translated(self.origin())
        room = QRect(
            self.gutter, self.ruler, self.viewport().width() - self.gutter, self.viewport().height() - self.ruler
        )
        across, down = self.horizontalScrollBar(), self.verticalScrollBar()
        if rect.right() < room.left() or rect.left() > room.right():
            across.setValue(across.value() + rect.center().x() - room.center().x())
        if rect.top() < room.top():
            down.setValue(down.value() + rect.top() - room.top() - theme().px(5))
        elif rect.bottom() > room.bottom():
            down.setValue(down.value() + rect.bottom() - room.bottom() + theme().px(5))

    def zoom_by(self, factor: float, at: int | None = None) -> None:
        """Zoom around a viewport position (default: centre), from the complete run to a thousandth of it."""
        if self.axis is None:
            return
        across = self.horizontalScrollBar()
        at = (self.viewport().width() + self.gutter) // 2 if at is None else max(self.gutter, at)
        fixed = (at - self.gutter + across.value()) / self.scale
        self.zoom = min(max(1.0, self.zoom * factor), 1000.0)
        self._lay_out()
        across.setValue(round(fixed * self.scale) - (at - self.gutter))
        self.viewport().update()

    def fit(self) -> None:
        """Show the complete run."""
        self.zoom = 1.0
        self._lay_out()

    def describe(self, bar: Bar, separator: str = ", ") -> str:
        """A bar in words: agent, action, duration, outcome, time."""
        return separator.join(describe_span(bar.run, bar.span, self.timeline, self.now()))

    def _describe_chosen(self) -> None:
        bar = self.chosen
        self.setAccessibleDescription(visible(self.describe(bar) if bar is not None else ""))

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            bar = self.bar_at(event.pos())
            lane = self.lane_at(event.pos()) if event.pos().x() < self.gutter else None
            text = self.describe(bar, "\n") if bar is not None else lane.run.name if lane is not None else ""
            QToolTip.showText(event.globalPos(), plain_tip(text), self.viewport())
            return True
        if event.type() == QEvent.Type.Leave:
            self._hover(None)
        return super().viewportEvent(event)

    def _hover(self, bar: Bar | None) -> None:
        if (bar.span if bar else None) is not (self.hovered.span if self.hovered else None):
            self.hovered = bar
            self.viewport().setCursor(
                Qt.CursorShape.PointingHandCursor if bar is not None else Qt.CursorShape.ArrowCursor
            )
            self.viewport().update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._hover(self.bar_at(event.position().toPoint()))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        bar = self.bar_at(event.position().toPoint())
        if bar is not None:
            self._choose_bar(bar)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        bar = self.bar_at(event.position().toPoint())
        if bar is not None:
            self.activated.emit(bar.span)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if event.reason() is QContextMenuEvent.Reason.Mouse:
            bar = self.bar_at(event.pos())
            if bar is None:
                return
            self._choose_bar(bar)
            self.menu_requested.emit(event.globalPos())
        elif (bar := self.chosen) is not None:
            self.menu_requested.emit(self.viewport().mapToGlobal(bar.rect.bottomLeft().toPoint() + self.origin()))

    def _choose_bar(self, bar: Bar) -> None:
        self.choose(bar.span)
        self.span_chosen.emit(bar.span)

    def wheelEvent(self, event: QWheelEvent) -> None:
        turn = event.angleDelta().y() or event.angleDelta().x()
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.zoom_by(ZOOM if turn > 0 else 1 / ZOOM, event.position().toPoint().x())
            event.accept()
        elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            bar = self.horizontalScrollBar()
            bar.setValue(bar.value() - turn)
            event.accept()
        else:
            super().wheelEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key in {Qt.Key.Key_Plus, Qt.Key.Key_Equal}:
            self.zoom_by(ZOOM)
        elif key == Qt.Key.Key_Minus:
            self.zoom_by(1 / ZOOM)
        elif key == Qt.Key.Key_0:
            self.fit()
        elif key in {Qt.Key.Key_Return, Qt.Key.Key_Enter} and (bar := self.chosen) is not None:
            self.activated.emit(bar.span)
        elif (bar := self._neighbour(Qt.Key(key))) is not None:
            self._choose_bar(bar)
        else:
            super().keyPressEvent(event)

    def _neighbour(self, key: Qt.Key) -> Bar | None:
        """The bar an arrow key leads to."""
        moves = {Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Home, Qt.Key.Key_End}
        if key not in moves or not self.bars:
            return None
        here = self.chosen
        if here is None:
            return self.bars[0]
        own = [bar for bar in self.bars if bar.run is here.run]
        if key in {Qt.Key.Key_Home, Qt.Key.Key_End}:
            return own[0 if key == Qt.Key.Key_Home else -1]
        if key in {Qt.Key.Key_Left, Qt.Key.Key_Right}:
            place = own.index(here) + (1 if key == Qt.Key.Key_Right else -1)
            return own[min(max(place, 0), len(own) - 1)]
        order = [lane.run for lane in self.lanes if any(bar.run is lane.run for bar in self.bars)]
        place = order.index(here.run) + (1 if key == Qt.Key.Key_Down else -1)
        if not 0 <= place < len(order):
            return here
        return min(
            (bar for bar in self.bars if bar.run is order[place]),
            key=lambda bar: abs(bar.rect.left() - here.rect.left()),
        )

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        paint_timeline(painter, self.scene())
        painter.end()

    def scene(self) -> Scene:
        """The current scene."""
        return Scene(
            area=self.viewport().rect(),
            origin=self.origin(),
            gutter=self.gutter,
            ruler=self.ruler,
            scale=self.scale,
            axis=self.axis,
            lanes=self.lanes,
            bars=self.bars,
            chosen=self.chosen,
            hovered=self.hovered,
            focused=self.hasFocus(),
        )

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._lay_out()
        self._turn_clock()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._turn_clock()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self.viewport().update()


def describe_span(run: TimelineRun, span: Span, timeline: Timeline | None, now: datetime) -> list[str]:
    """Agent, action, duration and outcome, and start: one line each."""
    until = span.end or max(now, span.start)
    elapsed = duration((until - span.start).total_seconds() * 1000)
    title = span_title(span)
    if span.kind in ("model", "tool") and span.label not in ("", title):
        title = f"{title} ({span.label})"
    status = "" if span.status == "ok" else _(STATUS_WORDS.get(span.status, span.status))
    lines = [run.name, title, f"{elapsed}, {status}" if status else elapsed]
    if timeline is not None:
        lines.append(_("{time} after the start", time=duration((span.start - timeline.start).total_seconds() * 1000)))
    return lines
