"""Which files each turn changed: told to the last message of the turn, which shows them in a card."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge
    from atelier_desk.desktop.chat.transcript.entries import Change as Shown
    from atelier_desk.desktop.chat.transcript.entries import Entry
    from atelier_desk.desktop.chat.transcript.pages import TranscriptPages
    from atelier_desk.domain import change
    from atelier_desk.domain.stream.event import StreamEvent, Topic


class ChangedFiles(QObject):
    """Keeps the entries of the workflow in view up to date."""

    def __init__(self, bridge: Bridge, pages: TranscriptPages, parent: QObject) -> None:
        super().__init__(parent)
        self._bridge, self._pages = bridge, pages
        self._turns: dict[str, list[change.Change]] = {}
        pages.opened.connect(lambda *_: self.read())
        pages.prepended.connect(lambda *_: self._apply())
        bridge.stream_event.connect(self._on_stream)
        bridge.changed.connect(self._on_changed)

    def read(self) -> None:
        """Ask the engine what each turn changed, where there is a folder to change."""
        workflow = self._pages.workflow
        if workflow is not None and self._bridge.ready:
            self._bridge.jobs.start(self._read(workflow.id), key="changed-files")

    async def _read(self, workflow_id: str) -> None:
        turns = await self._bridge.engine.files.by_turn(workflow_id)
        if workflow_id == self._pages.workflow_id:
            self._turns = turns
            self._apply()

    def _apply(self) -> None:
        transcript = self._pages.current
        if transcript is None:
            return
        last: dict[str, Entry] = {entry.run_id: entry for entry in transcript.entries if entry.kind == "assistant" and not entry.live}
        shown: list[Shown] = []
        for entry in transcript.entries:
            ended = last.get(entry.run_id) is entry and entry.run_id != transcript.live_run
            wanted = tuple(self._turns.get(entry.run_id, ())) if ended else ()
            if wanted != entry.file_changes:
                entry.file_changes = wanted
                shown.append(("update", entry))
        if shown:
            self._pages.changed.emit(shown)

    def _on_stream(self, event: StreamEvent) -> None:
        from atelier_desk.domain.stream import payloads

        if event.workflow_id == self._pages.workflow_id and not event.depth and isinstance(event.payload, payloads.WorkflowComplete):
            self.read()

    def _on_changed(self, topic: Topic, key: str) -> None:
        if topic == "file" and key in {"", self._pages.workflow_id}:
            self.read()
