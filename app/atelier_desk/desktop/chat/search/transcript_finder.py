"""Search in the workflow in view: text through the find bar, or a message by its id."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from atelier_desk.desktop.chat.search.transcript_hits import hits
from atelier_desk.desktop.widgets.date_format import short_moment

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.desktop.chat.search.transcript_hits import Hit
    from atelier_desk.desktop.chat.transcript.page_reader import TranscriptPages
    from atelier_desk.desktop.chat.transcript.view import ChatView
    from atelier_desk.desktop.team.model import TeamModel
    from atelier_desk.desktop.widgets.find_bar import FindBar


class Finder(QObject):
    """Loads older pages as far as a search needs them.

    Signals:
        left: the match is in the workflow's transcript: close a sub-agent's page.
        agent_found: a message is a sub-agent's: its run and the message's id.
    """

    left = Signal()
    agent_found = Signal(str, str)

    def __init__(
        self, bridge: Bridge, pages: TranscriptPages, team: TeamModel, view: ChatView, bar: FindBar, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._bridge, self._pages, self._team, self._view, self._bar = bridge, pages, team, view, bar
        self._hits: Sequence[Hit] = ()
        bar.needle_changed.connect(self._on_needle)
        bar.reached.connect(self._reach)
        bar.when = self._when

    def _on_needle(self, needle: str) -> None:
        needle = needle.strip()
        self._view.set_needle(needle)
        if needle:
            self.left.emit()
            self._bridge.jobs.start(self._find(needle))

    async def _find(self, needle: str) -> None:
        """Search all entries, including closed cards; the newest match is shown first."""
        await self._pages.everything()
        if needle == self._bar.needle.strip() and self._pages.current is not None:
            self._hits = hits(self._pages.current.entries, needle)
            self._bar.show_found(len(self._hits), len(self._hits) - 1)

    def _reach(self, number: int) -> None:
        self._view.reach(self._hits[number].entry, self._hits[number].place)

    def _when(self, number: int) -> str:
        sent_at = self._hits[number].entry.time if 0 <= number < len(self._hits) else None
        return short_moment(sent_at) if sent_at else ""

    def reveal(self, row_id: str) -> None:
        """Scroll to a message."""
        self._bridge.jobs.start(self._reveal(row_id))

    async def _opened(self) -> None:
        """Wait until the workflow being loaded is shown."""
        there = asyncio.Event()
        connection = self._pages.opened.connect(lambda *_: there.set())
        try:
            await there.wait()
        finally:
            self._pages.opened.disconnect(connection)

    async def _reveal(self, row_id: str) -> None:
        run = await self._bridge.engine.teams.run_of(row_id)
        if run is not None and run.depth:
            self._team.want(run.correlation_id)
            self.agent_found.emit(run.id, row_id)
            return
        self.left.emit()
        if self._pages.current is None and self._pages.workflow_id:
            await self._opened()
        while self._pages.current is not None:
            found = next((entry for entry in self._pages.current.entries if entry.id == row_id), None)
            if found is not None:
                self._view.reveal(found)
                return
            if self._pages.complete or not await self._pages.older():
                return
