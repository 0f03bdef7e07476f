"""Projects: list and search access; everything else is in the projects window."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.main_window.action_registry import registry_of
from atelier_desk.desktop.panes.time_format import ago
from atelier_desk.desktop.settings.focus_keeping_rows import RowList
from atelier_desk.desktop.settings.page_base import SettingsPage
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.settings.setting_rows_and_footer import Row, switch_row
from atelier_desk.domain.project import Project
from atelier_desk.presentation.project_text import folder_word
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge


@settings_page("projects", order=61, icon="folder-search", title=N_("Projects"), part_of="memory")
class ProjectsPage(SettingsPage):
    """The list, with a switch that excludes a project from agents' searches."""

    topics = ("projects",)

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        card = self.section(N_("Projects"))
        about = N_("Code and documents that agents can search by keywords, by meaning and by call graph.")
        self.add_text(card, about, "projects-about")
        self.open = self.button("projects-open", N_("Open projects…"), self._open)
        self.rows = RowList(card, spacing=4, after=[self.open])
        card.body.addWidget(self.rows)
        self.button_row(card, self.open)
        self.end()

    async def load(self) -> None:
        projects: list[Project] = await self.bridge.engine.projects.list()
        self.rows.show_rows(projects, lambda: map(self._row, projects))

    def _row(self, project: Project) -> Row:
        return switch_row(
            self.rows,
            f"project-loaded-{project.name}",
            partial(str, project.name),
            partial(_hint, project),
            project.loaded,
            lambda on: self.call(self.bridge.engine.projects.change(project.id, loaded=on)),
        )

    def _open(self) -> None:
        actions = registry_of(self)
        if actions is not None:
            actions["projects"].trigger()


def _hint(project: Project) -> str:
    read = (
        _("indexed {when}", when=ago(project.ingested_at)) if project.ingested_at is not None else _("not indexed yet")
    )
    state = _("searched by agents") if project.loaded else _("not searched by agents")
    return " · ".join((folder_word(project), read, state))
