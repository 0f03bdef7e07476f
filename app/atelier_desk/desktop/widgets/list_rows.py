"""Rows of lists: ``ListRow`` describes one, ``RowDelegate`` paints it and handles clicks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QImage, QMouseEvent, QPainter, QStandardItem, QTextLayout, QTextOption
from PySide6.QtWidgets import (
    QAbstractItemView,
    QLineEdit,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeWidgetItem,
    QWidget,
)

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.language_theme_bindings import Text, control
from atelier_desk.desktop.widgets.row_paint import (
    RIGHT,
    Face,
    draw_bold,
    draw_marked,
    face,
    paint_dot,
    paint_ground,
    paint_symbol,
    paint_text,
    quiet,
)
from atelier_desk.desktop.widgets.text_matching import found_places
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.support.visible_and_shortened_text import visible

RowRole = Qt.ItemDataRole.UserRole + 100
"""Model role of the ``ListRow``, unless the delegate has a function that creates one."""
INDENT, MARGIN, GAP = 14, 10, 8
"""Pixels at 100 %: per indentation level, beside a row, and between its parts.

The scroll bar overlays the right margin.
"""
TITLE_SHARE = 0.7
"""Maximum share of the first line for a title with something beside it."""
END_SHARE = 0.4
"""The same for the text at the end, if there is no room for all."""
_APART = 1
"""Pixels between the title and the next line."""
_STATE = QStyle.StateFlag
_Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True, slots=True)
class RowAction:
    """A clickable icon at the end of a row; ``on_hover``: only under the pointer, replacing badge and dot."""

    name: str
    icon: str
    role: str = "muted"
    on_hover: bool = False


@dataclass(slots=True)  # not frozen, which takes nine times as long: a list creates one for every measured row
class ListRow:
    """The content of a row. Texts are elided if needed, and invisible characters are made visible.

    Attributes:
        title: empty for a row that is only a heading.
        name: the title is a name, such as a file's, which is elided in the middle.
        trailing: subdued, after the title.
        end: subdued, on the right; elided at its beginning.
        facts: subdued, below the title.
        lines: an excerpt below the title; ``code``: in the code font.
        needle: the search text, highlighted in bold in title and lines.
        note: in the accent colour below everything.
        heading: above the row.
        icon: None reserves no space, an empty name leaves it blank.
        picture: replaces the icon, which becomes a dot of its colour in the corner.
        icon_action: the action of a click on the icon; empty for none.
        colour: of the title.
        wrap: maximum lines of the title; if set, nothing is beside it.
        badge: a count of waiting items, in the warning colour.
        dot: colour of a dot on the right, if there is no badge.
        marks: icons on the right.
        marked: its background is coloured; None: when selected.
        framed: a menu is open for it.
        said: its accessible text, if not its texts in order.
        tip: tool tip; empty for title and facts.
    """

    title: str = ""
    name: bool = False
    trailing: str = ""
    end: str = ""
    facts: str = ""
    lines: tuple[str, ...] = ()
    needle: str = ""
    code: bool = False
    note: str = ""
    heading: str = ""
    icon: str | None = None
    role: str = "muted"
    picture: QImage | None = None
    icon_action: str = ""
    colour: str = "text"
    weight: int = 400
    wrap: int = 1
    depth: int = 0
    badge: str = ""
    dot: str = ""
    marks: tuple[str, ...] = ()
    actions: tuple[RowAction, ...] = ()
    marked: bool | None = None
    framed: bool = False
    accessible_text: str = ""
    tip: str = ""

    @property
    def spoken(self) -> str:
        """All its texts in one line, for a screen reader."""
        return self.accessible_text or ", ".join(
            filter(None, (self.heading, self.title, self.trailing, self.facts, self.end))
        )


def show_row(item: QListWidgetItem | QTreeWidgetItem | QStandardItem, row: ListRow) -> None:
    """Show a row in an item: its title as text, everything as accessible text and tool tip.

    An item that already shows it is not repainted.
    """
    if row == (item.data(0, RowRole) if isinstance(item, QTreeWidgetItem) else item.data(RowRole)):
        return
    values = {
        Qt.ItemDataRole.DisplayRole: visible(row.title or row.heading),
        Qt.ItemDataRole.ToolTipRole: plain_tip(row.tip or "\n".join(filter(None, (row.title, row.facts)))),
        Qt.ItemDataRole.AccessibleTextRole: visible(row.spoken),
        RowRole: row,
    }
    for role, value in values.items():
        match item:
            case QListWidgetItem():
                item.setData(role, value)
            case QTreeWidgetItem():
                item.setData(0, role, value)
            case _:
                item.setData(value, role)


class RowDelegate(QStyledItemDelegate):
    """Paints the rows of a list, and edits titles in place.

    A row's height depends on its width only if its title wraps.

    Signals:
        acted: an icon of this row was clicked, with the name of its action.

    Args:
        of: creates the row of an index; default: its ``RowRole``.
        size: pixels of the title at 100 %.
        pad: pixels above and below a row at 100 %.
        rename: accessible name of the title's editor, and its maximum length.
    """

    acted = Signal(QModelIndex, str)

    def __init__(
        self,
        view: QAbstractItemView,
        of: Callable[[_Index], ListRow] | None = None,
        *,
        size: int = 14,
        pad: int = 6,
        rename: tuple[Text, int] = ("", 0),
    ) -> None:
        super().__init__(view)
        self._view, self._of, self._size, self._pad, self._rename = view, of, size, pad, rename

    def row(self, index: _Index) -> ListRow:
        """The row of an index."""
        return self._of(index) if self._of is not None else index.data(RowRole) or ListRow(str(index.data() or ""))

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        row = self.row(index)
        titles = len(self._titles(row, self._width())) if row.wrap > 1 else 1
        heading, small = self._heading(row) if row.title else 0, bool(row.facts) + bool(row.note)
        return _hint(theme().scale, self._size, self._pad, heading, titles, small, len(row.lines), row.code)

    def _face(self, weight: int = 400) -> Face:
        return face(self._size, weight)

    @staticmethod
    def _heading(row: ListRow) -> int:
        """Height of the heading above a row."""
        return face(12, 600).height + theme().px(GAP) if row.heading else 0

    def _width(self) -> int:
        """Text width of a wrapping row, which has no icon."""
        return max(40, self._view.viewport().width() - 2 * theme().px(MARGIN))

    def _titles(self, row: ListRow, width: int) -> list[str]:
        """The first lines of a wrapping title."""
        text = visible(" ".join(row.title.split()))
        layout = QTextLayout(text, self._face(row.weight).font)
        layout.setTextOption(_WRAPPED)
        layout.beginLayout()
        starts: list[int] = []
        while len(starts) <= row.wrap and (line := layout.createLine()).isValid():
            line.setLineWidth(width)
            starts.append(line.textStart())
        layout.endLayout()
        units = text.encode("utf-16-le")  # Qt counts UTF-16 units
        parts = [
            units[2 * a : 2 * b].decode("utf-16-le") for a, b in zip(starts, [*starts[1:], len(units)], strict=True)
        ]
        return [*parts[: row.wrap - 1], "".join(parts[row.wrap - 1 :])] if len(parts) > row.wrap else parts

    def _first_line(self, rect: QRect, row: ListRow) -> QRect:
        """The rectangle of a row's first line, including its icon."""
        style = theme()
        top = rect.top() + self._heading(row) + style.px(self._pad)
        left = rect.left() + style.px(MARGIN + INDENT * row.depth)
        return QRect(left, top, rect.right() + 1 - style.px(MARGIN) - left, self._face().height)

    def _icon(self, line: QRect) -> QRect:
        side = theme().px(self._size + 2)
        return QRect(line.left(), line.center().y() - side // 2 + 1, side, side)

    def _actions(self, line: QRect, row: ListRow, hovered: bool) -> list[tuple[RowAction, QRect]]:
        """The clickable icons on the right."""
        side, right, placed = theme().px(16), line.right() + 1, []
        for action in row.actions:
            if hovered or not action.on_hover:
                placed.append((action, QRect(right - side, line.center().y() - side // 2 + 1, side, side)))
                right -= side + theme().px(GAP)
        return placed

    def action_at(self, index: _Index, place: QPoint) -> str:
        """The action at this viewport position; empty for a click on the row itself."""
        row, rect = self.row(index), self._view.visualRect(index)
        line = self._first_line(rect, row)
        reach = theme().px(6)
        if row.icon_action and self._icon(line).adjusted(-reach, -reach, reach, reach).contains(place):
            return row.icon_action
        within = (
            each.name
            for each, at in self._actions(line, row, True)
            if at.adjusted(-reach, -reach, reach, reach).contains(place)
        )
        return next(within, "")

    def editorEvent(
        self, event: QEvent, model: QAbstractItemModel, option: QStyleOptionViewItem, index: _Index
    ) -> bool:
        if isinstance(event, QMouseEvent) and event.type() == QEvent.Type.MouseButtonRelease:
            name = (
                self.action_at(index, event.position().toPoint()) if event.button() == Qt.MouseButton.LeftButton else ""
            )
            if name:
                self.acted.emit(index, name)
                return True
        return super().editorEvent(event, model, option, index)

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: _Index) -> QWidget:
        name, most = self._rename
        field = control(QLineEdit(parent), "rename-field", name=name)
        field.setMaxLength(most)
        return field

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, index: _Index) -> None:
        rect = option.rect
        left = self._icon(self._first_line(rect, self.row(index))).right() + 2
        editor.setGeometry(left, rect.top(), rect.right() - left, max(rect.height(), editor.sizeHint().height()))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        row, rect = self.row(index), QRect(option.rect)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if row.heading:
            high = self._heading(row) if row.title else rect.height() - theme().px(4)
            place = QRect(rect.left(), rect.top(), rect.width(), high).adjusted(
                theme().px(MARGIN), 0, -theme().px(MARGIN), 0
            )
            place.setTop(place.bottom() + 1 - face(12, 600).height)
            paint_text(painter, place, row.heading, face(12, 600), "muted")
        if row.title:
            self._paint_row(painter, rect, option.state, row)
        painter.restore()

    def _paint_row(self, painter: QPainter, rect: QRect, state: QStyle.StateFlag, row: ListRow) -> None:
        style, line = theme(), self._first_line(rect, row)
        marked = bool(state & _STATE.State_Selected) if row.marked is None else row.marked
        muted = quiet(marked)
        paint_ground(painter, rect.adjusted(2, self._heading(row) + 1, -2, -1), state, marked, row.framed)
        left = line.left()
        if row.icon is not None:
            icon = self._icon(line)
            self._paint_icon(painter, icon, row)
            left = icon.right() + 1 + style.px(GAP)
        right = self._paint_right(painter, line, row, bool(state & _STATE.State_MouseOver))
        first = QRect(left, line.top(), right - left, line.height())
        colour = muted if row.colour == "muted" else row.colour
        if row.wrap > 1:
            titles = self._titles(row, first.width())
            for number, text in enumerate(titles):
                paint_text(painter, first.translated(0, number * line.height()), text, self._face(row.weight), colour)
            line.translate(0, (len(titles) - 1) * line.height())
        else:
            self._paint_first(painter, first, row, colour, muted)
        below = QRect(left, line.bottom() + 1 + _APART, line.right() + 1 - left, 0)
        for text in row.lines:
            below.setHeight(_excerpt_face(row.code).height)
            draw_marked(painter, below, text, row.needle, _excerpt_face(row.code))
            below.translate(0, below.height())
        below.setHeight(face(12).height)
        for text, role in ((row.facts, muted), (row.note, "accent")):
            if text:
                paint_text(painter, below, text, face(12), role)
                below.translate(0, below.height())

    @staticmethod
    def _paint_icon(painter: QPainter, place: QRect, row: ListRow) -> None:
        if row.picture is None:
            paint_symbol(painter, place, row.icon or "", row.role)
            return
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        shown = QRect(QPoint(), row.picture.size().scaled(place.size(), Qt.AspectRatioMode.KeepAspectRatio))
        shown.moveCenter(place.center())
        painter.drawImage(shown, row.picture)
        dot = place.width() // 3
        paint_dot(painter, QRectF(place.right() + 1 - dot, place.bottom() + 1 - dot, dot, dot), row.role)

    def _paint_right(self, painter: QPainter, line: QRect, row: ListRow, hovered: bool) -> int:
        """Paint actions, marks, and badge or dot; returns their left edge."""
        style, right = theme(), line.right() + 1
        actions = self._actions(line, row, hovered)
        for action, place in actions:
            paint_symbol(painter, place, action.icon, action.role)
            right = place.left() - style.px(GAP)
        side = style.px(14)
        for name in reversed(row.marks):
            paint_symbol(painter, QRect(right - side, line.center().y() - side // 2 + 1, side, side), name, "muted")
            right -= side + style.px(GAP) // 2
        if any(action.on_hover for action, _place in actions):
            return right
        if row.badge:
            font, high = face(12, 600), style.px(18)
            wide = max(high, font.metrics.horizontalAdvance(visible(row.badge)) + style.px(10))
            place = QRect(right - wide, line.center().y() - high // 2 + 1, wide, high)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(style.colour("warn_soft"))
            painter.drawRoundedRect(place, high / 2, high / 2)
            paint_text(painter, place, row.badge, font, "warn_text", int(Qt.AlignmentFlag.AlignCenter))
            return place.left() - style.px(GAP)
        if row.dot:
            side = style.px(7)
            paint_dot(painter, QRectF(right - side, line.center().y() - side / 2 + 1, side, side), row.dot)
            return right - side - style.px(GAP)
        return right

    def _paint_first(self, painter: QPainter, first: QRect, row: ListRow, colour: str, muted: str) -> None:
        """Paint title, trailing text and end: the end yields to both, but keeps its share."""
        font, small, gap = self._face(row.weight), face(12), theme().px(GAP)
        title, trailing, end = visible(row.title), visible(row.trailing), visible(row.end)
        names, others = font.metrics, small.metrics
        if end:
            needed = (
                names.horizontalAdvance(title) + gap + (others.horizontalAdvance(trailing) + gap if trailing else 0)
            )
            room = min(others.horizontalAdvance(end) + 1, max(round(first.width() * END_SHARE), first.width() - needed))
            place = QRect(first.right() + 1 - room, first.top(), room, first.height())
            paint_text(painter, place, end, small, muted, RIGHT, Qt.TextElideMode.ElideLeft)
            first = first.adjusted(0, 0, -room - gap, 0)
        mode = Qt.TextElideMode.ElideMiddle if row.name else Qt.TextElideMode.ElideRight
        shown = names.elidedText(title, mode, round(first.width() * (TITLE_SHARE if trailing else 1)))
        if row.needle and (found := found_places(row.needle, shown)):
            draw_bold(painter, first, shown, found, font, colour)
        else:
            paint_text(painter, first, shown, font, colour)
        if trailing and (left := names.horizontalAdvance(shown) + gap) < first.width() - theme().px(24):
            paint_text(painter, first.adjusted(left, 0, 0, 0), trailing, small, muted)


@cache
def _hint(_scale: float, size: int, pad: int, heading: int, titles: int, small: int, lines: int, code: bool) -> QSize:
    """The size by content, cached: a list has thousands of rows, of few kinds."""
    below = small * face(12).height + lines * _excerpt_face(code).height
    return QSize(
        theme().px(80), heading + titles * face(size).height + (below and below + _APART) + 2 * theme().px(pad)
    )


def _excerpt_face(code: bool) -> Face:
    return face(12 if code else 13, mono=code)


_WRAPPED = QTextOption()
_WRAPPED.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
