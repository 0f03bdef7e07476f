"""How the rows of the list look: workflows with state dot and badge, folders, headings, found messages; and the field to rename."""

from __future__ import annotations

from collections.abc import Collection

from PySide6.QtCore import QObject, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QLineEdit, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from atelier_desk.desktop.sidebar.model import ARCHIVE, ROW, Index, Row, said
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import control
from atelier_desk.domain.text import visible

_ROW, _HEADING, _FIRST_HEADING, _HIT = 34, 34, 26, 54
_DOTS = {"running": "accent", "waiting": "warn", "paused": "muted", "interrupted": "warn", "error": "err"}
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_INDENT = 12
MAX_NAME = 256


class WorkflowDelegate(QStyledItemDelegate):
    """Paints rows; ``menu_rect`` is where the … of the row under the pointer is.

    Attributes:
        shown_id: the workflow in view; its row is marked whatever is selected.
        asked: the workflows a menu is open for: they are framed, and nothing else changes.
        several: more than one row is selected; those get a tick.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.shown_id = ""
        self.asked: Collection[str] = ()
        self.several = False

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        row: Row = index.data(ROW)
        if row.hit is not None:
            return QSize(60, theme().px(_HIT))
        if row.heading and not row.fold:
            return QSize(60, theme().px(_FIRST_HEADING if index.row() == 0 else _HEADING))
        return QSize(60, theme().px(_ROW))

    @staticmethod
    def menu_rect(rect: QRect) -> QRect:
        side = theme().px(22)
        return QRect(rect.right() - side - 3, rect.center().y() - side // 2 + 1, side, side)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row: Row = index.data(ROW)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if row.workflow is not None:
            self._paint_workflow(painter, option, row)
        elif row.hit is not None:
            self._paint_hit(painter, option, row)
        elif row.fold:
            self._paint_fold(painter, option, row)
        else:
            look = theme()
            painter.setFont(look.font(12, 600))
            painter.setPen(look.colour("muted"))
            box = option.rect.adjusted(2, 0, -4, -look.px(5))
            painter.drawText(box, int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom), visible(row.heading.upper()))
        painter.restore()

    def _ground(self, painter: QPainter, option: QStyleOptionViewItem, marked: bool, framed: bool = False) -> QRect:
        """What is below a row: marked, under the pointer or the keyboard, or framed because a menu is open for it. Gives its box."""
        look = theme()
        state = option.state
        box = option.rect.adjusted(0, 1, 0, -1)
        if marked or framed or state & (QStyle.StateFlag.State_MouseOver | QStyle.StateFlag.State_Selected):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(look.colour("accent_soft" if marked else "hover"))
            painter.drawRoundedRect(box, 8, 8)
        if framed or state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(look.colour("muted" if framed else "accent"))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5), 8, 8)
        return box

    def _icon(self, painter: QPainter, name: str, role: str, box: QRect, left: int) -> int:
        """A row's icon; gives where its text begins."""
        side = theme().px(15)
        picture = theme().pixmap(name, role, side, painter.device().devicePixelRatio())  # type: ignore[arg-type]
        painter.drawPixmap(left, box.center().y() - side // 2 + 1, picture)
        return left + side + 8

    def _paint_workflow(self, painter: QPainter, option: QStyleOptionViewItem, row: Row) -> None:
        look = theme()
        workflow = row.workflow
        assert workflow is not None
        ticked = self.several and bool(option.state & QStyle.StateFlag.State_Selected)
        shown = workflow.id == self.shown_id
        box = self._ground(painter, option, ticked or shown, workflow.id in self.asked)
        icon = "check" if ticked else "pin" if workflow.pinned else "message-square"
        begin = box.left() + 11 + (look.px(_INDENT) if row.indented else 0)
        left = self._icon(painter, icon, "accent" if ticked or shown else "muted", box, begin)
        right = box.right() - 10
        if option.state & QStyle.StateFlag.State_MouseOver:
            menu, side = self.menu_rect(option.rect), look.px(15)
            picture = look.pixmap("ellipsis", "text", side, painter.device().devicePixelRatio())
            painter.drawPixmap(menu.center() - QPoint(side // 2, side // 2), picture)
            right = menu.left() - 4
        else:
            waiting = workflow.pending_questions + workflow.pending_approvals
            right = self._paint_state(painter, workflow.status.value, waiting, box, right, workflow.unread)
        painter.setFont(look.font(14, 600 if workflow.unread else 500 if shown else 400))
        painter.setPen(look.colour("muted" if workflow.archived and not shown else "text"))
        _draw(painter, QRect(left, box.top(), right - left, box.height()), workflow.name)

    def _paint_fold(self, painter: QPainter, option: QStyleOptionViewItem, row: Row) -> None:
        """A folder, or the archive: opened and closed by a click."""
        look = theme()
        box = self._ground(painter, option, False, row.fold in self.asked)
        icon = "archive" if row.fold == ARCHIVE else "folder" if row.closed else "folder-open"
        left = self._icon(painter, icon, "muted", box, box.left() + 11)
        arrow = look.px(13)
        picture = look.pixmap("chevron-right" if row.closed else "chevron-down", "muted", arrow, painter.device().devicePixelRatio())
        painter.drawPixmap(box.right() - 9 - arrow, box.center().y() - arrow // 2 + 1, picture)
        painter.setFont(look.font(12))
        painter.setPen(look.colour("muted"))
        right = box.right() - 9 - arrow - 6
        space = QRect(left, box.top(), right - left, box.height())
        painter.drawText(space, int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), str(row.count))
        right -= painter.fontMetrics().horizontalAdvance(str(row.count)) + 8
        painter.setFont(look.font(14, 500))
        painter.setPen(look.colour("text"))
        _draw(painter, QRect(left, box.top(), right - left, box.height()), row.heading)

    def _paint_hit(self, painter: QPainter, option: QStyleOptionViewItem, row: Row) -> None:
        """A message: its workflow's name, and below it the words around the first one that was looked for."""
        look = theme()
        assert row.hit is not None
        box = self._ground(painter, option, False)
        inner = box.adjusted(11, look.px(6), -10, -look.px(6))
        painter.setFont(look.font(13, 500))
        painter.setPen(look.colour("text"))
        upper = QRect(inner.left(), inner.top(), inner.width(), inner.height() // 2)
        _draw(painter, upper, row.hit.workflow_name)
        painter.setFont(look.font(12))
        painter.setPen(look.colour("muted"))
        _draw(painter, upper.translated(0, inner.height() - upper.height()), said(row.hit))

    @staticmethod
    def _paint_state(painter: QPainter, status: str, waiting: int, box: QRect, right: int, unread: bool = False) -> int:
        """The badge for what waits for a person, else the dot of the state, else that of an end nobody saw; returns what is left of it."""
        look = theme()
        if waiting:
            painter.setFont(look.font(12, 600))
            text = str(waiting)
            width = max(look.px(18), painter.fontMetrics().horizontalAdvance(text) + 10)
            height = look.px(18)
            badge = QRectF(right - width, box.center().y() - height / 2 + 1, width, height)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(look.colour("warn_soft"))
            painter.drawRoundedRect(badge, height / 2, height / 2)
            painter.setPen(look.colour("warn_text"))
            painter.drawText(badge, int(Qt.AlignmentFlag.AlignCenter), text)
            return round(badge.left()) - 6
        role = _DOTS.get(status) or ("ok" if unread else None)
        if role is None:
            return right
        side = look.px(7)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(look.colour(role))
        painter.drawEllipse(QRectF(right - side, box.center().y() - side / 2 + 1, side, side))
        return right - side - 6

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        field = control(QLineEdit(parent), "rename-field")
        field.setMaxLength(MAX_NAME)
        return field

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, index: Index) -> None:
        editor.setGeometry(option.rect.adjusted(0, 0, 0, 0))


def _draw(painter: QPainter, space: QRect, words: str) -> None:
    """One line, with an ellipsis where it does not fit."""
    text = QFontMetrics(painter.font()).elidedText(visible(words), Qt.TextElideMode.ElideRight, space.width())
    painter.drawText(space, int(_LEFT), text)
