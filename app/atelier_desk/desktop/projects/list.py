"""The list of projects: name and status of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from PySide6.QtCore import QPoint, Signal
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QListWidget, QWidget

from atelier_desk.desktop.panes.context_menu_position import menu_place
from atelier_desk.desktop.panes.time_format import ago
from atelier_desk.desktop.panes.two_line_items import KeyRole, style_list, two_line_item
from atelier_desk.desktop.theme import mark
from atelier_desk.desktop.theme.manager import Role
from atelier_desk.desktop.widgets import bind, bind_text
from atelier_desk.desktop.widgets.list_rows import RowRole, show_row
from atelier_desk.desktop.widgets.minute_clock import MinuteClock
from atelier_desk.domain.project import IngestStage, IngestState, Project
from atelier_desk.presentation.project_text import RUNNING, state_word
from atelier_desk.support.i18n import N_, _


class ProjectList(QListWidget):
    """``project-list``.

    Signals:
        project_chosen: its id, empty for none.
        menu_requested: the menu of the current project, at this global position.
    """

    project_chosen = Signal(str)
    menu_requested = Signal(QPoint)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("project-list")
        mark(self, "plain")
        style_list(self)
        self.projects: Sequence[Project] = ()
        self.states: Mapping[str, IngestState] = {}
        bind(self._fill, on="language")
        MinuteClock(self, self._show_ages)
        self.currentItemChanged.connect(lambda *_items: self.project_chosen.emit(self.chosen))
        bind_text(self, name=N_("Projects"))

    @property
    def chosen(self) -> str:
        """Id of the selected project, empty for none."""
        item = self.currentItem()
        return str(item.data(KeyRole)) if item is not None else ""

    def show_projects(self, projects: Sequence[Project], states: Mapping[str, IngestState]) -> None:
        """Show these projects; the selection stays if possible, else the first is selected."""
        if (list(projects), dict(states)) == (list(self.projects), dict(self.states)) and self.count():
            return
        chosen = self.chosen
        self.projects, self.states = tuple(projects), dict(states)
        self._fill()
        if self.chosen != chosen:
            self.project_chosen.emit(self.chosen)

    def _fill(self) -> None:
        chosen, projects = self.chosen, self.projects
        self.blockSignals(True)
        self.clear()
        for project in projects:
            icon, role = self._state_icon(project)
            two_line_item(self, project.id, project.name, self._facts(project), icon, role)
        self.blockSignals(False)
        self.choose(chosen if any(each.id == chosen for each in projects) else projects[0].id if projects else "")

    def _show_ages(self) -> None:
        for project, item in zip(self.projects, map(self.item, range(self.count())), strict=True):
            show_row(item, replace(item.data(RowRole), facts=self._facts(project)))

    def choose(self, project_id: str) -> None:
        """Select a project."""
        for row in range(self.count()):
            if self.item(row).data(KeyRole) == project_id:
                self.setCurrentRow(row)

    def _facts(self, project: Project) -> str:
        state = self.states.get(project.id)
        if state is not None and state.stage is not IngestStage.DONE:
            return state_word(state)
        known = (
            _("Indexed {when}", when=ago(project.ingested_at))
            if project.ingested_at is not None
            else _("Not indexed yet")
        )
        return known if project.loaded else _("{facts} · not searched by agents", facts=known)

    def _state_icon(self, project: Project) -> tuple[str, Role]:
        state = self.states.get(project.id)
        if state is not None and state.stage in RUNNING:
            return "loader-circle", "accent"
        if state is not None and state.stage is IngestStage.FAILED:
            return "triangle-alert", "err"
        return ("folder-search", "muted") if project.root else ("globe", "muted")

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        at = menu_place(self, event)
        if at is not None:
            self.menu_requested.emit(at)
