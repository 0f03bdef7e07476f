"""Assigns the memories of each turn to the message whose call created them, or to the turn's last one.

That message shows a card that asks what to keep.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from atelier_desk.desktop.chat.turn_changed_files import TurnEnds
from atelier_desk.domain.memory import REEMBED

if TYPE_CHECKING:
    from PySide6.QtCore import QObject

    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.desktop.chat.transcript.page_reader import TranscriptPages
    from atelier_desk.domain.memory import Memory
    from atelier_desk.engine.runs.memory_extraction import ExtractionReply
    from atelier_desk.presentation.rows.transcript_entries import Entry


class _OfMemories(TurnEnds):
    """What depends on the memories of turns."""

    topic = "memory"
    by_pages = True

    def concerns(self, key: str) -> bool:
        return key != REEMBED  # otherwise it is the id of a turn or a memory; the engine knows a memory's turn


class TurnMemories(_OfMemories):
    """Memories of the turn's team.

    Those created by a visible call are shown there at once, others at the end of the turn.
    """

    entry_field = "remembered"

    def __init__(self, bridge: Bridge, pages: TranscriptPages, parent: QObject) -> None:
        self._written: dict[tuple[str, str], str] = {}
        super().__init__(bridge, pages, parent)

    def arrange(self, entries: Sequence[Entry]) -> list[Entry]:
        """Find the message whose call created each memory, by turn and memory."""
        self._written = {}
        for entry in entries:
            for call in entry.calls:
                if memory_id := _memory_of(call.result):
                    self._written.setdefault((entry.run_id, memory_id), entry.id)
        return []

    def stands_at(self, shown: Memory, entry: Entry, *, ended: bool) -> bool:
        at = self._written.get((entry.run_id, shown.id))
        return ended if at is None else at == entry.id

    async def of_turns(self, workflow_id: str, turn_ids: Sequence[str]) -> Mapping[str, Sequence[Memory]]:
        turns: dict[str, list[Memory]] = {}
        for memory in await self._bridge.engine.memories.of_turns(turn_ids) if turn_ids else ():
            turns.setdefault(memory.turn_id, []).append(memory)
        return turns


def _memory_of(result: object) -> str:
    """Id of the memory created by a call; empty for other calls."""
    return str(result.get("memory_id") or "") if isinstance(result, dict) else ""


class MemoryQuestions(_OfMemories):
    """Running and failed requests to a turn's model to extract memories."""

    entry_field = "extractions"

    async def of_turns(self, workflow_id: str, turn_ids: Sequence[str]) -> Mapping[str, Sequence[ExtractionReply]]:
        found = await self._bridge.engine.runs.remembering.pending_turns(turn_ids) if turn_ids else ()
        return {each.turn_id: (each,) for each in found}
