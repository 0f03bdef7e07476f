"""Painting of rows: fonts with metrics, backgrounds, icons, dots, and elided lines of text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QTextCharFormat, QTextLayout
from PySide6.QtWidgets import QStyle

from atelier_desk.desktop.theme import icons, theme
from atelier_desk.storage.search_terms import word_places
from atelier_desk.support.visible_and_shortened_text import visible

LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
BEFORE = 24
"""Most characters kept before the first match when a text is too long for its line; they take at most a third of it."""


class Face(NamedTuple):
    """A font with its metrics; ``height`` of a line in pixels."""

    font: QFont
    metrics: QFontMetrics
    height: int


@cache
def _faces(_scale: float, size: int, weight: int, mono: bool) -> Face:
    font = theme().font(size, weight, mono)
    return Face(font, QFontMetrics(font), QFontMetrics(font).height())


def face(size: int, weight: int = 400, mono: bool = False) -> Face:
    """The theme's font at the current scale, cached for measuring rows."""
    return _faces(theme().scale, size, weight, mono)


def quiet(marked: bool) -> str:
    """The colour of subdued text in a row, readable on a coloured background too."""
    return "muted_text" if marked else "muted"


def draw_marked(painter: QPainter, line: QRect, text: str, needle: str, shape: Face) -> None:
    """A line of text starting shortly before the first word of ``needle``, with matches highlighted in bold."""
    style, text = theme(), visible(" ".join(text.split()))
    metrics = shape.metrics
    found = word_places(text, needle)
    if found and metrics.horizontalAdvance(text[: found[0][1]]) > line.width() - 40:
        start = _start(text, found[0], line.width(), metrics)
        text = ("…" if start else "") + text[start:]
        found = word_places(text, needle)
    shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, line.width())
    form = QTextCharFormat()
    form.setBackground(style.colour("warn_soft"))
    form.setForeground(style.colour("text"))
    form.setFontWeight(QFont.Weight.DemiBold)
    _draw_formed(
        painter, line, shown, shape, [place for place in found if place[1] < len(shown) or shown == text], form, "text"
    )


def _start(text: str, found: tuple[int, int], width: int, metrics: QFontMetrics) -> int:
    """Where an excerpt starts so that the found word fits too: at a word, if there is a whole one before."""
    at, end = found
    if at <= BEFORE and metrics.horizontalAdvance(f"{text[:end]}…") <= width:
        return 0
    room = min(width // 3, width - metrics.horizontalAdvance(f"…{text[at:end]}…"))
    before = text[max(0, at - BEFORE) : at]
    while before and metrics.horizontalAdvance(before) > room:
        before = before[1:]
    start = at - len(before)
    return start if text[max(0, start - 1) : start] in ("", " ") else start + before.find(" ", 0, -1) + 1


def draw_bold(
    painter: QPainter, line: QRect, text: str, found: Sequence[tuple[int, int]], shape: Face, role: str
) -> None:
    """A line of text with the given ranges in bold, elided if needed."""
    form = QTextCharFormat()
    form.setFontWeight(QFont.Weight.DemiBold)
    shown = shape.metrics.elidedText(text, Qt.TextElideMode.ElideRight, line.width())
    top = line.adjusted(0, max(0, (line.height() - shape.height) // 2), 0, 0)
    _draw_formed(
        painter, top, shown, shape, [place for place in found if place[1] < len(shown) or shown == text], form, role
    )


def _draw_formed(
    painter: QPainter,
    line: QRect,
    shown: str,
    shape: Face,
    found: Sequence[tuple[int, int]],
    form: QTextCharFormat,
    role: str,
) -> None:
    marks = []
    for start, end in found:
        mark = QTextLayout.FormatRange()
        mark.start, mark.length, mark.format = _units(shown[:start]), _units(shown[start:end]), form
        marks.append(mark)
    layout = QTextLayout(shown, shape.font)
    layout.setFormats(marks)
    layout.beginLayout()
    layout.createLine().setLineWidth(line.width() + 100)
    layout.endLayout()
    painter.setPen(theme().colour(role))
    layout.draw(painter, QPointF(line.topLeft()))


def paint_ground(painter: QPainter, area: QRect, state: QStyle.StateFlag, marked: bool, framed: bool) -> None:
    """A soft background for marked, selected or hovered rows, and a frame around the focused one."""
    style = theme()
    if marked or framed or state & (QStyle.StateFlag.State_MouseOver | QStyle.StateFlag.State_Selected):
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(style.colour("accent_soft" if marked else "hover"))
        painter.drawRoundedRect(area, 6, 6)
    if framed or state & QStyle.StateFlag.State_HasFocus:
        painter.setPen(style.colour("muted" if framed else "accent"))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(QRectF(area).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)


def paint_symbol(painter: QPainter, place: QRect, name: str, role: str) -> None:
    if name:
        colour = getattr(theme().tokens, role)
        painter.drawPixmap(
            place.topLeft(), icons.pixmap(name, colour, place.width(), painter.device().devicePixelRatioF())
        )


def paint_dot(painter: QPainter, place: QRectF, role: str) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme().colour(role))
    painter.drawEllipse(place)


def paint_text(
    painter: QPainter,
    place: QRect,
    text: str,
    shape: Face,
    role: str,
    align: int = LEFT,
    mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
) -> None:
    """A line of text, elided if needed."""
    painter.setFont(shape.font)
    painter.setPen(theme().colour(role))
    painter.drawText(place, align, shape.metrics.elidedText(visible(text), mode, place.width()))


def _units(text: str) -> int:
    """Length in UTF-16 units, as Qt counts."""
    return len(text.encode("utf-16-le")) // 2
