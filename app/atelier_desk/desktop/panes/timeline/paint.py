"""Painting of the timeline: ruler, lanes, bars, and a fixed column of names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPainterPath, QPen

from atelier_desk.desktop.panes.time_format import duration, number
from atelier_desk.desktop.panes.timeline.axis import TimeAxis
from atelier_desk.desktop.panes.timeline.lanes_bars_and_scene import Bar, Scene, is_dashed, span_style
from atelier_desk.desktop.replay.span_and_event_titles import bar_title
from atelier_desk.desktop.team.agent_state_labels import STATE_ICONS
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.theme.manager import Role
from atelier_desk.support.locale_format import NARROW
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from atelier_desk.engine.services.team.agent_tree_and_timeline_types import TimelineRun

TICK_PX = 84
INDENT = 12
LABEL_FROM = 30
"""Minimum width of a bar with text, in pixels at 100 %."""
THIN = 6
"""Bars narrower than this have square corners: more visible, and faster to paint."""
SHORTEST = 7
"""Minimum length of an elided title, including the …."""
RADIUS = 10
STATUS_ICONS: dict[str, tuple[str, Role]] = {
    status: (icon, role) for status, (icon, role, _pill) in STATE_ICONS.items()
}
BarColours = tuple[QColor, QColor, QColor]
"""Background, border and text colour of a bar."""
BAR_COLOURS = {
    "failed": ("err_soft", "err", "err_text"),
    "model": ("accent_soft", "accent", "accent"),
    "tool": ("ok_soft", "ok", "ok_text"),
    "person": ("warn_soft", "warn", "warn_text"),
    "idle": ("sunken", "field_border", "muted"),
}
"""Background, border and text by ``span_style``, as theme tokens."""


def paint_timeline(painter: QPainter, scene: Scene) -> None:
    """Paint the complete viewport."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    style = theme()
    area = scene.area
    card = QPainterPath()
    card.addRoundedRect(QRectF(area).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
    painter.fillRect(area, style.colour("bg"))
    painter.fillPath(card, style.colour("surface"))
    if scene.axis is not None:
        content = area.adjusted(scene.gutter, 0, -1, -1)
        painter.setClipRect(content)
        _paint_grid(painter, scene, scene.axis, content)
        painter.setClipRect(content.adjusted(0, scene.ruler, 0, 0))
        _paint_bars(painter, scene)
        painter.setClipping(False)
        _paint_names(painter, scene)
        painter.fillRect(QRectF(0, scene.ruler - 1, area.width(), 1), style.colour("border"))
        painter.fillRect(QRectF(scene.gutter - 1, 0, 1, area.height()), style.colour("border"))
    painter.setPen(QPen(style.colour("accent" if scene.focused else "border"), 1))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawPath(card)


def _paint_grid(painter: QPainter, scene: Scene, axis: TimeAxis, content: QRect) -> None:
    """Ruler, tick lines, lane separators, and a band with dashed edges for shortened stretches."""
    style, origin, scale = theme(), scene.origin, scene.scale
    painter.setFont(style.font(12))
    used: list[QRectF] = []
    for piece in axis.pieces:
        if piece.short:
            band = QRectF(origin.x() + piece.at * scale, scene.ruler, piece.length * scale, content.height())
            painter.fillRect(band, style.colour("bg"))
            painter.setPen(QPen(style.colour("border"), 1, Qt.PenStyle.DashLine))
            for x in (band.left(), band.right()):
                painter.drawLine(QPointF(x, scene.ruler), QPointF(x, content.bottom()))
            _paint_skipped(painter, scene, band, piece.end - piece.start)
            used.append(band)
    step = axis.step(scale, style.px(TICK_PX))
    for at, value in axis.ticks(scale, style.px(TICK_PX)):
        x = origin.x() + at * scale
        painter.setPen(style.colour("border"))
        painter.drawLine(QPointF(x, scene.ruler - style.px(5)), QPointF(x, content.bottom()))
        painter.setPen(style.colour("muted"))
        text = tick_time(value, step)
        end = x + 4 + QFontMetrics(painter.font()).horizontalAdvance(text)
        if end <= content.right() and not any(x + 4 < band.right() and end > band.left() for band in used):
            painter.drawText(
                QRectF(x + 4, 0, style.px(TICK_PX), scene.ruler - 2), int(Qt.AlignmentFlag.AlignVCenter), text
            )
    painter.setClipRect(content.adjusted(0, scene.ruler, 0, 0))
    painter.setPen(style.colour("border"))
    for lane in scene.lanes[1:]:
        y = origin.y() + lane.top
        painter.drawLine(QPointF(content.left(), y), QPointF(content.right(), y))


def _paint_skipped(painter: QPainter, scene: Scene, band: QRectF, ms: float) -> None:
    """Label a shortened stretch in the ruler with its real duration, if there is room."""
    text = f"⋯ {duration(ms)} ⋯"
    room = QRectF(band.left(), 0, band.width(), scene.ruler - 2)
    if QFontMetrics(painter.font()).horizontalAdvance(text) > room.width():
        text = "⋯"
    painter.fillRect(room, theme().colour("bg"))
    painter.setPen(theme().colour("muted"))
    painter.drawText(room, int(Qt.AlignmentFlag.AlignCenter), text)


def tick_time(ms: float, step: float) -> str:
    """A tick's time since the start, in the precision of ``step``: 0, 50 ms, 2.5 s, 30 s, 1:30, 1:30.5, 2:00:00."""
    if not ms:
        return "0"
    places = 0 if step >= 1000 else 1 if step >= 100 else 2
    if ms < 1000 and places == 2:
        return f"{number(ms, 0)}{NARROW}ms"
    if round(ms) < 60_000:
        return f"{number(ms / 1000, places)}{NARROW}s"
    minutes, rest = divmod(round(ms), 60_000)
    hours, minutes = divmod(minutes, 60)
    seconds = number(rest / 1000, places)
    seconds = seconds if rest >= 10_000 else f"0{seconds}"
    return f"{hours}:{minutes:02d}:{seconds}" if hours else f"{minutes}:{seconds}"


def _paint_bars(painter: QPainter, scene: Scene) -> None:
    """Paint the visible bars; of bars narrower than a pixel only one per pixel."""
    colours: dict[str, BarColours] = {}
    for name, (ground, edge, text) in BAR_COLOURS.items():
        colours[name] = (theme().colour(ground), theme().colour(edge), theme().colour(text))
    chosen, hovered, origin = scene.chosen, scene.hovered, scene.origin
    left, right = scene.gutter - origin.x(), scene.area.width() - origin.x()
    top, bottom = scene.ruler - origin.y(), scene.area.height() - origin.y()
    drawn: set[tuple[int, int, str]] = set()
    painter.save()
    painter.translate(origin)
    for bar in scene.bars:
        rect = bar.rect
        if rect.right() < left or rect.left() > right or rect.bottom() < top or rect.top() > bottom:
            continue
        name = span_style(bar.span)
        if rect.width() < THIN:
            place = (int(rect.left()), int(rect.top()), name)
            if place not in drawn:
                drawn.add(place)
                painter.fillRect(rect, colours[name][1])
        else:
            _paint_bar(painter, bar, colours[name], left, hovered is not None and hovered.span is bar.span)
    if chosen is not None:
        painter.setPen(QPen(theme().colour("text"), 2))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(chosen.rect.adjusted(-2, -2, 2, 2), 5, 5)
    painter.restore()


def _paint_bar(painter: QPainter, bar: Bar, bar_colours: BarColours, left: float, hovered: bool) -> None:
    ground, edge, text = bar_colours
    style = Qt.PenStyle.DashLine if is_dashed(bar.span) else Qt.PenStyle.SolidLine
    painter.setPen(QPen(edge, 1.6 if hovered else 1, style))
    painter.setBrush(ground)
    painter.drawRoundedRect(bar.rect.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
    inner = bar.rect.adjusted(6, 0, -5, 0)
    inner.setLeft(max(inner.left(), left + 6))  # the title stays visible when the start of the bar is scrolled out
    if inner.width() >= theme().px(LABEL_FROM):
        _paint_label(painter, inner, visible(bar_title(bar.span)), text)


def _paint_label(painter: QPainter, inner: QRectF, title: str, colour: QColor) -> None:
    """The title inside a bar with enough room; omitted if it would be too short."""
    painter.setFont(theme().font(11, 500))
    shown = QFontMetrics(painter.font()).elidedText(title, Qt.TextElideMode.ElideRight, int(inner.width()))
    if shown != title and len(shown) < SHORTEST:
        return
    painter.setPen(colour)
    painter.drawText(inner, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), shown)


def names_width(runs: Iterable[TimelineRun]) -> int:
    """Pixels the column of names needs to show all in full."""
    style = theme()
    margins = style.px(14) + 2 * style.px(6) + 2
    first, below = (QFontMetrics(_name_font(depth)) for depth in (0, 1))
    return max(
        (_indent(run) + margins + (below if run.depth else first).horizontalAdvance(visible(run.name)) for run in runs),
        default=0,
    )


def _indent(run: TimelineRun) -> int:
    return theme().px(8) + min(run.depth, 4) * theme().px(INDENT)


def _name_font(depth: int) -> QFont:
    return theme().font(13, 500 if depth == 0 else 400)


def _paint_names(painter: QPainter, scene: Scene) -> None:
    style = theme()
    area = scene.area
    painter.setClipRect(QRect(0, scene.ruler, scene.gutter, area.height() - scene.ruler))
    side = style.px(14)
    for lane in scene.lanes:
        top = scene.origin.y() + lane.top
        if lane is not scene.lanes[0]:
            painter.fillRect(QRectF(0, top - 0.5, scene.gutter, 1), style.colour("border"))
        left = _indent(lane.run)
        icon, role = STATUS_ICONS.get(lane.run.status, ("circle", "muted"))
        line = QRect(left, top + style.px(5), scene.gutter - left - style.px(6), style.px(20))
        picture = style.pixmap(icon, role, side, painter.device().devicePixelRatioF())
        painter.drawPixmap(line.left(), line.top() + (line.height() - side) // 2, picture)
        line.setLeft(line.left() + side + style.px(6))
        painter.setFont(_name_font(lane.run.depth))
        painter.setPen(style.colour("text"))
        shown = QFontMetrics(painter.font()).elidedText(
            visible(lane.run.name), Qt.TextElideMode.ElideRight, line.width()
        )
        painter.drawText(line, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), shown)
    painter.setClipping(False)
