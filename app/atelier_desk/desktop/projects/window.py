"""The projects window: a list, and overview, search, graph and sources of the selected project.

A separate window, as graph and source need space and are used beside a chat.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPoint, QSize, Qt
from PySide6.QtGui import QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import QMenu, QPushButton, QSplitter, QStackedWidget, QTabBar, QWidget

from atelier_desk.desktop.bridge.jobs import Jobs, error_text
from atelier_desk.desktop.file_dialogs.open_save_confirm import confirm
from atelier_desk.desktop.panes.pane_base import offer_undo, toast
from atelier_desk.desktop.projects.code.page import CodePage
from atelier_desk.desktop.projects.create_dialog import CreateDialog
from atelier_desk.desktop.projects.graph.page import GraphPage
from atelier_desk.desktop.projects.list import ProjectList
from atelier_desk.desktop.projects.overview import OverviewPage
from atelier_desk.desktop.projects.rename_dialog import RenameDialog
from atelier_desk.desktop.projects.search import SearchPage
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import (
    EmptyState,
    Line,
    bind,
    bind_text,
    control,
    fit_window,
    hbox,
    label,
    tint,
    vbox,
)
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.desktop.widgets.enter_key import EnterPresses
from atelier_desk.desktop.widgets.language_theme_bindings import text_of
from atelier_desk.domain.project import Entity, FileProblem, IngestState, Project, ProjectStatistics
from atelier_desk.presentation.project_text import RUNNING
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.locale_format import number

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.domain.stream.event import Topic

SIZE = QSize(1160, 760)
SIDE = 230
RELOAD_MS = 150
COUNT_S = 2.0
"""Maximum age in seconds of a project's figures while it is being indexed."""
TABS = (N_("Overview"), N_("Search"), N_("Graph"), N_("Source"))


class ProjectsWindow(QWidget):
    """``projects-window``.

    Ctrl+1 to Ctrl+4 select its pages, Ctrl+F searches or, in a source, finds, Ctrl+N creates, Esc closes.
    """

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self.setObjectName("projects-window")
        EnterPresses(self)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        mark(self, "surface")
        self.bridge = bridge
        self.jobs = Jobs(self, lambda text: toast(self, text))
        self.projects: Sequence[Project] = ()
        self._counted: tuple[str, float, ProjectStatistics, Sequence[FileProblem]] | None = None
        self._search_wanted: str | None = None
        fit_window(self, SIZE)
        self.setMinimumSize(560, 420)
        self.overview = OverviewPage(self)
        self.search = SearchPage(bridge, self)
        self.graph = GraphPage(bridge, self)
        self.code = CodePage(bridge, self)
        self.empty = EmptyState(
            "folder-search",
            N_("Add a project for agents to search"),
            N_(
                "Atelier indexes the project's code and documents and keeps the index up to date. Agents can then "
                "find a function by name or by what it does, and see what calls it, without reading whole files."
            ),
            N_("New project"),
            parent=self,
        )
        self.empty.button.setObjectName("project-create-first")
        self.empty.button.clicked.connect(lambda *_on: self.new_project())
        self._build()
        self._connect()
        self._debouncer = Debouncer(self, RELOAD_MS, self.reload)
        bind_text(self, title=N_("Projects"))

    def _build(self) -> None:
        side = control(QWidget(self), look="side")
        side.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        side.setMinimumWidth(150)
        self.new = control(QPushButton(side), "project-new", lambda: " " + _("New project"), on=self.new_project)
        tint(self.new, "plus", "text")
        self.list = ProjectList(side)
        heading = control(label("", "heading", side), "", N_("Projects"))
        vbox(side, self.new, heading, (self.list, 1), margins=(12, 14, 12, 12), spacing=10)
        self.tabs = control(QTabBar(self), "project-tabs", name=N_("Project pages"))
        self.tabs.setExpanding(False)
        for words in TABS:
            bind(self.tabs.setTabText, self.tabs.addTab(""), partial(text_of, words))
        self.pages = QStackedWidget(self)
        for page in (self.overview, self.search, self.graph, self.code):
            self.pages.addWidget(page)
        inner = QWidget(self)
        tabs = hbox(None, self.tabs, 1, margins=(14, 6, 14, 0))
        vbox(inner, tabs, Line(inner), (self.pages, 1), spacing=0)
        self._right = QStackedWidget(self)
        self._right.addWidget(self.empty)
        self._right.addWidget(inner)
        self.body = QSplitter(Qt.Orientation.Horizontal, self)
        self.body.setChildrenCollapsible(False)
        self.body.setHandleWidth(1)
        self.body.addWidget(side)
        self.body.addWidget(self._right)
        self.body.setStretchFactor(1, 1)
        self._sized_for = 0.0
        bind(self._size_side, on="look")
        hbox(self, (self.body, 1), spacing=0)

    def _size_side(self) -> None:
        """Text of another size gives the list another width; another colour leaves the width that somebody gave it."""
        if self._sized_for != theme().scale:
            self._sized_for = theme().scale
            self.body.setSizes([theme().px(SIDE), max(1, self.width() - theme().px(SIDE))])

    def _connect(self) -> None:
        self.list.project_chosen.connect(self._on_chosen)
        self.list.menu_requested.connect(self._menu)
        self.tabs.currentChanged.connect(self._on_tab)
        self.overview.switched.connect(self._switch)
        self.overview.read_requested.connect(lambda forced: self.read(force=forced))
        self.overview.allowed.connect(self.allow)
        self.overview.pause_requested.connect(self.pause)
        self.overview.rename_requested.connect(self.rename)
        self.overview.delete_requested.connect(self.delete)
        self.overview.search_requested.connect(self.open_search)
        self.overview.graph_requested.connect(lambda: self.open_graph(None))
        self.search.source_requested.connect(self.open_source)
        self.search.graph_requested.connect(self.open_graph)
        self.graph.source_requested.connect(self.open_source)
        self.code.graph_requested.connect(self.open_graph)
        self.bridge.changed.connect(self._on_changed)
        keys: dict[str, Callable[[], object]] = {"Ctrl+N": self.new_project, "Esc": self._escape}
        keys |= {"F3": partial(self.code.finder.step, 1), "Shift+F3": partial(self.code.finder.step, -1)}
        keys |= {f"Ctrl+{row + 1}": partial(self.tabs.setCurrentIndex, row) for row in range(len(TABS))}
        for key, action in keys.items():
            QShortcut(QKeySequence(key), self).activated.connect(action)
        find = QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self)
        find.activated.connect(self.find_here)

    @property
    def project(self) -> Project | None:
        """The selected project."""
        return next((each for each in self.projects if each.id == self.list.chosen), None)

    def reload(self) -> None:
        """Reload everything."""
        self.jobs.start(self.load(), "load")

    async def load(self) -> None:
        """Load the list, and the contents of the selected project."""
        self.projects = await self.bridge.engine.projects.list()
        states: dict[str, IngestState] = await self.bridge.engine.projects.states()
        self.list.show_projects(self.projects, states)
        self.search.show_projects(self.projects)
        self.code.show_projects(self.projects)
        project = self.project
        self._right.setCurrentIndex(0 if project is None else 1)
        self.graph.show_project(project)
        searched, self._search_wanted = self._search_wanted, None
        if project is not None:
            if searched is not None:
                self.open_search(searched)
            state = states.get(project.id)
            self.overview.show_state(state)
            if state is None or state.stage not in RUNNING:
                self.code.refresh()
            if self.overview.project is None or self.overview.project.id != project.id:
                self.overview.show_project(project, None, ())  # counting takes a while in a large project
            statistics, problems = await self._known(project.id, running=state is not None and state.stage in RUNNING)
            if project is self.project:
                self.overview.show_project(project, statistics, problems)

    async def _known(self, project_id: str, *, running: bool) -> tuple[ProjectStatistics, Sequence[FileProblem]]:
        """The project's statistics, cached during indexing: counting covers the complete project."""
        last = self._counted
        if running and last is not None and last[0] == project_id and time.monotonic() - last[1] < COUNT_S:
            return last[2], last[3]
        statistics = await self.bridge.engine.projects.statistics(project_id)
        problems = await self.bridge.engine.projects.problems(project_id) if statistics.problems else []
        self._counted = (project_id, time.monotonic(), statistics, problems)
        return statistics, problems

    def show_project(self, project_id: str) -> None:
        """Select a project."""
        self.list.choose(project_id)

    def _on_chosen(self, _project_id: str) -> None:
        self.reload()
        if self.project is not None:
            self.graph.show_project(self.project)

    def _on_changed(self, topic: Topic, _id: str) -> None:
        if topic == "projects" and self.isVisible():
            self._debouncer.ask()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.reload()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow() and hasattr(self, "code"):
            self.code.refresh()  # the file may have changed meanwhile

    def _escape(self) -> None:
        """Esc deselects a node, clears the search or closes the find bar first, then closes."""
        if self.graph.view.hasFocus() and self.graph.view.chosen >= 0:
            self.graph.view.choose(-1)
        elif self.search.field.hasFocus() and self.search.field.text():
            self.search.field.clear()
        elif self.code.finder.isVisible():
            self.code.finder.leave()
        else:
            self.close()

    def _on_tab(self, row: int) -> None:
        self.pages.setCurrentIndex(row)
        if row == 1:
            self.search.enter()
        self.code.refresh()

    def open_search(self, text: str = "") -> None:
        """Open the search in the selected project; a window just opened waits for its projects."""
        if self.project is None:
            self._search_wanted = text
            return
        self.search.search_project(self.project.id)
        self.tabs.setCurrentIndex(1)
        self.search.enter(text)

    def find_here(self) -> None:
        """Find in the visible source, else search the project."""
        if self.pages.currentWidget() is self.code and self.code.entity is not None:
            self.code.open_find_bar()
        else:
            self.open_search()

    def open_graph(self, entity: Entity | None) -> None:
        """Show the graph at an entity, or as it was; an empty one loads the complete project."""
        if entity is not None and entity.project_id != self.list.chosen:
            self.list.choose(entity.project_id)
        self.graph.show_project(self.project)
        self.tabs.setCurrentIndex(2)
        if entity is not None:
            self.graph.show_entity(entity)
        elif not len(self.graph.model):
            self.graph.show_project_graph()

    def open_source(self, entity: Entity) -> None:
        """Show the source of an entity, at its lines."""
        self.tabs.setCurrentIndex(3)
        self.code.show_entity(entity)
        self.code.text.setFocus()

    def new_project(self, folder: str = "") -> CreateDialog:
        """Open the form of a new project."""
        form = CreateDialog(folder, self, self.projects)

        async def make(name: str, root: str, embedded: bool, watched: bool) -> None:
            try:
                made = await self.bridge.engine.projects.create(name, root, embedded=embedded, watched=watched)
            except Exception as error:
                form.show_error(error_text(error))
                return
            form.accept()
            await self.load()
            self.list.choose(made.id)
            self.tabs.setCurrentIndex(0)
            if made.root:
                await self.bridge.engine.projects.ingest(made.id)
                await self.load()

        form.accepted_fields.connect(lambda *fields: self.jobs.start(make(*fields)))
        form.open()
        return form

    def rename(self) -> RenameDialog | None:
        """Open the form for renaming the project."""
        project = self.project
        if project is None:
            return None
        form = RenameDialog(project.name, self)

        async def change(name: str) -> None:
            try:
                await self.bridge.engine.projects.change(project.id, name=name)
            except Exception as error:
                form.show_error(error_text(error))
                return
            form.accept()
            await self.load()

        form.accepted_name.connect(lambda name: self.jobs.start(change(name)))
        form.open()
        return form

    def _switch(self, name: str, on: bool) -> None:
        project = self.project
        if project is None:
            return

        async def change() -> None:
            try:
                if name == "loaded":
                    await self.bridge.engine.projects.change(project.id, loaded=on)
                elif name == "watched":
                    await self.bridge.engine.projects.change(project.id, watched=on)
                else:
                    await self.bridge.engine.projects.change(project.id, embedded=on)
            finally:
                await self.load()

        self.jobs.start(change())

    def read(self, *, force: bool = False) -> None:
        """Index the selected project; ``force`` includes unchanged files and accepts an empty folder."""
        project = self.project
        if project is None:
            return

        async def work() -> None:
            await self.bridge.engine.projects.ingest(project.id, force=force, emptied=force)
            await self.load()

        self.jobs.once(("read", project.id), work)

    def allow(self, path: str, yes: bool, project_id: str = "") -> None:
        """Index a file that was skipped as a secret, or skip it again; can be undone at once."""
        chosen = project_id or (self.project.id if self.project is not None else "")
        if not chosen:
            return

        async def work() -> None:
            await self.bridge.engine.projects.allow(chosen, path, yes=yes)
            words = _("{path} will be indexed.", path=path) if yes else _("{path} is excluded again.", path=path)
            offer_undo(self, words, lambda: self.allow(path, not yes, chosen))
            await self.load()

        self.jobs.once(("allow", path), work)

    def pause(self) -> None:
        """Pause indexing; it continues where it stopped."""
        project = self.project
        if project is None:
            return

        async def work() -> None:
            await self.bridge.engine.projects.stop(project.id)
            await self.load()

        self.jobs.once(("pause", project.id), work)

    def delete(self) -> None:
        """Confirm, then delete the project."""
        project, found = self.project, self.overview.statistics
        if project is None:
            return
        entities, relations = sum(found.entities.values()), sum(found.relations.values())
        targets = [
            ngettext("{number} entity", "{number} entities", entities, number=number(entities)),
            ngettext("{number} relation", "{number} relations", relations, number=number(relations)),
            ngettext("{number} embedding", "{number} embeddings", found.vectors, number=number(found.vectors)),
        ]
        shown = self.overview.project
        if self.overview.counted and shown is not None and shown.id == project.id:
            read = _("Its index will be deleted: {things}.", things=", ".join(targets))
        else:  # it was just selected and is being counted
            read = _("Its index will be deleted.")
        note = _("The folder {path} and its files will not be touched.", path=project.root) if project.root else ""
        details = " ".join(filter(None, (read, note)))

        async def work() -> None:
            await self.bridge.engine.projects.delete(project.id)
            await self.load()
            toast(self, _("Deleted the project {name}.", name=project.name))

        title = _("Delete the project {name}?", name=project.name)
        confirm(self, title, details, _("Delete"), lambda: self.jobs.once(("delete", project.id), work))

    def _menu(self, at: QPoint) -> None:
        project = self.project
        if project is None:
            return
        style = theme()
        menu = QMenu(self)
        menu.setObjectName("project-menu")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        state = self.list.states.get(project.id)
        if state is not None and state.stage in RUNNING:
            menu.addAction(style.icon("pause"), _("Pause"), self.pause)
        elif project.root:
            menu.addAction(style.icon("refresh-cw"), _("Update index"), lambda: self.read())
        menu.addAction(style.icon("search"), _("Search"), lambda: self.open_search())
        menu.addAction(style.icon("waypoints"), _("Graph"), lambda: self.open_graph(None))
        menu.addSeparator()
        menu.addAction(style.icon("pencil"), _("Rename"), lambda: self.rename())
        loaded = _("Exclude from agent searches") if project.loaded else _("Include in agent searches")
        menu.addAction(
            style.icon("eye-off" if project.loaded else "eye"),
            loaded,
            partial(self._switch, "loaded", not project.loaded),
        )
        menu.addSeparator()
        menu.addAction(style.icon("trash-2"), _("Delete…"), self.delete)
        menu.popup(at)
