"""How a workflow looks in the list: icon, name, state dot, badge for what waits for a person; and the field to rename it."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QLineEdit, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from atelier_desk.desktop.sidebar.model import HEADING, UNREAD, WORKFLOW, Index
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import control

_ROW, _HEADING, _FIRST_HEADING = 34, 34, 26
_DOTS = {"running": "accent", "waiting": "warn", "paused": "muted", "interrupted": "warn", "error": "err"}
MAX_NAME = 256


class WorkflowDelegate(QStyledItemDelegate):
    """Paints rows and headings; ``menu_rect`` is where the … of the row under the pointer is."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        if index.data(HEADING):
            return QSize(60, theme().px(_FIRST_HEADING if index.row() == 0 else _HEADING))
        return QSize(60, theme().px(_ROW))

    @staticmethod
    def menu_rect(rect: QRect) -> QRect:
        side = theme().px(22)
        return QRect(rect.right() - side - 3, rect.center().y() - side // 2 + 1, side, side)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        look = theme()
        rect: QRect = option.rect
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        heading = index.data(HEADING)
        if heading:
            painter.setFont(look.font(12, 600))
            painter.setPen(look.colour("muted"))
            box = rect.adjusted(2, 0, -4, -look.px(5))
            painter.drawText(box, int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom), str(heading).upper())
        else:
            self._paint_row(painter, option, index)
        painter.restore()

    def _paint_row(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        from PySide6.QtWidgets import QStyle

        look = theme()
        rect: QRect = option.rect
        state = option.state
        workflow = index.data(WORKFLOW)
        unread = bool(index.data(UNREAD))
        selected = bool(state & QStyle.StateFlag.State_Selected)
        hovered = bool(state & QStyle.StateFlag.State_MouseOver)
        box = rect.adjusted(0, 1, 0, -1)
        if selected or hovered:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(look.colour("accent_soft" if selected else "hover"))
            painter.drawRoundedRect(box, 8, 8)
        if state & QStyle.StateFlag.State_HasFocus and selected:
            painter.setPen(look.colour("accent"))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5), 8, 8)
        side = look.px(15)
        icon = "pin" if workflow.pinned else "message-square"
        picture = look.pixmap(icon, "accent" if selected else "muted", side, painter.device().devicePixelRatio())
        painter.drawPixmap(box.left() + 11, box.center().y() - side // 2 + 1, picture)
        right = box.right() - 10
        if hovered:
            menu = self.menu_rect(rect)
            picture = look.pixmap("ellipsis", "text", side, painter.device().devicePixelRatio())
            painter.drawPixmap(menu.center() - QPoint(side // 2, side // 2), picture)
            right = menu.left() - 4
        else:
            waiting = workflow.pending_questions + workflow.pending_approvals
            right = self._paint_state(painter, workflow.status.value, waiting, box, right, unread)
        painter.setFont(look.font(14, 600 if unread else 500 if selected else 400))
        painter.setPen(look.colour("text"))
        left = box.left() + 11 + side + 8
        space = QRect(left, box.top(), right - left, box.height())
        text = QFontMetrics(painter.font()).elidedText(workflow.name, Qt.TextElideMode.ElideRight, space.width())
        painter.drawText(space, int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter), text)

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
        side = 7
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
