"""The sidebar: new, search, the workflow list, and at its foot settings, language and connection."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QFontMetrics, QIcon, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QPushButton, QWidget

from atelier_desk.desktop.sidebar.footer import SidebarFoot
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import EmptyState, ToastHost, bind, bind_text, control, vbox
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.desktop.widgets.search_field import SearchField
from atelier_desk.domain.limits import LIST_MAX
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.lazy_module import LateModule

if TYPE_CHECKING:
    import asyncio

    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.desktop.sidebar import deferred_imports as later
    from atelier_desk.desktop.sidebar.list_model import ListState, WorkflowModel
    from atelier_desk.desktop.sidebar.list_view import WorkflowListView
    from atelier_desk.desktop.sidebar.workflow_actions import WorkflowActions
    from atelier_desk.desktop.widgets.hover_freeze import HoverGate
    from atelier_desk.domain.stream.event import Topic
    from atelier_desk.storage.repositories import SearchHit
else:
    later = LateModule("atelier_desk.desktop.sidebar.deferred_imports")

PAGE = 100
HITS = 60
"""Found messages loaded at once; more when the end of the list becomes visible."""
MIN_SEARCH_LENGTH = 2
"""Minimum characters for a search in messages."""
SEARCH_MS = 180
RELOAD_MS = 120
DAY_CHECK_MS = 60_000


class Sidebar(QWidget):
    """Lists workflows and searches titles and messages; ``workflow_actions`` changes them.

    Signals:
        workflow_chosen: show this one.
        hit_chosen: show this place: workflow id, kind and row id, as ``SearchEverywhere`` emits it.
        new_requested: create a new one.
        workflow_gone: the one with this id was deleted.
        selected: the workflow in view became this one; empty for none.
    """

    workflow_chosen = Signal(str)
    hit_chosen = Signal(str, str, str)
    new_requested = Signal()
    workflow_gone = Signal(str)
    selected = Signal(str)

    def __init__(self, bridge: Bridge, toasts: ToastHost, parent: QWidget) -> None:
        super().__init__(parent)
        self.bridge, self._toasts = bridge, toasts
        mark(self, "side")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.current_id = ""
        self.closed: frozenset[str] = frozenset({"archive"})
        """The folders that are closed, and the archive while it is."""
        self._limit, self._hits = PAGE, HITS
        self._more = self._held = False
        self._search_keys = ""
        self._loading: asyncio.Task[None] | None = None
        self.new = QPushButton(self)
        control(self.new, "new-workflow", self._new_text, name=N_("New workflow"))
        self.search = control(
            SearchField(self), "search-field", hint=N_("Search"), name=N_("Search titles and messages")
        )
        self.search.installEventFilter(self)
        self._place: QWidget | None = QWidget(self)
        self._latest: ListState | None = None
        self.foot = SidebarFoot(self)
        self._column = vbox(
            self,
            self.new,
            self.search,
            (self._place, 1),
            self.foot,
            margins=(12, 14, 7, 10),
            spacing=8,
        )
        self._search_timer = Debouncer(self, SEARCH_MS, self.reload)
        self._reload_timer = Debouncer(self, RELOAD_MS, self.reload)
        self.new.clicked.connect(self.new_requested)
        self.search.textChanged.connect(self._on_typed)
        self.bridge.changed.connect(self._on_changed)
        bind(self._apply_style)

    @cached_property
    def empty(self) -> EmptyState:
        """Created on first use, like the list."""
        made = EmptyState("message-square", parent=self, whole=True)
        made.hide()
        self._column.insertWidget(self._column.indexOf(self.foot), made, 1)
        return made

    @cached_property
    def model(self) -> WorkflowModel:
        """Created on first use, like the list: the first paint does not need it."""
        made = later.WorkflowModel(self)
        made.renamed.connect(lambda key, name: self.bridge.jobs.start(self.bridge.engine.workflows.rename(key, name)))
        made.dropped.connect(lambda ids, folder: self.workflow_actions.move(ids, folder))
        bind(made.regroup, on="language")
        self._day_timer = QTimer(self)
        self._day_timer.timeout.connect(made.regroup)
        self._day_timer.start(DAY_CHECK_MS)
        return made

    @cached_property
    def list(self) -> WorkflowListView:
        made = bind_text(later.WorkflowListView(self), name=N_("Workflows"))
        made.setModel(self.model)
        made.chosen.connect(self.workflow_chosen)
        made.found.connect(self._on_found)
        made.fold_requested.connect(self._on_fold)
        made.delete_requested.connect(lambda ids: self.workflow_actions.delete(ids))
        made.menu_requested.connect(self._show_menu)
        made.fold_menu_requested.connect(self._show_folder_menu)
        made.end_reached.connect(self._on_end)
        made.left.connect(self.search.setFocus)
        bind(made.doItemsLayout, on="look")
        if self._place is not None:
            self._column.replaceWidget(self._place, made)
            self._place.deleteLater()
            self._place = None
        self._gate = later.HoverGate(made, self._show_latest)
        self.search.setClearButtonEnabled(True)
        self.setTabOrder(self.search, made)
        return made

    @cached_property
    def _gate(self) -> HoverGate:
        return later.HoverGate(self.list, self._show_latest)

    @cached_property
    def workflow_actions(self) -> WorkflowActions:
        """Created on first use: the first paint does not need it."""
        made = later.WorkflowActions(self.bridge, self._toasts, lambda: self.model.workflows, self)
        made.made.connect(self.workflow_chosen)
        made.gone.connect(self.workflow_gone)
        return made

    def reload(self) -> None:
        """Reload the list; a load in progress is cancelled."""
        self._loading = self.bridge.jobs.start(self.load(), "sidebar")

    async def load(self) -> None:
        """Load the list or search results, preserving the selection."""
        needle, limit = self.search.text().strip(), self._limit
        if needle:
            await self._find(needle, limit)
            return
        listing = await self.bridge.engine.workflows.listing(limit, archive=later.ARCHIVE not in self.closed)
        self._more = len(listing.recent) >= limit
        shown = listing.recent, listing.filed, listing.archived, listing.archived_count
        self._show(later.ListState(*shown, closed=self.closed))

    async def _find(self, needle: str, limit: int) -> None:
        """Show title matches first; messages take longer, and previous results stay until then."""
        workflows = self.bridge.engine.workflows
        titles = await workflows.list(search=needle, limit=limit)
        self._more = len(titles) >= limit
        before = self.model.shown.found
        earlier = before.messages if before is not None else ()
        found = later.SearchMatch(titles, earlier, needle=needle)
        self._show(later.replace(self.model.shown, found=found), searching=True)
        hits = await workflows.search(needle, self._hits) if len(needle) >= MIN_SEARCH_LENGTH else []
        self._more |= self._hits <= len(hits) < LIST_MAX
        messages = [each for each in hits if each.kind == "message"]
        found = later.SearchMatch(titles, messages, len(hits) >= LIST_MAX, needle)
        self._show(later.replace(self.model.shown, found=found))

    def _show(self, shown: ListState, *, searching: bool = False) -> None:
        self._latest, view = shown, self.list
        if self.model.moves(shown) and self._gate.holds():
            return
        view.show_rows(shown)
        self._show_empty(self.model.rowCount() == 0 and not searching)

    def _show_latest(self) -> None:
        if self._latest is not None:
            self._show(self._latest)

    def _show_empty(self, empty: bool) -> None:
        """Show the empty state in place of the list."""
        self.empty.setVisible(empty and not self._held)
        self.list.setVisible(self.empty.isHidden())
        self._update_empty_text()

    def hold(self, on: bool) -> None:
        """Suppress the empty state while something else has the user's attention."""
        self._held = on
        self._show_empty(self.model.rowCount() == 0)

    def select(self, workflow_id: str) -> None:
        """Mark a workflow as the one in view; empty marks none."""
        self.current_id = self.list.shown_id = workflow_id
        self.mark_unread(workflow_id, False)
        self.list.select_one(workflow_id)
        self.list.viewport().update()
        self.selected.emit(workflow_id)

    def mark_unread(self, workflow_id: str, unread: bool) -> None:
        """Set or remove the unread mark of a workflow; stored at once."""
        known = next((each for each in self.model.workflows if each.id == workflow_id), None)
        if workflow_id and (known is None or known.unread is not unread) and self.bridge.ready:
            self.bridge.jobs.start(self.bridge.engine.workflows.set_unread(workflow_id, unread))

    def set_closed(self, closed: frozenset[str]) -> None:
        """Collapse these folders (and the archive), and no others."""
        self.closed = closed
        if self._place is None:
            self._gate.own()
            self.list.show_rows(later.replace(self.model.shown, closed=closed))

    def _on_fold(self, fold: str) -> None:
        self.set_closed(self.closed ^ {fold})
        if fold == later.ARCHIVE:
            self.reload()

    def _on_typed(self) -> None:
        if self._place is None:
            self._gate.own()
        if self._loading is not None:
            self._loading.cancel()
        self._limit, self._hits = PAGE, HITS
        self._search_timer.start()

    def _on_found(self, hit: SearchHit) -> None:
        self.hit_chosen.emit(hit.workflow_id, hit.kind, hit.row_id)

    def _on_end(self) -> None:
        if self._more:
            self._more = False
            self._gate.own()
            self._limit, self._hits = self._limit + PAGE, min(LIST_MAX, self._hits + PAGE)
            self.reload()

    def _on_changed(self, topic: Topic, _key: str) -> None:
        if topic in {"workflow", "question", "approval"}:
            self._reload_timer.ask()

    def rename_current(self) -> None:
        """Rename the workflow in view, in place."""
        self._edit(self.current_id)

    def _edit(self, workflow_id: str) -> None:
        index = self.model.index_of(workflow_id)
        if index.isValid():
            self.list.scrollTo(index)
            self.list.edit(index)
        elif workflow_id:
            self.workflow_actions.with_one(workflow_id, self.workflow_actions.ask_name)

    def _show_menu(self, ids: Sequence[str], place: QPoint) -> None:
        if self.workflow_actions.find(ids):
            self.list.show_asked(ids)
            self.workflow_actions.show_menu(
                self.workflow_actions.menu(ids, self._edit), place, lambda: self.list.show_asked(())
            )

    def _show_folder_menu(self, folder: str, place: QPoint) -> None:
        self.list.show_asked([f":{folder}"])
        self.workflow_actions.show_menu(
            self.workflow_actions.folder_menu(folder), place, lambda: self.list.show_asked(())
        )

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """In the search field, Down moves to the list, Enter opens the first result, Esc ends the search."""
        if watched is self.search and event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            key = event.key()
            if key == Qt.Key.Key_Down:
                return self.list.enter()
            if key in {Qt.Key.Key_Return, Qt.Key.Key_Enter} and self.search.text().strip():
                self.list.open_first()
                return True
            if key == Qt.Key.Key_Escape and self.search.text():
                self.search.clear()
                return True
        return super().eventFilter(watched, event)

    def _apply_style(self) -> None:
        style = theme()
        bind_text(self.new)
        self.new.setIconSize(QSize(style.px(16), style.px(16)))

    def _new_text(self) -> str:
        """Fit the button's text: in a narrow sidebar the icon is removed before the text is cut."""
        words, room = QFontMetrics(self.new.font()), self.new.width() - 28  # its padding and border
        text = _("New workflow")
        full = words.horizontalAdvance(text)
        fits = full + theme().px(16) + 12 <= room
        self.new.setIcon(theme().icon("plus", "text") if fits else QIcon())
        return f" {text}" if fits else words.elidedText(text, Qt.TextElideMode.ElideRight, max(1, room))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        bind_text(self.new)

    def show_search_keys(self, keys: str) -> None:
        """Show the current shortcut of search everywhere; empty for none."""
        self._search_keys = keys
        self._update_empty_text()

    def _nothing_found(self) -> str:
        if not self._search_keys:
            return _(
                "No matching titles or messages. “Search everywhere” also searches tool calls, reports and memories."
            )
        return _("No matching titles or messages. Search everywhere with {keys}.", keys=self._search_keys)

    def _update_empty_text(self) -> None:
        if self.search.text().strip():
            self.empty.set_texts(N_("No results"), self._nothing_found)
        else:
            self.empty.set_texts(N_("No workflows yet"), N_("Send a message to start one."))
