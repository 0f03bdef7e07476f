"""The pinned messages of the workflow in view: a button in the header, there while something is pinned, and a menu that leads to each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import QMenu, QWidget

from atelier_desk.desktop.chat.message_commands import brief
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import IconButton, control, say
from atelier_desk.support.i18n import _, ngettext

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge
    from atelier_desk.desktop.chat.transcript.page_reader import TranscriptPages
    from atelier_desk.domain.stream.event import StreamEvent
    from atelier_desk.domain.workflow import Message


class PinnedButton(IconButton):
    """``pinned-messages``: hidden while nothing is pinned.

    Signals:
        chosen: the id of the message to bring into view.
    """

    chosen = Signal(str)

    def __init__(self, bridge: Bridge, pages: TranscriptPages, parent: QWidget) -> None:
        super().__init__("pin", parent=parent)
        self._bridge, self._pages, self._around = bridge, pages, parent
        self._pins: list[Message] = []
        control(self, "pinned-messages", on=self.open)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.hide()
        pages.opened.connect(lambda *_: self.read())
        bridge.stream_event.connect(self._on_stream)
        say(self, lambda: str(len(self._pins)), name=self._counted, tip=self._counted)

    def _counted(self) -> str:
        return ngettext("{n} pinned message", "{n} pinned messages", len(self._pins))

    def read(self) -> None:
        """Ask the engine which there are."""
        workflow_id = self._pages.workflow_id
        if workflow_id:
            self._bridge.jobs.start(self._read(workflow_id), key="pinned-messages")

    def clear(self) -> None:
        """No workflow is in view."""
        self._show([])

    def open(self) -> QMenu:
        """The list; choosing one brings it into view."""
        menu = QMenu(self)
        menu.setObjectName("pinned-menu")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for message in self._pins:
            who = message.agent_name if message.role.value == "assistant" else _("You")
            text = _("{who}: {text}", who=who or _("The agent"), text=brief(message.content))
            menu.addAction(theme().icon("pin", "accent"), text.replace("&", "&&"), lambda key=message.id: self.chosen.emit(key))
        if not self._pins:
            menu.addAction(_("No pinned messages.")).setEnabled(False)
        at = QPoint(self.width(), self.height()) if self.isVisible() else QPoint(0, 0)
        anchor = self if self.isVisible() else self._around
        corner = anchor.mapToGlobal(at if self.isVisible() else QPoint(anchor.width() // 2, anchor.height()))
        menu.popup(QPoint(corner.x() - menu.sizeHint().width(), corner.y()) if self.isVisible() else corner)
        if menu.actions():
            menu.setActiveAction(menu.actions()[0])
        return menu

    async def _read(self, workflow_id: str) -> None:
        pins = await self._bridge.engine.messages.pinned(workflow_id)
        if workflow_id == self._pages.workflow_id:
            self._show(pins)

    def _show(self, pins: list[Message]) -> None:
        self._pins = pins
        self.setVisible(bool(pins))
        say(self)

    def _on_stream(self, event: StreamEvent) -> None:
        from atelier_desk.domain.stream import payloads

        data = event.payload
        if isinstance(data, payloads.ContextChanged) and data.message_id and event.workflow_id == self._pages.workflow_id:
            self.read()
