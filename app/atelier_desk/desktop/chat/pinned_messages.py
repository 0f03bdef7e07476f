"""The pinned messages of the workflow in view, and a menu to jump to them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, Qt, Signal
from PySide6.QtWidgets import QMenu, QWidget

from atelier_desk.desktop.chat.message_actions import brief
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.button_menu import popup_from
from atelier_desk.support.i18n import _, ngettext

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.desktop.chat.transcript.page_reader import TranscriptPages
    from atelier_desk.domain.workflow import Message


class PinnedMessages(QObject):
    """Loads the pinned messages and fills their menu.

    Signals:
        chosen: the id of the message to scroll to.
    """

    chosen = Signal(str)

    def __init__(self, bridge: Bridge, pages: TranscriptPages, anchor: QWidget) -> None:
        super().__init__(anchor)
        self._bridge, self._pages, self._anchor = bridge, pages, anchor
        self.pins: list[Message] = []
        pages.opened.connect(lambda *_: self.read())
        pages.stream.pins_changed.connect(self.read)

    def read(self) -> None:
        """Load the pinned messages."""
        workflow_id = self._pages.workflow_id
        if workflow_id:
            self._bridge.jobs.start(self._read(workflow_id), key="pinned-messages")

    def clear(self) -> None:
        """Forget the pinned messages: no workflow is in view."""
        self.pins = []

    def add_to(self, menu: QMenu) -> None:
        """Add a submenu with the number of pinned messages; nothing if there are none."""
        if self.pins:
            counted = ngettext("{n} pinned message", "{n} pinned messages", len(self.pins))
            self._fill(menu.addMenu(theme().icon("pin", "accent"), counted))

    def open(self) -> QMenu:
        """Open the menu of pinned messages."""
        menu = QMenu(self._anchor)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._fill(menu)
        anchor = self._anchor
        at = anchor.mapToGlobal(QPoint(anchor.width() - menu.sizeHint().width(), anchor.height()))
        popup_from(anchor, menu, at)
        menu.setActiveAction(menu.actions()[0])
        return menu

    def _fill(self, menu: QMenu) -> None:
        menu.setObjectName("pinned-menu")
        for message in self.pins:
            who = message.agent_name if message.role.value == "assistant" else _("You")
            text = _("{who}: {text}", who=who or _("The agent"), text=brief(message.content))
            menu.addAction(
                theme().icon("pin", "accent"), text.replace("&", "&&"), partial(self.chosen.emit, message.id)
            )
        if not self.pins:
            menu.addAction(_("No pinned messages.")).setEnabled(False)

    async def _read(self, workflow_id: str) -> None:
        pins = await self._bridge.engine.messages.pinned(workflow_id)
        if workflow_id == self._pages.workflow_id:
            self.pins = pins
