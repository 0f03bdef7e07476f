"""The memory pane: search, filter, add, edit, delete with undo."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import QMenu, QPushButton, QStackedWidget, QWidget

from atelier_desk.desktop.bridge.jobs import error_text
from atelier_desk.desktop.panes.memory.dialog import MemoryDialog
from atelier_desk.desktop.panes.memory.duplicate_memories import TidyDialog
from atelier_desk.desktop.panes.memory.filters import MemoryFilters
from atelier_desk.desktop.panes.memory.list import MemoryListView, MemoryRow, on_timeline
from atelier_desk.desktop.panes.pane_base import Pane, offer_undo
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import EmptyState, FlowLayout, bind, bind_text, control, fill, hbox, label
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.desktop.widgets.hover_freeze import HoverGate, moved
from atelier_desk.desktop.widgets.search_field import SearchField
from atelier_desk.domain import limits
from atelier_desk.domain.memory import REEMBED, Memory, MemoryHit
from atelier_desk.support.i18n import N_, _, ngettext

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.domain.stream.event import Topic

PAGE = 100
DEBOUNCE_MS = 250
COMPARE_MS = 2_000
"""Milliseconds from a change to comparing memories: thousands take a second of CPU time, and changes come in bursts."""
PAIRS = 50
"""Maximum number of pairs counted."""
SURE = 0.7
"""Minimum confidence of a result shown at once, the default for agents; most below are unrelated to the query."""
SEARCH_WORDS = {
    "hybrid": N_("found by keywords and meaning"),
    "vector": N_("found by meaning"),
    "text": N_("found by keywords"),
    "full_text": N_("found by keywords"),
}


def _sure(hit: MemoryHit, query: str) -> bool:
    """Whether a result is relevant: confident, or with the exact words in its text or tags."""
    words = query.casefold()
    return hit.certainty >= SURE or any(words in each.casefold() for each in (hit.memory.content, *hit.memory.tags))


class MemoryPane(Pane):
    """``memory-pane`` with ``memory-search`` and ``memory-list``; pages of 100 are loaded while scrolling.

    ``memory-against`` and ``memory-same`` show the number of pairs to resolve; ``memory-less-sure`` shows further
    results.

    Without a workflow it shows the memories of all workflows, which a new workflow will have.
    """

    topics = ("memory",)
    message_requested = Signal(str, str)
    """Show a message: its workflow's id and its own, which may be empty."""

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self.setObjectName("memory-pane")
        self._complete = True
        self._fetched = 0
        self._in_place = False
        self._read = False
        self.on = self.add_tool("power", self._switch)
        self.on.setObjectName("memory-on")
        self.timeline = self.add_tool("history", self.toggle_timeline)
        self.timeline.setObjectName("memory-timeline")
        self._on_timeline = False
        self.tidy_button = self.add_tool("columns-2", self.tidy)
        self.tidy_button.setObjectName("memory-tidy-open")
        self._add = self.add_tool("plus", self.add)
        self._pinned: frozenset[str] = frozenset()
        self._is_on = True
        self.search = control(SearchField(self), "memory-search", hint=N_("Search memories"))
        self.search.setClearButtonEnabled(True)
        self.filters = MemoryFilters(self)
        row = hbox(None, (self.search, 1), self.filters.button, spacing=4)
        fill(self.column, row, self.filters)
        self.off = control(label("", "small", self, wrap=True), "memory-off-said")
        bind_text(self.off, N_("Memory is off in this workflow: its agents neither search nor save memories."))
        self.found = label("", "small", self)
        self.against = control(QPushButton(self), "memory-against", look="link", on=self.tidy)
        self.same = control(QPushButton(self), "memory-same", look="link", on=self.tidy)
        self.less_sure = control(QPushButton(self), "memory-less-sure", look="link", on=self._show_less_sure)
        links = FlowLayout(spacing=8)
        for link in (self.against, self.same):
            bind_text(link, tip=N_("Clean up duplicates and contradictions"))
        for link in (self.against, self.same, self.less_sure):
            links.addWidget(link)
        for widget in (self.off, self.found, self.against, self.same, self.less_sure):
            widget.hide()
        fill(self.column, self.off, self.found, links)
        self.list = MemoryListView(self)
        self._gate = HoverGate(self.list, self._reload_in_place)
        self.empty = EmptyState("brain", parent=self)
        self.fold_when(self.empty)
        self._stack = QStackedWidget(self)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.list)
        self.column.addWidget(self._stack, 1)
        self._typing = Debouncer(self, DEBOUNCE_MS, self.reload)
        self._compare = Debouncer(self, COMPARE_MS, lambda: self.jobs.start(self._count_pairs(), "pairs"))
        self._all_hits = False
        self.search.textChanged.connect(self._on_typed)
        self.search.returnPressed.connect(self.reload)
        self.filters.changed.connect(self.reload)
        self.list.opened.connect(self.edit)
        self.list.deleted.connect(self.delete)
        self.list.end_reached.connect(self._next_page)
        self.list.menu_requested.connect(self._menu)
        self.add_key("Ctrl+Shift+M", self.add)
        bind_text(self._add, tip=N_("Add a memory"), keys="Ctrl+Shift+M")
        self._show_timeline()
        bind_text(self.tidy_button, tip=N_("Clean up duplicates and contradictions"))
        bind_text(self.list, name=N_("Memories"))
        self._show_switch()
        bind_text(self.heading, N_("Memory"))
        bind(self._show, on="language")

    def _query(self) -> dict[str, Any]:
        return {"workflow_id": self.workflow_id or None, **self.filters.query()}

    def set_workflow(self, workflow_id: str) -> None:
        if workflow_id != self.workflow_id or not self._read:
            self._read = True
            self.workflow_id = workflow_id
            self.open_gates()
            self.filters.set_in_workflow(bool(workflow_id))
            self._show_pairs(0, 0)
            self.reload()
            self._compare.ask()

    def reload(self) -> None:
        """Load from the start, or reload what is visible if only memories changed."""
        self._typing.stop()
        in_place, self._in_place = self._in_place, False
        self.jobs.start(self._load(self.workflow_id, in_place), "load")

    def _on_changed(self, topic: Topic, id: str) -> None:
        # Re-embedding emits this several times a second, for minutes, without changing rows.
        if topic in self.topics and id != REEMBED and self._read:
            self._in_place = True
            self.schedule_reload()
            self._compare.ask()

    def _reload_in_place(self) -> None:
        self._in_place = True
        self.reload()

    async def _load(self, workflow_id: str, in_place: bool) -> None:
        size = min(max(PAGE, self._fetched), limits.LIST_MAX) if in_place else PAGE
        query, filters = self.search.text().strip(), self._query()
        how = ""
        rows: list[MemoryRow]
        self._pinned = frozenset(await self.bridge.engine.memories.pinned())
        self._is_on = not workflow_id or await self.bridge.engine.memories.is_on(workflow_id)
        self._show_switch()
        if query:
            found = await self.bridge.engine.memories.search(query, limit=PAGE, **filters)
            sure = [hit for hit in found.hits if _sure(hit, query)]
            hits = found.hits if self._all_hits else sure
            rows, how = [MemoryRow(hit.memory, hit, hit.memory.id in self._pinned) for hit in hits], found.search_type
            self._show_rest(0 if self._all_hits else len(found.hits) - len(sure))
        else:
            rows = await self._page(0, filters, size)
            self._show_rest(0)
        self._complete = bool(query) or self._fetched < size
        if not query:
            await self._load_tags(workflow_id)
        if in_place:
            if (
                moved(*([row.memory.id for row in shown] for shown in (self.list.memories.rows, rows)))
                and self._gate.holds()
            ):
                return
            self.list.replace_rows(rows)
        else:
            self.list.memories.set_rows(rows)
        self.found.setVisible(bool(query))
        self.found.setText(_(SEARCH_WORDS.get(how, how)) if how else "")
        self.was_read()
        self._show()

    def _on_typed(self) -> None:
        self._all_hits = False
        self._typing.start()

    def _show_rest(self, number: int) -> None:
        """Offer further results, which may be unrelated to the query."""
        self.less_sure.setVisible(number > 0)
        bind_text(
            self.less_sure, lambda: ngettext("Show {n} less relevant memory", "Show {n} less relevant memories", number)
        )

    def _show_less_sure(self) -> None:
        self._all_hits = True
        self.list.setFocus()  # the link is hidden
        self.reload()

    async def _count_pairs(self) -> None:
        if not self._narrowed and self.list.memories.rowCount() < 2:  # nothing to compare
            self._show_pairs(0, 0)
            return
        pairs = await self.bridge.engine.memories.pairs(self.workflow_id or None, PAIRS)
        against = sum(pair.kind == "against" for pair in pairs)
        self._show_pairs(against, len(pairs) - against)

    def _show_pairs(self, against: int, same: int) -> None:
        """Show how many contradicting pairs and how many duplicates wait for the user."""
        self.against.setVisible(against > 0)
        self.same.setVisible(same > 0)
        bind_text(self.against, lambda: ngettext("{n} contradiction", "{n} contradictions", against))
        bind_text(self.same, lambda: ngettext("{n} duplicate", "{n} duplicates", same))

    async def _page(self, offset: int, filters: dict[str, Any], size: int = PAGE) -> list[MemoryRow]:
        page = await self.bridge.engine.memories.list(limit=size, offset=offset, **filters)
        self._fetched = offset + len(page)
        if not self._on_timeline:
            first = await self._first(filters) if not offset and self._pinned else []
            return [*first, *(MemoryRow(memory) for memory in page if memory.id not in self._pinned)]
        rows = [MemoryRow(memory, None, memory.id in self._pinned) for memory in page]
        return on_timeline(rows, self.list.memories.rows[-1] if offset else None)

    async def _first(self, filters: dict[str, Any]) -> list[MemoryRow]:
        """The pinned ones, which come first."""
        return [MemoryRow(memory, None, True) for memory in await self.bridge.engine.memories.list_pinned(**filters)]

    def _next_page(self) -> None:
        if not self._complete:
            self._complete = True
            self.jobs.start(self._more(), "load")

    async def _more(self) -> None:
        before = self._fetched
        rows = await self._page(before, self._query())
        self._complete = self._fetched - before < PAGE
        self.list.memories.append(rows)

    async def _load_tags(self, workflow_id: str) -> None:
        """Load the tags in use, most frequent first; on failure the old ones stay."""
        described = await self.bridge.engine.memories.describe(workflow_id or None)
        self.filters.set_tags(list(described.get("tags") or []))

    @property
    def vacant(self) -> bool:
        return super().vacant and not self._narrowed

    @property
    def _narrowed(self) -> bool:
        """Whether a search or filter hides memories."""
        return bool(self.search.text().strip()) or self.filters.active

    def _show(self) -> None:
        count = self.list.memories.rowCount()
        if not self._narrowed:
            self.counted.emit(count)
        self._stack.setCurrentWidget(self.list if count else self.empty)
        if self._narrowed:
            self.empty.set_texts(N_("No results"), N_("Try other words or fewer filters."))
        else:
            self.empty.set_texts(N_("No memories yet"), N_("Memories that you or your agents save appear here."))

    def _row(self, memory_id: str) -> MemoryRow | None:
        number = self.list.memories.row_of(memory_id)
        return self.list.memories.rows[number] if number >= 0 else None

    def tidy(self) -> None:
        """Show duplicate and contradictory memories."""
        dialog = TidyDialog(self.bridge, self.workflow_id, self)
        dialog.open()

    def toggle_timeline(self) -> None:
        """Switch between the plain list and the timeline."""
        self._on_timeline = not self._on_timeline
        self._show_timeline()
        self.reload()

    def _show_timeline(self) -> None:
        self.timeline.set_icon("history", "accent" if self._on_timeline else "muted")
        tips = N_("Show as a list"), N_("Timeline: who wrote what, and when")
        bind_text(self.timeline, tip=tips[0] if self._on_timeline else tips[1])

    def open_origin(self, memory_id: str) -> None:
        """Show the message in which an agent wrote the memory."""

        async def job() -> None:
            workflow_id, message_id = await self.bridge.engine.memories.written_in(memory_id)
            self.message_requested.emit(workflow_id, message_id)

        self.jobs.once(("origin", memory_id), job)

    def accept_memory(self, memory_id: str) -> None:
        """Accept a memory proposed for all workflows."""
        self.jobs.once(("keep", memory_id), lambda: self._accept_memory(memory_id))

    async def _accept_memory(self, memory_id: str) -> None:
        row = self._row(memory_id)
        home = row.memory.workflow_id if row is not None else None
        memories = self.bridge.engine.memories
        await memories.accept(memory_id, content=row.memory.content if row is not None else None)
        if home:
            again = partial(memories.propose_again, memory_id, home)
            offer_undo(self, _("Remembered for all workflows"), lambda: self.jobs.once(("undo", memory_id), again))

    def _switch(self) -> None:
        workflow_id, on = self.workflow_id, not self._is_on

        async def job() -> None:
            await self.bridge.engine.memories.set_on(workflow_id, on)
            await self._load(workflow_id, in_place=True)

        if workflow_id:
            self.jobs.once(("switch", workflow_id), job)

    def _show_switch(self) -> None:
        self.on.setVisible(bool(self.workflow_id))
        self.off.setVisible(not self._is_on)
        self.on.set_icon("power", "muted" if self._is_on else "warn")
        on = (
            N_("Memory is on for this workflow. Click to turn it off."),
            N_("Memory is off for this workflow. Click to turn it on."),
        )
        bind_text(self.on, tip=on[0] if self._is_on else on[1])

    def pin(self, memory_id: str) -> None:
        """Pin or unpin a memory; a pinned one never expires."""
        on = memory_id not in self._pinned

        async def job() -> None:
            await self.bridge.engine.memories.pin(memory_id, on)
            await self._load(self.workflow_id, in_place=True)

        self.jobs.once(("pin", memory_id), job)

    def add(self) -> None:
        """Open the form of a new memory."""
        workflow_id = self.workflow_id or None
        self._open_form(None, lambda fields: self.bridge.engine.memories.add(workflow_id=workflow_id, **fields))

    def edit(self, memory_id: str) -> None:
        """Open a memory: text, origin, and in a search why it was found."""
        row = self._row(memory_id)
        if row is not None:
            self._open_form(row, lambda fields: self.bridge.engine.memories.update(memory_id, **fields))

    def _open_form(self, row: MemoryRow | None, work: Callable[[dict[str, Any]], Coroutine[Any, Any, Memory]]) -> None:
        dialog = MemoryDialog(row, self.window(), in_workflow=bool(self.workflow_id))

        async def save(fields: dict[str, object]) -> None:
            try:
                await work(fields)
            except Exception as error:
                dialog.show_error(error_text(error))
                return
            dialog.accept()
            self.reload()

        dialog.accepted_fields.connect(lambda fields: self.jobs.once(dialog, lambda: save(fields)))
        dialog.open()

    def delete(self, memory_id: str) -> None:
        """Delete a memory and offer to undo it."""
        self.jobs.once(("delete", memory_id), lambda: self._delete(memory_id))

    async def _delete(self, memory_id: str) -> None:
        await self.bridge.engine.memories.delete(memory_id)
        self.list.memories.remove(memory_id)
        self._show()
        offer_undo(
            self, _("Memory deleted"), lambda: self.jobs.once(("undo", memory_id), lambda: self._undelete(memory_id))
        )

    async def _undelete(self, memory_id: str) -> None:
        await self.bridge.engine.memories.undo_delete(memory_id)
        await self._load(self.workflow_id, in_place=True)
        number = self.list.memories.row_of(memory_id)
        if number >= 0:
            self.list.setCurrentIndex(self.list.memories.index(number))

    def _menu(self, at: QPoint) -> None:
        """The context menu of the current memory."""
        row = self.list.current_row()
        if row is None:
            return
        menu = QMenu(self)
        menu.setObjectName("memory-menu")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(theme().icon("pencil"), _("Open…"), lambda: self.edit(row.memory.id))
        if row.memory.id in self._pinned:
            menu.addAction(theme().icon("pin-off"), _("Unpin"), lambda: self.pin(row.memory.id))
        else:
            menu.addAction(theme().icon("pin"), _("Pin (never expires)"), lambda: self.pin(row.memory.id))
        if row.memory.proposed:
            menu.addAction(
                theme().icon("check"), _("Keep for all workflows"), lambda: self.accept_memory(row.memory.id)
            )
        if row.memory.turn_id:
            menu.addAction(
                theme().icon("message-square"), _("Show the original message"), lambda: self.open_origin(row.memory.id)
            )
        menu.addAction(theme().icon("trash-2", "err"), _("Delete"), lambda: self.delete(row.memory.id))
        menu.popup(at)
