"""Search everywhere: messages, tool input and output, reports and memories of all workflows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QDialog, QLineEdit, QWidget

from atelier_desk.desktop.chat.search.search_everywhere_rows import hit_row
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind, bind_text, control, label, vbox
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.desktop.widgets.search_result_list import SearchList
from atelier_desk.support.i18n import N_, _, ngettext

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.storage.repositories import SearchHit

_DELAY_MS = 220
SLOW_S = 1.0
"""Seconds after which a search says what it waits for."""


class SearchEverywhere(QDialog):
    """A field and its results, by workflow, the one with the newest result first.

    Signals:
        chosen: workflow id (may be empty), kind and id of the result, and the message it is or belongs to (may be
            empty).
    """

    chosen = Signal(str, str, str, str)

    def __init__(self, bridge: Bridge, parent: QWidget) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._task: asyncio.Task[None] | None = None
        self._hits: Sequence[SearchHit] = ()
        self._searched = ""
        self.setObjectName("search-everywhere")
        self.setModal(False)
        self.field = control(
            QLineEdit(self),
            "search-everywhere-field",
            hint=N_("Messages, tool calls, reports, memories"),
            name=N_("Search everywhere"),
        )
        self.field.setClearButtonEnabled(True)
        self.list = bind_text(
            SearchList(self, "search-everywhere", self.field, nothing=self._nothing_words, tab=True),
            name=N_("Search results"),
        )
        self.list.chosen.connect(self._choose)
        self._count = control(label("", "small", self), "search-everywhere-count")
        vbox(
            self,
            self.field,
            (self.list.nothing, 1),
            (self.list, 1),
            self._count,
            margins=(16, 16, 16, 12),
            spacing=10,
        )
        self._timer = Debouncer(self, _DELAY_MS, self.search)
        self.field.textChanged.connect(lambda *_: self._timer.start())
        bind_text(self, title=N_("Search everywhere"))
        bind(self._fit, on="look")
        bind(self._show, lambda: self.field.text().strip(), on="language")

    def popup(self, text: str = "") -> None:
        """Show it, at most as large as the window, and search for ``text`` if given."""
        self._fit()
        if text:
            self.field.setText(text)
        self.show()
        self.raise_()
        self.activateWindow()
        self.field.setFocus()
        self.field.selectAll()

    def _fit(self) -> None:
        above = self.parentWidget()
        room = above.size() - QSize(40, 40) if above is not None else QSize(4096, 4096)
        self.resize(QSize(theme().px(680), theme().px(560)).boundedTo(room))

    def search(self) -> None:
        """Query the engine; a running query is dropped."""
        self._timer.stop()
        if self._task is not None and not self._task.done():
            self._task.cancel()
        self._task = self._bridge.jobs.start(self._search(self.field.text().strip()))

    async def _search(self, needle: str) -> None:
        self._hits = await self._found(needle) if needle else ()
        self._show(needle)

    async def _found(self, needle: str) -> Sequence[SearchHit]:
        """Query the engine, and show how much of the history it has read when it must first read it, as after an
        upgrade.
        """
        engine = self._bridge.engine
        self._count.setText(_("Searching…"))
        found = asyncio.ensure_future(engine.workflows.search(needle))
        try:
            while not (await asyncio.wait({found}, timeout=SLOW_S))[0]:
                if (read := await engine.usage.reading()) is not None:
                    text = _("Reading workflow history: {done} of {total}…", done=read[0], total=read[1])
                    self._count.setText(text)
            return found.result()
        except Exception:
            self._count.clear()
            raise
        finally:
            found.cancel()

    def _show(self, needle: str) -> None:
        """Show a heading per workflow with its results."""
        groups: dict[str, list[SearchHit]] = {}
        for hit in self._hits:
            groups.setdefault(hit.workflow_id, []).append(hit)
        self.list.fill(
            (
                found[0].workflow_name if workflow_id else _("Memories for all workflows"),
                ((hit_row(hit, needle), hit) for hit in found),
            )
            for workflow_id, found in groups.items()
        )
        self._searched = needle
        bind_text(self.list.nothing)
        self._count.setText(ngettext("{n} result", "{n} results", len(self._hits)) if self._hits else "")

    def _nothing_words(self) -> str:
        return _("No results in messages, tool calls, reports or memories.") if self._searched else ""

    def _choose(self, hit: SearchHit) -> None:
        self.hide()
        self.chosen.emit(hit.workflow_id, hit.kind, hit.row_id, hit.message_id)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()
