"""Skills: list by folder, enabling, viewing, and adding one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QTimer
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QApplication, QWidget

from atelier_desk.desktop.file_dialogs.open_save_confirm import ask_folder
from atelier_desk.desktop.panes.pane_base import toast
from atelier_desk.desktop.settings.focus_keeping_rows import RowList
from atelier_desk.desktop.settings.page_base import SettingsPage
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.settings.skill_rows import PlaceCard, SkillDialog, SkillRow
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.engine.services.skills import SkillLocation


@settings_page("skills", order=31, icon="sparkles", title=N_("Skills"), part_of="agents")
class SkillsPage(SettingsPage):
    """``skills-add``, ``skills-reload``, and a card per folder."""

    topics = ("file",)

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self._places: tuple[SkillLocation, ...] = ()
        self.dialog: SkillDialog | None = None
        about = N_(
            "Skills are instructions for particular tasks (folders with a SKILL.md). Agents use the ones "
            "that fit their task; you can call one by typing / and its name. A skill never grants "
            "permissions."
        )
        self.add_text(None, about)
        self.add = self.button("skills-add", N_("Add from a folder…"), self.pick)
        self.again = self.button("skills-reload", N_("Rescan"), self.reload)
        self.button_row(None, self.add, self.again)
        self.column.addSpacing(12)
        self._list = RowList(self, spacing=8, before=self.again)
        self.column.addWidget(self._list)
        self.end()

    async def load(self) -> None:
        self._places = tuple(await self.bridge.engine.skills.overview())
        if self._list.show_rows(self._places, lambda: map(self._card, self._places)):
            QTimer.singleShot(0, self, self._measure)

    def _card(self, place: SkillLocation) -> PlaceCard:
        return PlaceCard(place, self._open, self._switch, self._trust, self._list)

    def _measure(self) -> None:
        """Update the scroll area: labels know their height once shown with their font, without notifying it."""
        for row in self._list.findChildren(SkillRow):
            if (inside := row.layout()) is not None:
                inside.invalidate()
            row.updateGeometry()
        QApplication.sendEvent(self.area, QEvent(QEvent.Type.LayoutRequest))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        QTimer.singleShot(0, self, self._measure)

    def _switch(self, file: str, on: bool) -> None:
        self.call(self.bridge.engine.skills.switch(file, on))

    def _trust(self, folder: str, trusted: bool) -> None:
        self.call(self.bridge.engine.files.trust(folder, trusted))

    def _open(self, file: str) -> None:
        folders = tuple(place.folder for place in self._places if place.folder)

        async def job() -> None:
            dialog = SkillDialog(await self.bridge.engine.skills.show(file, folders), self)
            self.dialog = dialog
            dialog.finished.connect(self._closed)
            dialog.open()

        self.jobs.start(job(), "show")

    def _closed(self) -> None:
        self.dialog = None

    def pick(self) -> None:
        """Choose the folder of a skill; the dialog does not block the program's loop."""
        ask_folder(self, _("Add a skill"), lambda folder: self.add_from(str(folder)))

    def add_from(self, folder: str) -> None:
        """Copy a skill's folder into the user's skills."""

        async def job() -> None:
            added = await self.bridge.engine.skills.add(folder)
            toast(self, _("Added {name}: {file}", name=added.name, file=added.file))
            await self.load()

        self.jobs.start(job(), "add")
