"""Projects: which there are, whether agents search them, and the way to their window, where everything else is done."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QCheckBox, QPushButton, QVBoxLayout, QWidget

from atelier_desk.desktop.actions import registry_of
from atelier_desk.desktop.panes.wording import ago
from atelier_desk.desktop.settings.page import Row, SettingsPage
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.widgets import control, fill, label
from atelier_desk.domain.project import Project
from atelier_desk.i18n import N_, _
from atelier_desk.project_words import folder_word

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge


@settings_page("projects", order=51, icon="folder-search", title=N_("Projects"))
class ProjectsPage(SettingsPage):
    """The list, with the switch that keeps one out of the searches of agents."""

    topics = ("projects",)

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self._projects: list[Project] = []
        self._shown: dict[tuple[str, str], tuple[QCheckBox, Row]] = {}
        card = self.section(N_("PROJECTS"))
        about = N_("Code and documents that agents can search by words, by meaning and by call graph.")
        self.about = label("", "muted", self, wrap=True)
        card.body.addWidget(control(self.about, "projects-about", about))
        self.rows = QWidget(card)
        self._column = fill(QVBoxLayout(self.rows), margins=(0, 0, 0, 0), spacing=4)
        card.body.addWidget(self.rows)
        self.open = control(QPushButton(self), "projects-open", N_("Open projects…"), on=self._open)
        self.deeds(card, self.open)
        self.end()

    async def load(self) -> None:
        self._projects = await self.bridge.engine.projects.list()
        self._fill()

    def _fill(self) -> None:
        """A row a project; the rows stay while the projects do, and with them the keyboard's place."""
        if [(each.id, each.name) for each in self._projects] != list(self._shown):
            self._build()
        for project, (box, row) in zip(self._projects, self._shown.values(), strict=True):
            box.setChecked(project.loaded)
            row.set_texts(partial(str, project.name), partial(_hint, project))
        self.rows.setVisible(bool(self._projects))

    def _build(self) -> None:
        while (item := self._column.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        self._shown = {}
        for project in self._projects:
            box = control(QCheckBox(self.rows), f"project-loaded-{project.name}")
            box.clicked.connect(lambda on, key=project.id: self._switch(key, on))
            row = Row(box, self.rows)
            self._column.addWidget(row)
            self._shown[project.id, project.name] = (box, row)

    def _switch(self, project_id: str, on: bool) -> None:
        self.call(self.bridge.engine.projects.change(project_id, loaded=on))

    def _open(self) -> None:
        actions = registry_of(self)
        if actions is not None:
            actions["projects"].trigger()


def _hint(project: Project) -> str:
    read = _("indexed {when}", when=ago(project.ingested_at)) if project.ingested_at is not None else _("not indexed yet")
    state = _("searched by agents") if project.loaded else _("not searched by agents")
    return " · ".join((folder_word(project), read, state))
