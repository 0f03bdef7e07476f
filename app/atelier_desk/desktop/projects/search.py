"""Search in one or all projects, by words and meaning, filtered by kind, with a preview of each result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QMenu, QPushButton, QStackedWidget, QWidget

from atelier_desk.desktop.bridge.jobs import Jobs
from atelier_desk.desktop.projects.entity_icons import KIND_ICONS
from atelier_desk.desktop.projects.graph.node_details import has_source
from atelier_desk.desktop.projects.search_result_rows import result_row
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import EmptyState, bind, bind_text, control, hbox, label, vbox
from atelier_desk.desktop.widgets.button_menu import popup_from
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.desktop.widgets.language_theme_bindings import made
from atelier_desk.desktop.widgets.search_field import SearchField
from atelier_desk.desktop.widgets.search_result_list import SearchList
from atelier_desk.desktop.widgets.wheel_safe_inputs import ComboBox
from atelier_desk.domain.project import Entity, EntityKind, Project, ProjectHit
from atelier_desk.presentation.project_text import KIND_WORDS, place_word
from atelier_desk.support.i18n import N_, _, ngettext

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge

DELAY_MS = 220
"""Milliseconds after the last key before searching."""
MOST = 50
"""Maximum number of results shown."""


class SearchPage(QWidget):
    """``project-search-page``. Enter opens the source, Ctrl+Enter the graph; Down moves from the field to the list.

    Signals:
        source_requested, graph_requested: of this ``Entity``.
    """

    source_requested = Signal(object)
    graph_requested = Signal(object)

    def __init__(self, bridge: Bridge, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("project-search-page")
        self.bridge = bridge
        self.jobs = Jobs(self, self._fail)
        self.kinds: set[EntityKind] = set()
        self.found: Sequence[ProjectHit] = ()
        self._asked = ""
        self.field = control(
            SearchField(self),
            "project-search-field",
            hint=N_("Search by name or by meaning"),
            name=N_("Search in projects"),
        )
        self.field.setClearButtonEnabled(True)
        self.where = control(ComboBox(self), "project-search-where", name=N_("Projects to search"))
        self.where.addItem("", "")
        bind_text(self.where, items=[N_("All projects")])
        self.kind_button = control(QPushButton(self), "project-search-kinds", on=self._open_kinds)
        self.list = bind_text(
            SearchList(self, "project-search", self.field, nothing=None, by_click=False, tab=True),
            name=N_("Search results"),
        )
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.list.customContextMenuRequested.connect(self._menu)
        self.list.chosen.connect(lambda _found: self.open())
        for each in (self.field, self.list):
            each.installEventFilter(self)
        self.empty = EmptyState("folder-search", parent=self)
        self._stack = QStackedWidget(self)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.list)
        self.count = control(label("", "small", self), "project-search-count")
        top = hbox(None, (self.field, 1), self.where, self.kind_button, spacing=8)
        vbox(self, top, (self._stack, 1), self.count, margins=(16, 10, 16, 10), spacing=8)
        self._debouncer = Debouncer(self, DELAY_MS, self.search)
        self.field.textChanged.connect(lambda *_text: self._debouncer.start())
        self.where.currentIndexChanged.connect(lambda *_row: self.search())
        self._update_kinds()
        bind(self._fill, on="language")

    def show_projects(self, projects: Sequence[Project]) -> None:
        """Set the searchable projects."""
        rows = [(each.id, each.name) for each in projects]
        if rows == [(self.where.itemData(row), self.where.itemText(row)) for row in range(1, self.where.count())]:
            return
        chosen = self.where.currentData()
        self.where.blockSignals(True)
        while self.where.count() > 1:
            self.where.removeItem(1)
        for key, name in rows:
            self.where.addItem(name, key)
        self.where.setCurrentIndex(max(0, self.where.findData(chosen)))
        self.where.blockSignals(False)
        # Of a project that was deleted or renamed.
        stale = any((each.entity.project_id, each.project) not in rows for each in self.found)
        if stale or (chosen and not self.where.currentData()):
            self.search()

    def search_project(self, project_id: str) -> None:
        """Search only this project."""
        self.where.setCurrentIndex(max(0, self.where.findData(project_id)))

    def enter(self, text: str = "") -> None:
        """Focus the field; with ``text``, search for it."""
        if text:
            self.field.setText(text)
        self.field.setFocus()
        self.field.selectAll()

    def search(self) -> None:
        """Query the engine; a running query is dropped."""
        self._debouncer.stop()
        self.jobs.start(self._search(self.field.text().strip()), "search")

    async def _search(self, needle: str) -> None:
        chosen = self.where.currentData()
        self.found = ()
        if needle:
            mark(self.count, "small")
            bind_text(self.count, N_("Searching…"))
            self.found = await self.bridge.engine.projects.find(
                needle,
                project_ids=(str(chosen),) if chosen else (),
                kinds=tuple(kind for kind in EntityKind if kind in self.kinds),
                limit=MOST,
            )
        self._asked = needle
        self._fill()

    def _fill(self) -> None:
        self.list.fill([("", ((result_row(each, self._asked), each) for each in self.found))])
        self._show_state()

    def _show_state(self) -> None:
        self._stack.setCurrentIndex(1 if self.found else 0)
        mark(self.count, "small")
        number = len(self.found)
        bind_text(self.count, lambda: ngettext("{n} result", "{n} results", number) if number else "")
        if self._asked:
            hint = N_("Try other words, or search all kinds and all projects.")
            self.empty.set_texts(N_("No results"), hint)
        else:
            self.empty.set_texts(
                N_("Search by name or by meaning"),
                N_("“Where are files deleted?” finds the function that deletes them, whatever its name."),
            )

    def _fail(self, text: str) -> None:
        self.found = ()
        self._fill()
        mark(self.count, "error")
        bind_text(self.count, made(text))

    def _open_kinds(self) -> None:
        menu = QMenu(self)
        menu.setObjectName("project-search-kind-menu")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        every = menu.addAction(_("All kinds"))
        every.setCheckable(True)
        every.setChecked(not self.kinds)
        every.triggered.connect(lambda *_on: self.narrow(()))
        menu.addSeparator()
        for kind in EntityKind:
            entry = menu.addAction(theme().icon(KIND_ICONS[kind]), _(KIND_WORDS[kind]))
            entry.setCheckable(True)
            entry.setChecked(kind in self.kinds)
            entry.triggered.connect(
                lambda on, kind=kind: self.narrow(self.kinds | {kind} if on else self.kinds - {kind})
            )
        popup_from(self.kind_button, menu, self.kind_button.mapToGlobal(QPoint(0, self.kind_button.height())))

    def narrow(self, kinds: Sequence[EntityKind] | set[EntityKind]) -> None:
        """Find only these kinds; none means all."""
        self.kinds = set(kinds)
        self._update_kinds()
        self.search()

    def _update_kinds(self) -> None:
        bind_text(self.kind_button, self._kinds_word, name=lambda: _("Kinds: {names}", names=self._kinds_word()))

    def _kinds_word(self) -> str:
        if not self.kinds:
            return _("All kinds")
        if len(self.kinds) == 1:
            return _(KIND_WORDS[next(iter(self.kinds))])
        return ngettext("{n} kind", "{n} kinds", len(self.kinds))

    @property
    def chosen(self) -> Entity | None:
        """The entity of the current row."""
        found: ProjectHit | None = self.list.current
        return found.entity if found is not None else None

    def open(self) -> None:
        """Open the source of the current row, or the graph if it has none."""
        entity = self.chosen
        if entity is not None:
            (self.source_requested if has_source(entity) else self.graph_requested).emit(entity)

    def _menu(self, at: QPoint) -> None:
        entity = self.chosen
        if entity is None:
            return
        menu = QMenu(self)
        menu.setObjectName("project-search-menu")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        style = theme()
        if has_source(entity):
            menu.addAction(style.icon("file-text"), _("Open the source"), lambda: self.source_requested.emit(entity))
        menu.addAction(style.icon("waypoints"), _("Show in the graph"), lambda: self.graph_requested.emit(entity))
        if place_word(entity):
            menu.addAction(
                style.icon("copy"),
                _("Copy path and line"),
                lambda: QGuiApplication.clipboard().setText(place_word(entity)),
            )
        rect = self.list.visualRect(self.list.currentIndex())
        place = at if rect.contains(at) else rect.bottomLeft()
        menu.popup(self.list.viewport().mapToGlobal(place))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            key = event.key()
            enter = key in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
            if enter and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
                if self.chosen is not None:
                    self.graph_requested.emit(self.chosen)
                return True
            fresh = not self._debouncer.isActive() and self._asked == self.field.text().strip()
            if watched is self.field and enter and not (self.found and fresh):
                self.search()
                return True
        return super().eventFilter(watched, event)
