"""A new file waiting for approval in the card of the command that created it: preview, Keep and Discard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.bridge.jobs import Jobs
from atelier_desk.desktop.chat.cards.code_card import CodeCard
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.desktop.workspace_folders.held_file_row import HeldRow
from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.result_parts import HeldPart
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.domain.stream.event import Topic

SHOWN = 20_000
"""Maximum characters of the file that are shown."""


class HeldView(QWidget):
    """``held-view``: a row; clicking the file name shows its content below.

    Signals:
        height_changed: it was opened, closed or decided.
    """

    height_changed = Signal()

    def __init__(self, part: HeldPart, host: TranscriptHost, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("held-view")
        self._host, self._workflow_id = host, host.team.workflow_id
        bridge = host.bridge
        self.row = HeldRow(bridge, self._workflow_id, part.id, part.path, part.replaces, host.status_changed.emit, self)
        self.row.opened.connect(self._press)
        self.row.answered.connect(self._close)
        self.body: CodeCard | None = None
        if bridge is not None:
            self._jobs = Jobs(self, host.status_changed.emit)
            bridge.changed.connect(self._on_changed)
            self._jobs.start(self._refresh(bridge), key="look")

    def fit(self, width: int) -> int:
        """Lay out for this width in pixels; returns the height."""
        height = self.row.heightForWidth(width)
        self.row.setGeometry(0, 0, width, height)
        if self.body is not None:
            inner = self.body.fit(width)
            self.body.setGeometry(0, height + 4, width, inner)
            height += inner + 4
        self.setFixedSize(width, height)
        return height

    def _on_changed(self, topic: Topic, _id: str) -> None:
        if topic == "file" and self.row.waits and self._host.bridge is not None:
            self._jobs.start(self._refresh(self._host.bridge), key="look")

    async def _refresh(self, bridge: Bridge) -> None:
        if all(held.id != self.row.held_id for held in await bridge.engine.files.held(self._workflow_id)):
            self.row.settle()

    def _press(self) -> None:
        if self.body is not None:
            self._close()
        elif self._host.bridge is not None and self.row.waits:
            self._jobs.start(self._read(self._host.bridge), key="read")

    def _close(self) -> None:
        if self.body is not None:
            self.body.hide()
            self.body.deleteLater()
            self.body = None
        self.height_changed.emit()

    async def _read(self, bridge: Bridge) -> None:
        try:
            part = await bridge.engine.files.held_diff(self._workflow_id, self.row.held_id)
        except NotFoundError:
            self.row.settle()
            return
        if not self.row.waits:
            return  # decided meanwhile
        text = part.diff[:SHOWN] or _(N_("There is no text to compare."))
        self.body = CodeCard(text, "diff", self)
        self.body.freeze()
        self.body.height_changed.connect(self.height_changed)
        self.body.show()
        self.height_changed.emit()
