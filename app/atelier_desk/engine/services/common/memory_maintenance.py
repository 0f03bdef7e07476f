"""Maintenance of memories: merging duplicates, showing contradictions, pins, workflows without memory."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from atelier_desk.domain import limits
from atelier_desk.domain.base_model import Model
from atelier_desk.domain.errors import ConflictError, NotFoundError, UsageError
from atelier_desk.domain.memory import (
    RETRIEVED_MAX,
    DeletedMemory,
    Memory,
    MemoryFilter,
    MemoryScope,
    MergedInto,
    expiry,
)
from atelier_desk.engine.services.common import input_checks
from atelier_desk.knowledge.memory_duplicates_and_contradictions import relations
from atelier_desk.knowledge.query_vector import EMBEDDED_CHARS
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_tool_thread

if TYPE_CHECKING:
    from atelier_desk.engine.services.common.service_context import ServiceContext

NEAR = 1_000
"""Maximum nearest pairs whose words are compared: for similarly generated texts, such as lists of numbers, vectors say
little.

The longest texts then take a second of CPU time, in a thread.
"""
READ = 200
"""Pairs read at once."""
MAX_DISTINCT_PAIRS = 2_000
"""Maximum pairs marked as distinct by a person, oldest dropped first."""


_MERGED_FIELDS = ("tags", "importance", "retrieved_by", "tainted", "created_at", "expires_at", "updated_at")
"""Fields that a memory may take over from another one merged into it."""


class MemoryPair(Model):
    """Two memories of the same scope and type, the newer one second.

    ``kind``: ``same``: duplicates, ``against``: contradictory.
    """

    kind: Literal["same", "against"]
    first: Memory
    second: Memory
    similarity: float


class MemoryMaintenance:
    """Maintenance part of the memory service."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context
        self._merging = asyncio.Lock()
        """Two concurrent opposite merges of the same pair would delete both."""

    async def pairs(self, workflow_id: str | None = None, limit: int = 50) -> list[MemoryPair]:
        """Return duplicate or contradictory memories, most similar first: of a workflow and general, or only general.

        Empty without an embedder.
        """
        wanted = MemoryFilter(workflow_id or None, MemoryScope.BOTH if workflow_id else MemoryScope.GENERAL)
        apart = {frozenset(pair) for pair in (await self._context.settings.get()).memories_apart}
        # Pairs marked as distinct are similar too, and must not displace others.
        near = await self._context.memory_search.index_cache.near_pairs(
            wanted, self._context.clock.now().timestamp(), NEAR + len(apart)
        )
        near = [each for each in near if frozenset(each[:2]) not in apart]
        found: list[MemoryPair] = []
        while near and len(found) < limit:
            some, near = near[:READ], near[READ:]
            ids = list(dict.fromkeys(memory_id for pair in some for memory_id in pair[:2]))
            known = {memory.id: memory for memory in await self._context.repos.memories.get_many(ids)}
            two = [(known[one], known[other], cosine) for one, other, cosine in some if one in known and other in known]
            texts = [(one.content[:EMBEDDED_CHARS], other.content[:EMBEDDED_CHARS]) for one, other, _cosine in two]
            kinds = await in_tool_thread(relations, texts)
            for (one, other, cosine), kind in zip(two, kinds, strict=True):
                first, second = sorted((one, other), key=lambda memory: (memory.created_at, memory.id))
                if kind:
                    found.append(MemoryPair(kind=kind, first=first, second=second, similarity=min(1.0, cosine)))
        return found[:limit]

    async def merge(self, keep_id: str, other_id: str) -> Memory:
        """Keep one memory and delete the other, taking over its tags, runs, age, importance, pin and longer expiry.

        ``undo_delete`` of the other reverts this for ``DELETED_DAYS``.

        Raises:
            UsageError: they are the same, or of different scopes.
        """
        async with self._merging:
            return await self._merged(keep_id, other_id)

    async def _merged(self, keep_id: str, other_id: str) -> Memory:
        repo = self._context.repos.memories
        memory, other = await repo.get(keep_id), await repo.get(other_id)
        if memory.id == other.id or memory.workflow_id != other.workflow_id:
            raise UsageError(N_("Only two different memories of the same scope can be merged."))
        changes = {
            "tags": tuple(dict.fromkeys((*memory.tags, *other.tags)))[: limits.MEMORY_TAGS],
            "importance": max(memory.importance, other.importance),
            "retrieved_by": tuple(dict.fromkeys((*other.retrieved_by, *memory.retrieved_by)))[-RETRIEVED_MAX:],
            "tainted": tuple(dict.fromkeys((*memory.tainted, *other.tainted))),
            "created_at": min(memory.created_at, other.created_at),
            # Keep the longer expiry: both say the same, and the deleted one may be pinned.
            "expires_at": max(memory.expires_at, other.expires_at) if memory.expires_at and other.expires_at else None,
            "updated_at": self._context.clock.now(),
        }
        stored = await self._stored(memory.model_copy(update=changes))
        moved = await self._move_pin(other.id, memory.id)
        await repo.delete(other.id, MergedInto(kept=memory, made=stored, pinned=moved))
        self._context.bus.changed("memory", other.id)
        return stored

    async def deleted(self, limit: int | None = None, offset: int = 0) -> list[DeletedMemory]:
        """Return what can be restored, last deleted first; all without a ``limit``."""
        input_checks.page(limit, offset, most=None)
        return await self._context.repos.memory_bin.list(limit, offset)

    async def undo_delete(self, memory_id: str) -> Memory:
        """Restore a deleted memory.

        A merge is reverted: both are as before, except fields changed since. A memory that expired meanwhile gets the
        expiry of a new one.

        Raises:
            NotFoundError: it was deleted too long ago, or permanently.
        """
        async with self._merging:
            deleted = await self._deleted(memory_id)
            if deleted.merged is not None:
                await self._unmerge(deleted.merged, memory_id)
            # Written last, because it removes the deleted one: after an interruption it can be requested again.
            memory, now = (
                Memory.model_validate(deleted.model_dump(exclude={"deleted_at", "merged"})),
                self._context.clock.now(),
            )
            # otherwise it would permanently expire at once
            if memory.expires_at is not None and memory.expires_at <= now:
                memory = memory.model_copy(update={"expires_at": expiry(memory.type, now)})
            return await self._stored(memory)

    async def _unmerge(self, merged: MergedInto, memory_id: str) -> None:
        """Revert fields taken over from another memory, except those changed since."""
        if merged.pinned:
            await self._move_pin(merged.kept.id, memory_id)
        now = next(iter(await self._context.repos.memories.get_many([merged.kept.id])), None)
        if now is None:
            return
        back = {
            name: getattr(merged.kept, name)
            for name in _MERGED_FIELDS
            if getattr(now, name) == getattr(merged.made, name)
        }
        if now.id in await self.pinned():
            back.pop("expires_at", None)  # it no longer expires
        await self._stored(now.model_copy(update=back))

    async def purge(self, memory_id: str) -> None:
        """Permanently delete a deleted memory.

        Raises:
            NotFoundError: there is no such deleted memory.
        """
        await self._deleted(memory_id)
        await self._context.repos.memory_bin.delete(memory_id)
        self._context.bus.changed("memory", memory_id)

    async def purge_expired(self) -> int:
        """Permanently delete what was deleted more than ``DELETED_DAYS`` ago; return the number."""
        return await self._context.repos.memory_bin.purge_before(
            self._context.clock.now() - timedelta(days=limits.DELETED_DAYS)
        )

    async def _deleted(self, memory_id: str) -> DeletedMemory:
        try:
            return await self._context.repos.memory_bin.get(memory_id)
        except NotFoundError:
            raise NotFoundError(N_("The deleted memory {id} can no longer be restored."), id=memory_id) from None

    async def _move_pin(self, before: str, after: str) -> bool:
        """Move a pin from one memory to another; False if there is none."""
        pinned = await self.pinned()
        if before not in pinned or after in pinned:
            return False
        await self._context.settings.update(
            memories_pinned=lambda ids: tuple(after if each == before else each for each in ids)
        )
        return True

    async def of_turns(self, turn_ids: Sequence[str]) -> list[Memory]:
        """Return existing memories of the teams of these turns, oldest first."""
        return await self._context.repos.memories.of_turns(turn_ids)

    async def proposed(self, workflow_id: str | None = None, limit: int | None = None) -> list[Memory]:
        """Return proposals for all workflows that wait for a decision, newest first; all without ``limit``."""
        input_checks.page(limit, most=None)
        return await self._context.repos.memories.proposed(workflow_id or None, limit)

    async def accept(self, memory_id: str, *, everywhere: bool = True, content: str | None = None) -> Memory:
        """Accept a proposed memory, for all workflows or its own only. ``propose_again`` reverts it.

        Args:
            content: the text that the person read; None if unread.

        Raises:
            NotFoundError: it is gone.
            ConflictError: an agent changed it after the person read it.
        """
        memory = await self._context.repos.memories.get(memory_id)
        if content is not None and memory.content != content:
            raise ConflictError(N_("An agent has changed this memory in the meantime. Read it again."))
        home = None if everywhere else memory.workflow_id
        return await self._stored(memory.model_copy(update={"workflow_id": home, "proposed": False}))

    async def propose_again(self, memory_id: str, workflow_id: str) -> Memory:
        """Withdraw an acceptance: it belongs to this workflow and waits again.

        Raises:
            NotFoundError: the memory or the workflow is gone.
        """
        memory = await self._context.repos.memories.get(memory_id)
        return await self._stored(memory.model_copy(update={"workflow_id": workflow_id, "proposed": True}))

    async def written_in(self, memory_id: str) -> tuple[str, str]:
        """Return the ids of the workflow and of the last message of the turn in which an agent wrote it.

        Raises:
            NotFoundError: no agent wrote it, or the turn is gone.
        """
        memory = await self._context.repos.memories.get(memory_id)
        if not memory.turn_id:
            raise NotFoundError(N_("No agent wrote this memory."))
        turn = await self._context.repos.runs.get(memory.turn_id)
        messages = await self._context.repos.messages.page(turn.workflow_id, run_ids=[turn.id], limit=1)
        return turn.workflow_id, messages[-1].id if messages else ""

    async def _stored(self, memory: Memory) -> Memory:
        stored = await self._context.memory_search.index(memory)
        self._context.bus.changed("memory", stored.id)
        return stored

    async def keep_both(self, first_id: str, second_id: str, on: bool = True) -> None:
        """Mark a pair as distinct: it is not shown again. ``on`` False reverts this."""
        pair = (min(first_id, second_id), max(first_id, second_id))

        def apart(pairs: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
            others = tuple(each for each in pairs if tuple(each) != pair)
            return (*others, pair)[-MAX_DISTINCT_PAIRS:] if on else others

        await self._context.settings.update(memories_apart=apart)
        self._context.bus.changed("memory", first_id)

    async def pin(self, memory_id: str, on: bool = True) -> Memory:
        """Pin a memory, so that it does not expire. Unpinned, it expires from now on according to its type."""
        memory = await self._context.repos.memories.get(memory_id)
        first = (memory_id,) if on else ()
        await self._context.settings.update(
            memories_pinned=lambda ids: (*first, *(each for each in ids if each != memory_id))
        )
        expires = None if on else expiry(memory.type, self._context.clock.now())
        return await self._stored(memory.model_copy(update={"expires_at": expires}))

    async def pinned(self) -> list[str]:
        """Return the ids of the pinned memories, last pinned first."""
        return list((await self._context.settings.get()).memories_pinned)

    async def set_on(self, workflow_id: str, on: bool) -> None:
        """Set whether a workflow's agents save and are given memories.

        Raises:
            NotFoundError: there is no such workflow.
        """
        await self._context.repos.workflows.get(workflow_id)
        last = () if on else (workflow_id,)
        await self._context.settings.update(
            memories_off=lambda ids: (*(each for each in ids if each != workflow_id), *last)
        )
        self._context.bus.changed("memory", workflow_id)

    async def is_on(self, workflow_id: str) -> bool:
        """Whether the workflow's memory is enabled."""
        return workflow_id not in (await self._context.settings.get()).memories_off
