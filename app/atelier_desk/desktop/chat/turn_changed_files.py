"""Assigns the files changed by each turn to the turn's last message, which shows them in a card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from atelier_desk.desktop.chat.turn_end_cards import TurnEnds

if TYPE_CHECKING:
    from atelier_desk.domain.file_change import Change
    from atelier_desk.domain.stream.event import Topic


class ChangedFiles(TurnEnds):
    """Available if the workflow has a folder that agents may change."""

    entry_field: ClassVar[str] = "file_changes"
    topic: ClassVar[Topic] = "file"

    async def of_turns(self, workflow_id: str, turn_ids: Sequence[str]) -> Mapping[str, Sequence[Change]]:
        return await self._bridge.engine.files.by_turn(workflow_id)
