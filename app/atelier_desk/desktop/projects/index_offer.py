"""A line above the composer offering to index a granted folder.

Each folder is offered only once: leaving the offer unanswered counts as declining. It can be indexed in the projects
window at any time.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QPushButton, QWidget

from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import FlowLayout, bind, bind_text, control, hbox, label, vbox
from atelier_desk.desktop.widgets.cards_buttons_labels import PlainLabel, show_pixmap
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.desktop.workspace_folders.controller import FolderController


class OfferBar(QFrame):
    """``project-offer``.

    Signals:
        begun: a message that a folder is being indexed.
    """

    begun = Signal(str)

    def __init__(self, bridge: Bridge, controller: FolderController, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("project-offer")
        mark(self, "card-sunken")
        self.bridge = bridge
        self._folders = controller
        self._offered: set[str] = set()
        """Folders offered since the start, which the engine may not have stored yet."""
        self.folder = ""
        self._seen: tuple[str, ...] = ()
        self._icon = PlainLabel(parent=self)
        self._text = control(label("", "muted", self, wrap=True), "project-offer-text")
        self.yes = control(QPushButton(self), "project-offer-yes", N_("Index"), on=self.accept)
        self.no = control(QPushButton(self), "project-offer-no", N_("Do not index"), look="ghost", on=self.refuse)
        buttons = FlowLayout(spacing=6)
        for button in (self.yes, self.no):
            button.setCursor(Qt.CursorShape.PointingHandCursor)
            buttons.addWidget(button)
        words = hbox(None, (self._icon, 0, Qt.AlignmentFlag.AlignTop), (self._text, 1), spacing=8)
        vbox(self, words, buttons, margins=(14, 8, 10, 8), spacing=6)
        controller.changed.connect(self.refresh)
        self.hide()
        bind(self._apply_style)

    def refresh(self) -> None:
        """Check whether one of the current folders should be offered."""
        if self._seen != self._folders.folders:
            self._seen = self._folders.folders
            if self.folder not in self._seen:
                self._show("")
        if self.bridge.ready and self._seen:
            self.bridge.jobs.start(self._load_offers(self._seen), f"project offer {id(self)}")

    async def _load_offers(self, folders: tuple[str, ...]) -> None:
        offers = await self.bridge.engine.projects.offers(folders)
        fresh = next((each.folder for each in offers if each.folder not in self._offered), "")
        if fresh and not self.folder and folders == self._folders.folders:
            self._show(fresh)
            self._offered.add(fresh)
            # Declined unless the answer is yes; a job of its own, since the next refresh replaces this one.
            self.bridge.jobs.start(self.bridge.engine.projects.answer(fresh, False))

    def _show(self, folder: str) -> None:
        self.folder = folder
        self.setVisible(bool(folder))
        bind_text(
            self._text,
            lambda: (
                _("Index “{folder}” so agents can search it?", folder=Path(folder).name or folder) if folder else ""
            ),
        )
        self._text.setToolTip(plain_tip(folder))

    def accept(self) -> None:
        """Create a project from the folder and index it."""
        if folder := self.folder:
            self._show("")
            self.bridge.jobs.start(self._index(folder))

    def refuse(self) -> None:
        """Close the offer, which was stored as declined when it was shown."""
        self._show("")
        self.refresh()

    async def _index(self, folder: str) -> None:
        made = await self.bridge.engine.projects.answer(folder, True)
        if made is not None:
            self.begun.emit(_("Indexing “{name}”…", name=made.name))
        self.refresh()

    def _apply_style(self) -> None:
        show_pixmap(self._icon, theme().pixmap("folder-search", "muted", theme().px(16), self.devicePixelRatioF()))
