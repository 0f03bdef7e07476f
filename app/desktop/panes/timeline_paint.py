"""How the timeline is drawn: ruler, lanes, bars, and the names at the left that stay while it is scrolled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPainterPath, QPen

from app.desktop.panes.wording import duration
from app.desktop.replay.words import bar_title
from app.desktop.theme import theme
from app.desktop.theme.manager import Role

if TYPE_CHECKING:
    from app.desktop.panes.timeline_view import Bar, TimelineView
    from app.engine.services.team_views import Span

TICK_PX = 84
INDENT = 12
LABEL_FROM = 30
"""Bars with less room than this for text, in pixels at 100 %, have none."""
SHORTEST = 7
"""Fewest letters of a cut title that still say something, the … counted."""
RADIUS = 10
STATUS_ICONS: dict[str, tuple[str, Role]] = {
    "processing": ("loader-circle", "accent"),
    "paused": ("pause", "warn"),
    "completed": ("check", "ok"),
    "error": ("circle-x", "err"),
    "cancelled": ("square", "muted"),
    "abandoned": ("x", "muted"),
    "awaiting_user": ("circle-help", "warn"),
    "awaiting_approval": ("shield", "warn"),
    "awaiting_parent": ("circle-help", "warn"),
    "awaiting_children": ("users", "muted"),
}


def colours(span: Span) -> tuple[str, str, str]:
    """Ground, edge and text of a span's bar."""
    tokens = theme().tokens
    if span.status in ("error", "timeout", "interrupted", "rejected"):
        return tokens.err_soft, tokens.err, tokens.err_text
    if span.kind == "model":
        return tokens.accent_soft, tokens.accent, tokens.accent
    if span.kind == "tool":
        return tokens.ok_soft, tokens.ok, tokens.ok_text
    if span.kind == "wait" and span.label != "children":
        return tokens.warn_soft, tokens.warn, tokens.warn_text
    return tokens.sunken, tokens.field_border, tokens.muted


def paint_timeline(view: TimelineView) -> None:
    """Paint the whole viewport."""
    painter = QPainter(view.viewport())
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    look = theme()
    area = view.viewport().rect()
    card = QPainterPath()
    card.addRoundedRect(QRectF(area).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
    painter.fillRect(area, look.colour("bg"))
    painter.fillPath(card, look.colour("surface"))
    if view.timeline is not None and view.axis is not None:
        content = area.adjusted(view.gutter, 0, -1, -1)
        painter.setClipRect(content)
        _paint_grid(painter, view, content)
        painter.setClipRect(content.adjusted(0, view.ruler, 0, 0))
        chosen = view.chosen
        for bar in view.bars:
            _paint_bar(painter, view, bar, chosen is bar)
        painter.setClipping(False)
        _paint_names(painter, view)
        painter.fillRect(QRectF(0, view.ruler - 1, area.width(), 1), look.colour("border"))
        painter.fillRect(QRectF(view.gutter - 1, 0, 1, area.height()), look.colour("border"))
    painter.setPen(QPen(look.colour("accent" if view.hasFocus() else "border"), 1))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawPath(card)
    painter.end()


def _paint_grid(painter: QPainter, view: TimelineView, content: QRect) -> None:
    """Ruler, tick lines, lane separators, and a hatched band where time is drawn short."""
    look, axis = theme(), view.axis
    assert axis is not None
    origin, scale = view.origin(), view.scale
    painter.setFont(look.font(12))
    for piece in axis.pieces:
        if piece.short:
            band = QRectF(origin.x() + piece.at * scale, view.ruler, piece.length * scale, content.height())
            painter.fillRect(band, look.colour("bg"))
            painter.setPen(QPen(look.colour("border"), 1, Qt.PenStyle.DashLine))
            for x in (band.left(), band.right()):
                painter.drawLine(QPointF(x, view.ruler), QPointF(x, content.bottom()))
            _paint_skipped(painter, view, band, piece.end - piece.start)
    for at, value in axis.ticks(scale, look.px(TICK_PX)):
        x = origin.x() + at * scale
        painter.setPen(look.colour("border"))
        painter.drawLine(QPointF(x, view.ruler - look.px(5)), QPointF(x, content.bottom()))
        painter.setPen(look.colour("muted"))
        painter.drawText(QRectF(x + 4, 0, look.px(TICK_PX), view.ruler - 2), int(Qt.AlignmentFlag.AlignVCenter), _clock(value))
    painter.setClipRect(content.adjusted(0, view.ruler, 0, 0))
    painter.setPen(look.colour("border"))
    for lane in view.lanes[1:]:
        y = origin.y() + lane.top
        painter.drawLine(QPointF(content.left(), y), QPointF(content.right(), y))


def _paint_skipped(painter: QPainter, view: TimelineView, band: QRectF, ms: float) -> None:
    """Say in the ruler how long the stretch really was, where there is room for it."""
    text = f"⋯ {duration(ms)} ⋯"
    room = QRectF(band.left(), 0, band.width(), view.ruler - 2)
    if QFontMetrics(painter.font()).horizontalAdvance(text) > room.width():
        text = "⋯"
    painter.fillRect(room, theme().colour("bg"))
    painter.setPen(theme().colour("muted"))
    painter.drawText(room, int(Qt.AlignmentFlag.AlignCenter), text)


def _clock(ms: float) -> str:
    """A tick's time since the start: 0, 500 ms, 2.5 s, 1:30, 2:00:00."""
    if ms < 60_000:
        return duration(ms) if ms else "0"
    minutes, seconds = divmod(round(ms / 1000), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


def _paint_bar(painter: QPainter, view: TimelineView, bar: Bar, chosen: bool) -> None:
    look = theme()
    rect = bar.rect.translated(QPointF(view.origin()))
    if rect.right() < view.gutter or rect.left() > view.viewport().width() or rect.bottom() < view.ruler:
        return
    ground, edge, text = colours(bar.span)
    if rect.width() < 5:
        painter.fillRect(rect, QColor(edge))
    else:
        hovered = view.hovered is not None and view.hovered.span is bar.span
        style = Qt.PenStyle.DashLine if bar.span.kind in ("wait", "paused") else Qt.PenStyle.SolidLine
        painter.setPen(QPen(QColor(edge), 1.6 if hovered else 1, style))
        painter.setBrush(QColor(ground))
        painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
        _paint_label(painter, view, rect, bar_title(bar.span), text)
    if chosen:
        painter.setPen(QPen(look.colour("text"), 2))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(rect.adjusted(-2, -2, 2, 2), 5, 5)


def _paint_label(painter: QPainter, view: TimelineView, rect: QRectF, title: str, colour: str) -> None:
    """The title inside a bar that has room; it stays in sight while the bar's beginning is scrolled away."""
    inner = rect.adjusted(6, 0, -5, 0)
    inner.setLeft(max(inner.left(), view.gutter + 6))
    if inner.width() < theme().px(LABEL_FROM):
        return
    painter.setFont(theme().font(11, 500))
    painter.setPen(QColor(colour))
    shown = QFontMetrics(painter.font()).elidedText(title, Qt.TextElideMode.ElideRight, int(inner.width()))
    if shown != title and len(shown) < SHORTEST:
        return
    painter.drawText(inner, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), shown)


def _paint_names(painter: QPainter, view: TimelineView) -> None:
    look = theme()
    area = view.viewport().rect()
    painter.setClipRect(QRect(0, view.ruler, view.gutter, area.height() - view.ruler))
    side = look.px(14)
    for lane in view.lanes:
        top = view.origin().y() + lane.top
        if lane is not view.lanes[0]:
            painter.fillRect(QRectF(0, top - 0.5, view.gutter, 1), look.colour("border"))
        left = look.px(8) + min(lane.run.depth, 4) * look.px(INDENT)
        icon, role = STATUS_ICONS.get(lane.run.status, ("circle", "muted"))
        line = QRect(left, top + look.px(5), view.gutter - left - look.px(6), look.px(20))
        picture = look.pixmap(icon, role, side, painter.device().devicePixelRatioF())
        painter.drawPixmap(line.left(), line.top() + (line.height() - side) // 2, picture)
        line.setLeft(line.left() + side + look.px(6))
        painter.setFont(look.font(13, 500 if lane.run.depth == 0 else 400))
        painter.setPen(look.colour("text"))
        shown = QFontMetrics(painter.font()).elidedText(lane.run.name, Qt.TextElideMode.ElideRight, line.width())
        painter.drawText(line, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), shown)
    painter.setClipping(False)
