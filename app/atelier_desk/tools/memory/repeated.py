"""The same memory again: a turn that is answered again mostly stores what its first answer stored."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from atelier_desk.domain.memory import Memory
from atelier_desk.policy.permissions.taint import merged

if TYPE_CHECKING:
    from atelier_desk.storage.repositories import MemoryRepository


def origin_of(content: str) -> str:
    """Names the words a memory was stored with, whatever their case, spaces and last full stop."""
    words = " ".join(content.casefold().split()).rstrip(".!")
    return hashlib.sha256(words.encode()).hexdigest()[:32]


async def same_again(memory: Memory, memories: MemoryRepository, workflow_id: str) -> Memory:
    """What to store for a memory an agent adds in a run of ``workflow_id``.

    One with the same words that a run on a branch that was left has stored, or this run itself, is taken over: it becomes this run's, under
    its old id. One that a person changed since is given as it is and not to be stored again: what it says now is what they want kept. In
    all other cases the memory itself: the words must be the same, because losing a fact is worse than having it twice. One that is
    proposed for all workflows and holds for them already is not proposed again.
    """
    if memory.proposed:
        for known in await memories.with_origin(memory.model_copy(update={"workflow_id": None})):
            return known
    for known in await memories.with_origin(memory):
        if known.run_id == memory.run_id or await memories.left_behind(known.run_id, memory.run_id, workflow_id):
            kept = {"id": known.id, "created_at": known.created_at, "retrieved_by": known.retrieved_by}
            tainted = merged(known.tainted, memory.tainted)
            return known if known.edited else memory.model_copy(update={**kept, "tainted": tainted})
    return memory
