"""Painting of the graph: edges by kind in one call each, nodes as copies of cached images, names where they fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPainterPath, QPen, QPixmap, QPolygonF, QStaticText
from shiboken6 import Shiboken

from atelier_desk.desktop.projects.entity_icons import KIND_COLOURS, KIND_ICONS, RELATION_COLOURS
from atelier_desk.desktop.projects.graph.layout import Bools, Floats, Ints
from atelier_desk.desktop.projects.graph.model import KINDS, RELATIONS, GraphModel
from atelier_desk.desktop.theme import icons, theme
from atelier_desk.desktop.theme.design_tokens import blend
from atelier_desk.support.visible_and_shortened_text import visible

RADIUS: Final = (2.4, 12.0)
"""Minimum and maximum radius of a node with one edge, in pixels at 100 %."""
RADIUS_UNITS: Final = 0.2
"""Radius of a node, in units of an edge."""
ICON_FROM: Final = 8.0
"""Nodes with a larger radius show the icon of their kind."""
LARGER: Final = (1.0, 1.3, 1.7, 2.2)
"""Scale of nodes with few, some, many and very many edges."""
MANY: Final = (6, 20, 60)
FINE: Final = 3_000
"""With more edges than this, antialiasing is off while the graph moves."""
NAMES_FAR, NAMES_NEAR = 22, 90
"""Maximum number of names when zoomed out, and zoomed in."""
NEAR_SCALE: Final = 20.0
"""Pixels per unit from which the graph counts as zoomed in."""
NAME_PX: Final = 240
CELL: Final = 6
"""Pixels per side of the squares used to detect overlapping names."""
FAINT: Final = 0.22


@dataclass(slots=True)
class View:
    """The viewport: ``scale`` in pixels per unit, ``centre`` in model coordinates.

    ``moving``: during panning or zooming.
    """

    size: QSize
    scale: float
    centre: tuple[float, float]
    chosen: int = -1
    hovered: int = -1
    focused: bool = False
    moving: bool = False

    def points(self, places: Floats) -> Floats:
        """Model positions as widget coordinates."""
        middle = np.array([self.size.width() / 2, self.size.height() / 2])
        return np.asarray((places - np.array(self.centre)) * self.scale + middle)


def sizes(model: GraphModel) -> Ints:
    """By node the index of its size in ``LARGER``."""
    return np.searchsorted(np.array(MANY), model.degree, side="right")


def radius(scale: float) -> float:
    """Radius of the smallest nodes, in pixels."""
    style = theme()
    return min(max(RADIUS[0] * style.scale, RADIUS_UNITS * scale), RADIUS[1] * style.scale)


class GraphPainter:
    """Draws a ``GraphModel``; caches node images and text widths."""

    def __init__(self) -> None:
        self._dots: dict[tuple[int, int, str, float], QPixmap] = {}
        self._names: dict[str, tuple[QStaticText, float, float]] = {}
        self.labelled: list[int] = []
        """The nodes that had their name drawn, last time."""

    def clear_cache(self) -> None:
        """Clear caches after a change of theme or text size."""
        self._dots.clear()
        self._names.clear()

    def paint(self, painter: QPainter, model: GraphModel, view: View) -> None:
        """The whole widget."""
        style = theme()
        area = QRect(0, 0, view.size.width(), view.size.height())
        painter.fillRect(area, style.colour("surface"))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        points = view.points(model.places)
        placed = model.placed
        if placed.any():
            near = np.zeros(len(model), dtype=bool)
            if view.chosen >= 0:
                near[model.neighbours(view.chosen)] = True
                near[view.chosen] = True
            self._edges(painter, model, view, points, placed)
            self._nodes(painter, model, view, points, placed, near)
            self._mark(painter, model, view, points)
            self._label(painter, model, view, points, placed, near)
        painter.setPen(QPen(style.colour("accent" if view.focused else "border"), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(area.adjusted(0, 0, -1, -1))

    def _edges(self, painter: QPainter, model: GraphModel, view: View, points: Floats, placed: Bools) -> None:
        if not len(model.edges):
            return
        ends = model.edges
        one, other = points[ends[:, 0]], points[ends[:, 1]]
        low, high = np.minimum(one, other), np.maximum(one, other)
        wide, tall = view.size.width(), view.size.height()
        inside = (high[:, 0] > 0) & (low[:, 0] < wide) & (high[:, 1] > 0) & (low[:, 1] < tall)
        shown = model.edge_shown & placed[ends[:, 0]] & placed[ends[:, 1]] & inside
        lines = np.hstack([one, other])
        focus = view.hovered if view.hovered >= 0 else view.chosen
        marked = (
            shown & ((ends[:, 0] == focus) | (ends[:, 1] == focus)) if focus >= 0 else np.zeros(len(ends), dtype=bool)
        )
        rest = shown & ~marked
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, not view.moving or int(rest.sum()) < FINE)
        share = 0.28 if view.chosen >= 0 else 0.5
        tokens = theme().tokens
        for number, kind in enumerate(RELATIONS):
            some = rest & (model.edge_kinds == number)
            if some.any():
                faint = blend(getattr(tokens, RELATION_COLOURS[kind]), tokens.surface, share)
                painter.setPen(QPen(QColor(faint), 1))
                _draw_lines(painter, lines[some])
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for number, kind in enumerate(RELATIONS):
            some = marked & (model.edge_kinds == number)
            if some.any():
                colour = theme().colour(RELATION_COLOURS[kind])
                painter.setPen(QPen(colour, 1.6))
                _draw_lines(painter, lines[some])
                self._heads(painter, model, view, lines[some], ends[some], colour)

    def _heads(
        self, painter: QPainter, model: GraphModel, view: View, lines: Floats, ends: Ints, colour: QColor
    ) -> None:
        """Arrow heads at the targets of highlighted edges."""
        path = QPainterPath()
        size = theme().px(6)
        base = radius(view.scale)
        grown = np.array(LARGER)[sizes(model)[ends[:, 1]]] * base
        for (x0, y0, x1, y1), gap in zip(lines.tolist(), grown.tolist(), strict=True):
            long = float(np.hypot(x1 - x0, y1 - y0))
            if long < gap + 2.5 * size:
                continue
            dx, dy = (x1 - x0) / long, (y1 - y0) / long
            tip = QPointF(x1 - dx * (gap + 2), y1 - dy * (gap + 2))
            left = QPointF(tip.x() - dx * size - dy * size * 0.5, tip.y() - dy * size + dx * size * 0.5)
            right = QPointF(tip.x() - dx * size + dy * size * 0.5, tip.y() - dy * size - dx * size * 0.5)
            path.addPolygon(QPolygonF([tip, left, right, tip]))
        painter.fillPath(path, colour)

    def _nodes(
        self, painter: QPainter, model: GraphModel, view: View, points: Floats, placed: Bools, near: Bools
    ) -> None:
        margin = theme().px(40)
        wide, tall = view.size.width() + margin, view.size.height() + margin
        inside = (
            placed & (points[:, 0] > -margin) & (points[:, 1] > -margin) & (points[:, 0] < wide) & (points[:, 1] < tall)
        )
        grown = sizes(model)
        ratio = painter.device().devicePixelRatioF()
        for lit in (False, True) if view.chosen >= 0 else (True,):
            some = inside & (near if lit else ~near) if view.chosen >= 0 else inside
            painter.setOpacity(1.0 if lit else FAINT)
            for number in np.unique(model.kinds[some]):
                of_kind = some & (model.kinds == number)
                for size in np.unique(grown[of_kind]):
                    picture = self._dot(int(number), radius(view.scale) * LARGER[int(size)], ratio)
                    _draw_copies(painter, picture, points[of_kind & (grown == size)], ratio)
        painter.setOpacity(1.0)

    def _dot(self, kind: int, size: float, ratio: float) -> QPixmap:
        """A node: a disc in the colour of its kind, with its icon if large enough."""
        side = max(4, round(2 * size) + 2)
        key = (kind, side, theme().tokens.name, ratio)
        if key not in self._dots:
            style = theme()
            picture = QPixmap(round(side * ratio), round(side * ratio))
            picture.setDevicePixelRatio(ratio)
            picture.fill(Qt.GlobalColor.transparent)
            painter = QPainter(picture)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            colour = style.colour(KIND_COLOURS[KINDS[kind]])
            rect = QRectF(1, 1, side - 2, side - 2)
            if size >= ICON_FROM * style.scale:
                painter.setPen(QPen(colour, 1.5))
                painter.setBrush(QColor(blend(colour.name(), style.tokens.surface, 0.16)))
                painter.drawEllipse(rect.adjusted(0.5, 0.5, -0.5, -0.5))
                inner = max(8, round(side * 0.56))
                at = (side - inner) / 2
                painter.drawPixmap(QPointF(at, at), icons.pixmap(KIND_ICONS[KINDS[kind]], colour.name(), inner, ratio))
            else:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(colour)
                painter.drawEllipse(rect)
            painter.end()
            self._dots[key] = picture
        return self._dots[key]

    def _mark(self, painter: QPainter, model: GraphModel, view: View, points: Floats) -> None:
        """A ring around the selected node, a thinner one around the hovered node."""
        grown = sizes(model)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for node, width in ((view.hovered, 1.2), (view.chosen, 2.4)):
            if 0 <= node < len(model) and model.placed[node]:
                x, y = points[node]
                ring = radius(view.scale) * LARGER[int(grown[node])] + 3
                painter.setPen(QPen(theme().colour("text"), width))
                painter.drawEllipse(QPointF(x, y), ring, ring)

    def _label(
        self, painter: QPainter, model: GraphModel, view: View, points: Floats, placed: Bools, near: Bools
    ) -> None:
        """Names beside nodes while there is room: the selected one, its neighbours, then by degree."""
        style = theme()
        painter.setFont(style.font(12))
        metrics = QFontMetricsF(painter.font())
        wide, tall = view.size.width(), view.size.height()
        inside = placed & (points[:, 0] > 0) & (points[:, 1] > 0) & (points[:, 0] < wide) & (points[:, 1] < tall)
        if view.chosen >= 0:
            inside &= near | (np.arange(len(model)) == view.hovered)
        rank = model.degree + near * 10_000.0
        for node, worth in ((view.hovered, 20_000), (view.chosen, 30_000)):
            if 0 <= node < len(model):
                rank[node] += worth
        some = np.flatnonzero(inside)
        most = NAMES_NEAR if view.scale >= NEAR_SCALE else NAMES_FAR
        if len(some) > 3 * most:
            some = some[np.argpartition(-rank[some], 3 * most)[: 3 * most]]
        some = some[np.argsort(-rank[some], kind="stable")]
        used = np.zeros((tall // CELL + 2, wide // CELL + 2), dtype=bool)
        grown = sizes(model)
        ground = style.colour("surface")
        ground.setAlpha(205)
        self.labelled = []
        base = radius(view.scale)
        for node in some.tolist():
            text, long, high = self._name(model.entities[node].name, metrics)
            gap = base * LARGER[int(grown[node])] + 4
            y = min(max(1.0, float(points[node, 1]) - high / 2), max(1.0, tall - high - 1))
            sides = _sides(float(points[node, 0]), gap, long, wide)
            x = next((side for side in sides if not _cells(used, side, y, long, high).any()), sides[0])
            place = _cells(used, x, y, long, high)
            if place.any() and node not in (view.chosen, view.hovered):
                continue
            place[:] = True
            painter.fillRect(QRectF(x - 2, y, long + 4, high), ground)
            painter.setPen(style.colour("text"))
            painter.drawStaticText(QPointF(x, y), text)
            self.labelled.append(node)
            if len(self.labelled) >= most:
                break

    def _name(self, name: str, metrics: QFontMetricsF) -> tuple[QStaticText, float, float]:
        if name not in self._names:
            shown = metrics.elidedText(visible(name), Qt.TextElideMode.ElideMiddle, theme().px(NAME_PX))
            text = QStaticText(shown)
            text.setTextFormat(Qt.TextFormat.PlainText)
            self._names[name] = (text, metrics.horizontalAdvance(shown), metrics.height())
        return self._names[name]


def _sides(x: float, gap: float, long: float, wide: float) -> list[float]:
    """Possible left edges of a name, the best first: right of its node, left of it; always inside the widget."""
    sides = [start for start in (x + gap, x - gap - long) if start >= 2 and start + long + 2 <= wide]
    return sides or [max(2.0, wide - long - 2)]


def _cells(occupied: Bools, x: float, y: float, long: float, high: float) -> Bools:
    """The squares covered by a name."""
    return occupied[
        max(0, int(y) // CELL) : int(y + high) // CELL + 1, max(0, int(x) // CELL) : int(x + long) // CELL + 1
    ]


def _draw_lines(painter: QPainter, lines: Floats) -> None:
    """Draw all lines at once from the array's memory: four doubles are a QLineF."""
    held = np.ascontiguousarray(lines, dtype=np.float64)
    painter.drawLines(cast(QLineF, Shiboken.wrapInstance(held.ctypes.data, QLineF)), len(held))


def _draw_copies(painter: QPainter, picture: QPixmap, points: Floats, ratio: float) -> None:
    """Draw an image centred at each point; ten doubles are a PixmapFragment."""
    if not len(points):
        return
    held = np.zeros((len(points), 10))
    held[:, :2] = points
    held[:, 4], held[:, 5] = picture.width(), picture.height()
    held[:, 6] = held[:, 7] = 1 / ratio
    held[:, 9] = 1.0
    copies = cast(QPainter.PixmapFragment, Shiboken.wrapInstance(held.ctypes.data, QPainter.PixmapFragment))
    painter.drawPixmapFragments(copies, len(held), picture)
