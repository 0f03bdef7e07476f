"""What each turn remembered: told to the last message of the turn, which asks in a card what is to be kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from atelier_desk.desktop.chat.turn_ends import TurnEnds
from atelier_desk.domain.memory import REEMBED

if TYPE_CHECKING:
    from atelier_desk.domain.memory import Memory
    from atelier_desk.domain.stream.event import Topic
    from atelier_desk.engine.runs.remembering import Looking


class Remembered(TurnEnds):
    """Of the turn's whole team."""

    entry_field: ClassVar[str] = "remembered"
    topic: ClassVar[Topic] = "memory"
    by_pages: ClassVar[bool] = True

    async def of_turns(self, workflow_id: str, turn_ids: Sequence[str]) -> Mapping[str, Sequence[Memory]]:
        turns: dict[str, list[Memory]] = {}
        for memory in await self._bridge.engine.memories.of_turns(turn_ids) if turn_ids else ():
            turns.setdefault(memory.turn_id, []).append(memory)
        return turns

    def concerns(self, key: str) -> bool:
        return key != REEMBED  # else it is the memory's: whose turn it is of is known to the engine


class AskedAbout(TurnEnds):
    """That the model of a turn is asked what is to be remembered, or could not be."""

    entry_field: ClassVar[str] = "looking"
    topic: ClassVar[Topic] = "memory"
    by_pages: ClassVar[bool] = True

    async def of_turns(self, workflow_id: str, turn_ids: Sequence[str]) -> Mapping[str, Sequence[Looking]]:
        found = await self._bridge.engine.runs.remembering.looking(turn_ids) if turn_ids else ()
        return {each.turn_id: (each,) for each in found}

    def concerns(self, key: str) -> bool:
        return key != REEMBED  # else it is the turn's, or a memory's
