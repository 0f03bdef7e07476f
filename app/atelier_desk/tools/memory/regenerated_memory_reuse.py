"""Avoid duplicates: a regenerated turn usually stores the same memories as its first answer."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from atelier_desk.domain.memory import Memory
from atelier_desk.policy.permissions.taint_sources import merged

if TYPE_CHECKING:
    from atelier_desk.storage.repositories import MemoryRepository


def origin_of(content: str) -> str:
    """Return a hash of the words of a memory, ignoring case, spaces and a final full stop."""
    words = " ".join(content.casefold().split()).rstrip(".!")
    return hashlib.sha256(words.encode()).hexdigest()[:32]


async def same_again(memory: Memory, memories: MemoryRepository, workflow_id: str) -> Memory:
    """Return what to store for a memory added by an agent in a run of ``workflow_id``.

    A memory with the same words from an abandoned branch, or from this run, is reused under its id and now belongs to
    this run. One that a person edited since is returned unchanged and is not stored again. Otherwise the new memory is
    returned: words must be equal, because losing a fact is worse than a duplicate. A memory proposed for all workflows
    that already applies to them is not proposed again.
    """
    if memory.proposed:
        for known in await memories.with_origin(memory.model_copy(update={"workflow_id": None})):
            return known
    for known in await memories.with_origin(memory):
        if known.run_id == memory.run_id or await memories.left_behind(known.run_id, memory.run_id, workflow_id):
            unchanged = {"id": known.id, "created_at": known.created_at, "retrieved_by": known.retrieved_by}
            tainted = merged(known.tainted, memory.tainted)
            return known if known.edited else memory.model_copy(update={**unchanged, "tainted": tainted})
    return memory
