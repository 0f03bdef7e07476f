"""Performs actions on queued messages, and returns withdrawn ones to the composer."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QImage

from atelier_desk.domain.errors import ConflictError
from atelier_desk.domain.stream.payloads import Waiting
from atelier_desk.domain.workflow import RunMode
from atelier_desk.support.i18n import _

if TYPE_CHECKING:
    from collections.abc import Callable

    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.desktop.chat.compose.composer import Composer
    from atelier_desk.desktop.chat.compose.queue_strip import QueueStrip
    from atelier_desk.domain.attachment import Attachment
    from atelier_desk.domain.events.run import UserMessage


class QueueController(QObject):
    """Connects the queue strip, the engine and the composer, for one workflow at a time.

    Signals:
        given_back: the attachments of a withdrawn message.
    """

    given_back = Signal(object)

    def __init__(self, bridge: Bridge, strip: QueueStrip, composer: Composer, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._bridge, self.strip, self._composer = bridge, strip, composer
        self._workflow_id = ""
        self._edits: dict[str, dict[str, str]] = {}
        """What was typed in messages that wait in workflows that are out of view, by workflow and message."""
        self.stepping: Callable[[], bool] = bool
        """Whether a turn that begins waits before each step."""
        strip.edit_requested.connect(self._on_edit)
        strip.move_requested.connect(self._on_move)
        strip.withdraw_requested.connect(self._on_withdraw)
        strip.send_requested.connect(self._on_send)
        strip.edit_missed.connect(self._on_missed)

    def set_workflow(self, workflow_id: str) -> None:
        """Set the workflow, empty for none, and load its queue."""
        if edits := self.strip.edits():
            self._edits[self._workflow_id] = edits
        self._workflow_id = workflow_id
        self.strip.show_waiting((), {})
        if workflow_id:
            self._bridge.jobs.start(self._read(workflow_id))

    async def _read(self, workflow_id: str) -> None:
        found = await self._bridge.engine.runs.waiting.list(workflow_id)
        if workflow_id == self._workflow_id:
            self.strip.show_waiting(
                [
                    Waiting(
                        message_id=each.message_id,
                        content=each.content,
                        images=len(each.images) + sum(one.picture for one in each.attachments),
                        files=(
                            *(one.name for one in each.files),
                            *(one.name for one in each.attachments if not one.picture),
                        ),
                    )
                    for each in found or ()
                ],
                self._edits.pop(workflow_id, None),
            )

    def _on_edit(self, message_id: str, text: str) -> None:
        self._bridge.jobs.start(self._edit(self._workflow_id, message_id, text))

    async def _edit(self, workflow_id: str, message_id: str, text: str) -> None:
        try:
            await self._bridge.engine.runs.waiting.edit(workflow_id, message_id, text)
        except ConflictError:  # it was sent at that moment
            if workflow_id == self._workflow_id:
                self._on_missed(text)
                return
            await self._into_draft(workflow_id, text, ())
            raise

    def _on_missed(self, text: str) -> None:
        """Keep the text of an edit that came too late: it can be sent as a new message."""
        self._into_field(text)
        self._bridge.failed.emit(_("The message is no longer queued. Your text is in the field below."))

    def _on_move(self, message_id: str, to: int) -> None:
        workflow_id = self._workflow_id
        self._bridge.jobs.once(
            ("move", message_id), lambda: self._bridge.engine.runs.waiting.move(workflow_id, message_id, to)
        )

    def _on_send(self, message_id: str) -> None:
        workflow_id, mode = self._workflow_id, RunMode.STEPPING if self.stepping() else RunMode.AUTO
        self._bridge.jobs.once(
            ("send", message_id), lambda: self._bridge.engine.runs.send_queued(workflow_id, message_id, mode=mode)
        )

    def _on_withdraw(self, message_id: str) -> None:
        workflow_id = self._workflow_id
        self._bridge.jobs.once(("back", message_id), lambda: self._withdraw(workflow_id, message_id))

    async def _withdraw(self, workflow_id: str, message_id: str) -> None:
        message = await self._bridge.engine.runs.waiting.withdraw(workflow_id, message_id)
        if workflow_id == self._workflow_id:
            self._put_back(message)
        else:
            await self._into_draft(workflow_id, message.content, message.attachments)

    async def _into_draft(self, workflow_id: str, text: str, attachments: tuple[Attachment, ...]) -> None:
        """Append to the draft of a workflow out of view: it appears when that is opened again."""
        row = await self._bridge.engine.workflows.get(workflow_id)
        await self._bridge.engine.workflows.set_draft(
            workflow_id, joined(row.draft, text), (*row.draft_attachments, *attachments)
        )

    def _put_back(self, message: UserMessage) -> None:
        """Return text and attachments to the composer, after its current content."""
        self._into_field(message.content)
        self.given_back.emit(message.attachments)
        for each in message.images:
            self._composer.pictures_given.emit([QImage.fromData(base64.b64decode(each.data))])
        if message.files:
            names = ", ".join(file.name for file in message.files)
            self._bridge.failed.emit(_("Attach these files again: {names}", names=names))

    def _into_field(self, text: str) -> None:
        """Append text to the composer."""
        field = self._composer.field
        field.setPlainText(joined(field.toPlainText(), text))
        field.moveCursor(field.textCursor().MoveOperation.End)


def joined(before: str, text: str) -> str:
    """Two texts joined by an empty line; either may be empty."""
    if not text.strip():
        return before
    return f"{before.rstrip()}\n\n{text}" if before.strip() else text
