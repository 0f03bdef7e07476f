"""Search everywhere: messages, tool input and output, reports and memories of all workflows."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QDialog, QLineEdit, QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QVBoxLayout, QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import control, fill, label, say
from atelier_desk.i18n import N_, _, ngettext

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge
    from atelier_desk.storage.repositories import SearchHit

_DELAY_MS = 220
_HIT = Qt.ItemDataRole.UserRole
_ICONS = {"message": "message-square", "tool_execution": "terminal", "report": "file-text", "memory": "brain"}


class _HitDelegate(QStyledItemDelegate):
    """Two lines: where it is, and the words around it."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(100, theme().px(54))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:
        look = theme()
        rect: QRect = option.rect
        hit: SearchHit = index.data(_HIT)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        selected = option.state & QStyle.StateFlag.State_Selected
        if selected:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(look.colour("accent_soft"))
            painter.drawRoundedRect(rect.adjusted(2, 1, -2, -1), 8, 8)
        side = look.px(16)
        picture = look.pixmap(_ICONS.get(hit.kind, "search"), "muted", side, painter.device().devicePixelRatio())
        painter.drawPixmap(rect.left() + 14, rect.top() + look.px(10), picture)
        inner = rect.adjusted(14 + side + 10, look.px(7), -12, -look.px(7))
        painter.setFont(look.font(12, 600))
        painter.setPen(look.colour("text" if selected else "muted"))
        metrics = painter.fontMetrics()
        painter.drawText(inner, int(Qt.AlignmentFlag.AlignTop), metrics.elidedText(where(hit), Qt.TextElideMode.ElideRight, inner.width()))
        painter.setFont(look.font(14))
        painter.setPen(look.colour("text"))
        words = " ".join(hit.excerpt.split())
        text = painter.fontMetrics().elidedText(words, Qt.TextElideMode.ElideRight, inner.width())
        painter.drawText(inner, int(Qt.AlignmentFlag.AlignBottom), text)
        painter.restore()


def where(hit: SearchHit) -> str:
    """Kind and workflow of a hit, in words."""
    kinds = {"message": _("Message"), "tool_execution": _("Tool call"), "report": _("Report"), "memory": _("Memory")}
    kind = kinds.get(hit.kind, hit.kind)
    return f"{kind} · {hit.workflow_name}" if hit.workflow_name else kind


class SearchEverywhere(QDialog):
    """A field and its hits.

    Signals:
        chosen: workflow id (may be empty), kind and row id of the hit to open.
    """

    chosen = Signal(str, str, str)

    def __init__(self, bridge: Bridge, parent: QWidget) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._task: asyncio.Task[None] | None = None
        self.setObjectName("search-everywhere")
        self.setModal(False)
        self.field = control(
            QLineEdit(self), "search-everywhere-field", hint=N_("Messages, tool calls, reports, memories"), name=N_("Search everywhere")
        )
        self.field.setClearButtonEnabled(True)
        self.list = control(QListView(self), "search-everywhere-list", look="plain", name=N_("Places found"), on=self._choose)
        self.list.setItemDelegate(_HitDelegate(self.list))
        self.list.setUniformItemSizes(True)
        self._model = QStandardItemModel(self)
        self.list.setModel(self._model)
        self._count = label("", "small", self)
        fill(QVBoxLayout(self), self.field, (self.list, 1), self._count, margins=(16, 16, 16, 12), spacing=10)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_DELAY_MS)
        self._timer.timeout.connect(self.search)
        self.field.textChanged.connect(lambda *_: self._timer.start())
        self.field.installEventFilter(self)
        self.list.activated.connect(lambda *_: self._choose())
        say(self, title=N_("Search everywhere"))

    def popup(self, text: str = "") -> None:
        """Show it, with ``text`` looked for when there is any."""
        self.resize(theme().px(680), theme().px(520))
        if text:
            self.field.setText(text)
        self.show()
        self.raise_()
        self.activateWindow()
        self.field.setFocus()
        self.field.selectAll()

    def search(self) -> None:
        """Ask the engine; an earlier question that still runs is dropped."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
        self._task = self._bridge.jobs.start(self._search(self.field.text().strip()))

    async def _search(self, needle: str) -> None:
        hits = await self._bridge.engine.workflows.search(needle) if needle else []
        self._model.clear()
        for hit in hits:
            item = QStandardItem()
            item.setEditable(False)
            item.setData(hit, _HIT)
            item.setData(f"{where(hit)}: {hit.excerpt}", Qt.ItemDataRole.AccessibleTextRole)
            self._model.appendRow(item)
        if hits:
            self.list.setCurrentIndex(self._model.index(0, 0))
            self._count.setText(ngettext("{n} place", "{n} places", len(hits)))
        else:
            self._count.setText(_("Nothing found") if needle else "")

    def _choose(self) -> None:
        hit = self.list.currentIndex().data(_HIT)
        if hit is not None:
            self.hide()
            self.chosen.emit(hit.workflow_id or "", hit.kind, hit.row_id)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if event.key() in {Qt.Key.Key_Down, Qt.Key.Key_Up, Qt.Key.Key_PageDown, Qt.Key.Key_PageUp}:
                self.list.event(event)
                return True
            if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
                self._choose()
                return True
        return super().eventFilter(watched, event)
