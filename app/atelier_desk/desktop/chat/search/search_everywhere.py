"""Search everywhere: messages, tool input and output, reports and memories of all workflows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QDialog, QLineEdit, QListView, QVBoxLayout, QWidget

from atelier_desk.desktop.chat.search.hit_rows import HIT, NEEDLE, HitDelegate, spoken, who
from atelier_desk.desktop.soon import Soon
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind, control, fill, label, say
from atelier_desk.desktop.widgets.steady import OverlayBar
from atelier_desk.domain.text import visible
from atelier_desk.i18n import N_, _, ngettext

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge
    from atelier_desk.storage.repositories import SearchHit

_DELAY_MS = 220
_PAGE = 8


class SearchEverywhere(QDialog):
    """A field and its hits, by workflow, those with the newest hit first.

    Signals:
        chosen: workflow id (may be empty), kind and id of the hit to open, and the message it is or belongs to (may be empty).
    """

    chosen = Signal(str, str, str, str)

    def __init__(self, bridge: Bridge, parent: QWidget) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._task: asyncio.Task[None] | None = None
        self._hits: Sequence[SearchHit] = ()
        self.setObjectName("search-everywhere")
        self.setModal(False)
        self.field = control(
            QLineEdit(self), "search-everywhere-field", hint=N_("Messages, tool calls, reports, memories"), name=N_("Search everywhere")
        )
        self.field.setClearButtonEnabled(True)
        self.list = control(QListView(self), "search-everywhere-list", look="plain", name=N_("Search results"), on=self._choose)
        self.list.setItemDelegate(HitDelegate(self.list))
        self.list.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        OverlayBar(self.list)
        self._model = QStandardItemModel(self)
        self.list.setModel(self._model)
        self._count = control(label("", "small", self), "search-everywhere-count")
        fill(QVBoxLayout(self), self.field, (self.list, 1), self._count, margins=(16, 16, 16, 12), spacing=10)
        self._timer = Soon(self, _DELAY_MS, self.search)
        self.field.textChanged.connect(lambda *_: self._timer.start())
        self.field.installEventFilter(self)
        self.list.activated.connect(lambda *_: self._choose())
        bind(self.list.scheduleDelayedItemsLayout)
        say(self, title=N_("Search everywhere"))
        bind(self._show, lambda: self.field.text().strip(), on="language")

    def popup(self, text: str = "") -> None:
        """Show it, no larger than the window, with ``text`` looked for when there is any."""
        above = self.parentWidget()
        room = above.size() - QSize(40, 40) if above is not None else QSize(4096, 4096)
        self.resize(QSize(theme().px(680), theme().px(560)).boundedTo(room))
        if text:
            self.field.setText(text)
        self.show()
        self.raise_()
        self.activateWindow()
        self.field.setFocus()
        self.field.selectAll()

    def search(self) -> None:
        """Ask the engine; an earlier question that still runs is dropped."""
        self._timer.stop()
        if self._task is not None and not self._task.done():
            self._task.cancel()
        self._task = self._bridge.jobs.start(self._search(self.field.text().strip()))

    async def _search(self, needle: str) -> None:
        if needle:
            self._count.setText(_("Searching…"))
        self._hits = await self._bridge.engine.workflows.search(needle) if needle else ()
        self._show(needle)

    def _show(self, needle: str) -> None:
        """A heading for each workflow, then its hits."""
        self._model.clear()
        groups: dict[str, list[SearchHit]] = {}
        for hit in self._hits:
            groups.setdefault(hit.workflow_id, []).append(hit)
        for workflow_id, found in groups.items():
            heading = QStandardItem(visible(found[0].workflow_name if workflow_id else _("Memories of all workflows")))
            heading.setFlags(Qt.ItemFlag.NoItemFlags)
            self._model.appendRow(heading)
            for hit in found:
                item = QStandardItem(visible(who(hit)))
                item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
                item.setData(hit, HIT)
                item.setData(needle, NEEDLE)
                item.setData(visible(spoken(hit)), Qt.ItemDataRole.AccessibleTextRole)
                self._model.appendRow(item)
        if self._hits:
            self.list.setCurrentIndex(self._model.index(1, 0))
            self.list.scrollToTop()
            self._count.setText(ngettext("{n} result", "{n} results", len(self._hits)))
        else:
            self._count.setText(_("No results in messages, tool calls, reports and memories") if needle else "")

    def _choose(self) -> None:
        hit = self.list.currentIndex().data(HIT)
        if hit is not None:
            self.hide()
            self.chosen.emit(hit.workflow_id, hit.kind, hit.row_id, hit.message_id)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()

    def _step(self, by: int) -> None:
        """To the next or previous hit; headings are passed over, and the ends hold."""
        row = min(max(self.list.currentIndex().row() + by, 0), self._model.rowCount() - 1)
        while 0 <= row < self._model.rowCount() and self._model.index(row, 0).data(HIT) is None:
            row += 1 if by > 0 else -1
        if 0 <= row < self._model.rowCount():
            self.list.setCurrentIndex(self._model.index(row, 0))
            if self._model.index(row - 1, 0).data(HIT) is None:
                self.list.scrollTo(self._model.index(row - 1, 0))  # with its heading

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            moves = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: _PAGE, Qt.Key.Key_PageUp: -_PAGE}
            if event.key() in moves:
                self._step(moves[Qt.Key(event.key())])
                return True
            if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
                self._choose()
                return True
        return super().eventFilter(watched, event)
