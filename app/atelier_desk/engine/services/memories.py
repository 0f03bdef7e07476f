"""Memories for people: search with score parts, undoable changes, moving, and switching the embedder."""

from __future__ import annotations

import asyncio
import builtins
import itertools
import json
import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from atelier_desk.domain import limits
from atelier_desk.domain.base_model import Model, Timestamp, new_id, utc_now
from atelier_desk.domain.errors import NotFoundError, UsageError
from atelier_desk.domain.memory import (
    DEFAULT_IMPORTANCE,
    DEFAULT_SCOPE,
    REEMBED,
    Memory,
    MemoryFilter,
    MemoryScope,
    MemoryType,
    expiry,
)
from atelier_desk.domain.usage import EmbeddingOffer
from atelier_desk.engine.services.common import input_checks
from atelier_desk.engine.services.common.import_conflict_choice import OnConflict
from atelier_desk.engine.services.common.memory_maintenance import MemoryMaintenance
from atelier_desk.engine.services.common.paging import all_rows
from atelier_desk.engine.services.common.service_context import ServiceContext
from atelier_desk.policy.permissions.taint_sources import merged
from atelier_desk.support import background_tasks
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.knowledge.memory_search import MemoryMatch

log = logging.getLogger(__name__)

EDITABLE = frozenset({"content", "tags", "importance", "type", "expires_at"})
Progress = Callable[[int, int], None]
"""``(done, total)``."""


class MemoryFile(Model):
    """Exported memories without vectors, which depend on an embedder and are computed again."""

    format: Literal["atelier-memories"]
    version: Literal[1]
    exported_at: Timestamp = Field(default_factory=utc_now)
    memories: tuple[Memory, ...] = ()


class MemoryService(MemoryMaintenance):
    """Memories. Changes are announced as ``memory`` with the memory's id.

    Attributes:
        reembedding: ``(done, total)`` while vectors are computed again, else None.
        waits: vectors that are missing may cost something: none are made before the person says so (``embed_now``).
    """

    def __init__(self, context: ServiceContext) -> None:
        super().__init__(context)
        self._task: asyncio.Task[int] | None = None
        self.reembedding: tuple[int, int] | None = None
        self.waits = False

    async def list(
        self,
        workflow_id: str | None = None,
        scope: MemoryScope | str = MemoryScope.BOTH,
        type: MemoryType | str | None = None,
        tags: Sequence[str] = (),
        limit: int | None = limits.LIST_DEFAULT,
        offset: int = 0,
    ) -> list[Memory]:
        """Return memories, latest changed first.

        All with None for ``limit``. ``both`` without a workflow means the general ones.
        """
        input_checks.page(limit, offset, most=None)
        return await self._context.repos.memories.list(
            workflow_id=workflow_id or None,
            scope=_scope(scope, workflow_id),
            type=_type(type),
            tags=tuple(tags),
            limit=limit,
            offset=offset,
        )

    async def list_pinned(
        self,
        workflow_id: str | None = None,
        scope: MemoryScope | str = MemoryScope.BOTH,
        type: MemoryType | str | None = None,
        tags: Sequence[str] = (),
    ) -> builtins.list[Memory]:
        """Return the pinned ones among the results of ``list``, last pinned first."""
        found = await self._context.repos.memories.get_many(await self.pinned())
        wanted = MemoryFilter(workflow_id or None, _scope(scope, workflow_id), _type(type), tuple(tags))
        return [
            each
            for each in found
            if wanted.accepts_home(each.workflow_id)
            and wanted.type in (None, each.type)
            and set(wanted.tags) <= set(each.tags)
        ]

    async def get(self, memory_id: str) -> Memory:
        return await self._context.repos.memories.get(memory_id)

    async def search(
        self,
        query: str,
        workflow_id: str | None = None,
        scope: MemoryScope | str = MemoryScope.BOTH,
        type: MemoryType | str | None = None,
        tags: Sequence[str] = (),
        limit: int = limits.MEMORY_LIST_DEFAULT,
        threshold: float | None = None,
    ) -> MemoryMatch:
        """Return matching memories, best first, with score parts.

        ``threshold`` 0 (default) keeps any match, 1 only near identity.
        """
        input_checks.page(limit, most=limits.MEMORY_LIST_MAX)
        least = 0.0 if threshold is None else threshold
        if not 0 <= least <= 1:
            raise UsageError(N_("The threshold must be a number from 0 to 1, not {value}."), value=least)
        filters = MemoryFilter(workflow_id or None, _scope(scope, workflow_id), _type(type), tuple(tags))
        wanted = input_checks.text(query, _("query"), limits.MEMORY_CONTENT)
        return await self._context.memory_search.search(wanted, filters=filters, limit=limit, threshold=least)

    async def add(
        self,
        content: str,
        type: MemoryType | str = MemoryType.KNOWLEDGE,
        workflow_id: str | None = None,
        scope: MemoryScope | str | None = None,
        tags: Sequence[str] = (),
        importance: float | None = None,
    ) -> Memory:
        """Add a memory. Without ``scope`` it belongs to the given workflow if its type does so by default."""
        kind = _type(type) or MemoryType.KNOWLEDGE
        scope_of = DEFAULT_SCOPE[kind] if scope is None else _scope(scope, workflow_id)
        home = workflow_id if workflow_id and scope_of is not MemoryScope.GENERAL else None
        if home is not None:
            await self._context.repos.workflows.get(home)
        now = self._context.clock.now()
        memory = input_checks.build(
            Memory,
            _("memory"),
            type=kind,
            content=input_checks.text(content, _("text"), limits.MEMORY_CONTENT),
            workflow_id=home,
            importance=DEFAULT_IMPORTANCE[kind] if importance is None else importance,
            tags=_tags(tags),
            source="user",
            created_at=now,
            updated_at=now,
            expires_at=expiry(kind, now),
        )
        return await self._stored(memory)

    async def update(self, memory_id: str, **fields: Any) -> Memory:
        """Change content, tags, importance, type or expiry (None: never); changed content gets a new vector.

        Another type implies its own expiry unless given: former context is kept, new context expires unless pinned.
        """
        unknown = sorted(set(fields) - EDITABLE)
        if unknown:
            allowed = ", ".join(sorted(EDITABLE))
            raise UsageError(
                N_("These fields of a memory cannot be changed: {names}. Allowed: {allowed}."),
                names=", ".join(unknown),
                allowed=allowed,
            )
        if "content" in fields:
            # The words are now the person's own, whatever the agent had read.
            fields |= {"content": input_checks.text(fields["content"], _("text"), limits.MEMORY_CONTENT), "tainted": ()}
        if "tags" in fields:
            fields["tags"] = _tags(fields["tags"])
        memory = await self.get(memory_id)
        if "type" in fields and "expires_at" not in fields:
            fields["expires_at"] = await self._retyped(memory, _type(fields["type"]) or memory.type)
        return await self._stored(
            input_checks.changed(memory, _("memory"), **fields, edited=True, updated_at=self._context.clock.now())
        )

    async def _retyped(self, memory: Memory, kind: MemoryType) -> datetime | None:
        """Return the expiry of a memory whose type changes."""
        before, after = (expiry(each, self._context.clock.now()) for each in (memory.type, kind))
        if before is not None and after is None:
            return None
        if memory.expires_at is None and before is None and memory.id not in await self.pinned():
            return after
        return memory.expires_at

    async def delete(self, memory_id: str) -> Memory:
        """Delete a memory and return it. ``undo_delete`` restores it for ``DELETED_DAYS``."""
        memory = await self.get(memory_id)
        await self._context.repos.memories.delete(memory_id)
        self._context.bus.changed("memory", memory_id)
        return memory

    async def describe(self, workflow_id: str | None = None) -> dict[str, Any]:
        """Count memories by type and tag; with a workflow its own and the general ones."""
        return await self._context.repos.memories.describe(workflow_id or None)

    async def export(self, workflow_id: str | None = None) -> str:
        """Return JSON of all memories, or one workflow's own, for ``import_``."""
        scope = MemoryScope.WORKFLOW if workflow_id else None
        if workflow_id:
            await self._context.repos.workflows.get(workflow_id)
        repo = self._context.repos.memories
        memories = await all_rows(
            lambda offset, limit: repo.list(workflow_id=workflow_id, scope=scope, limit=limit, offset=offset)
        )
        file = MemoryFile(
            format="atelier-memories", version=1, exported_at=self._context.clock.now(), memories=tuple(memories)
        )
        return json.dumps(file.model_dump(mode="json"), ensure_ascii=False, indent=1)

    async def import_(
        self, text: str | bytes, on_conflict: OnConflict | str = OnConflict.SKIP, progress: Progress | None = None
    ) -> dict[str, int]:
        """Import exported memories, at most ``limits.MEMORY_FILE`` bytes; ``on_conflict`` applies to existing ids.

        They count as outside content until a person edits them. A memory of an unknown workflow becomes general;
        unapproved ones are skipped then. About 300 per second, each written with its vector; after cancelling, written
        ones stay. ``progress`` is called after every batch.

        Returns:
            How many were ``added``, ``overwritten`` and ``skipped``.
        """
        rule = OnConflict.parse(on_conflict)
        file = input_checks.parse_json(MemoryFile, text, _("memory file"), limits.MEMORY_FILE)
        for memory in file.memories:
            input_checks.identifier(memory.id, _("memory file"))
        counts = {"added": 0, "overwritten": 0, "skipped": 0}
        outside = (_("memories (imported)"),)  # the file's author is unknown
        homes: dict[str, str | None] = {}
        there = {
            memory.id: memory
            for memory in await self._context.repos.memories.get_many([each.id for each in file.memories])
        }
        taken: dict[str, Memory] = {}
        for memory in file.memories:
            known = there.get(memory.id)
            if known and rule is OnConflict.SKIP:
                counts["skipped"] += 1
                continue
            changes: dict[str, object] = {
                "embedder": "",
                "source": "import",
                "tainted": merged(outside, memory.tainted),
            }
            if memory.workflow_id is not None:
                if memory.workflow_id not in homes:
                    homes[memory.workflow_id] = await self._home(memory.workflow_id)
                changes["workflow_id"] = homes[memory.workflow_id]
            if memory.proposed and changes.get("workflow_id") is None:
                counts["skipped"] += 1  # unapproved: as a general one it would apply without approval
                continue
            overwritten = (
                known is not None and rule is OnConflict.OVERWRITE and known.workflow_id == changes.get("workflow_id")
            )
            if known and not overwritten:
                changes["id"] = new_id()  # also if it would be taken from another workflow
            counts["overwritten" if overwritten else "added"] += 1
            made = memory.model_copy(update=changes)
            taken[made.id] = made
        try:
            await self._context.memory_search.index_many(list(taken.values()), progress)
        finally:  # after a stop, written ones stay
            for memory_id in itertools.islice(taken, 1):
                # subscribers read everything again, so one notice is enough
                self._context.bus.changed("memory", memory_id)
        return counts

    async def reembed(self, progress: Progress | None = None) -> int:
        """Compute missing vectors with the configured embedder while search continues; return how many.

        Raises:
            UsageError: no embedder is configured.
            ProviderError: the embedder cannot be reached; completed work is kept.
        """
        settings = await self._context.settings.get()
        if self._context.embedder is None:
            if settings.embedder.kind == "none":
                raise UsageError(
                    N_("No embedder is chosen in the settings; there is nothing to compute."), code="no_embedder"
                )
            await self._context.embedder_tried()
        if self._context.embedder is None:  # it was unreachable: retry, or report why
            await self._context.use_embedder(settings)

        def announce(done: int, total: int) -> None:
            self.reembedding = (done, total)
            self._context.bus.changed("memory", REEMBED)
            if progress is not None:
                progress(done, total)

        search = self._context.memory_search
        before = search.embedder
        if settings.embedder_paused:
            await self._context.settings.update(embedder_paused=False)
        self.waits = False
        try:
            announce(0, await search.to_embed())
            done = await search.reembed(announce)
            if search.coming is None:
                await self._context.drop_embedders(before)
                await self._context.settings.update(embedder_before=None)
            return done
        finally:
            self.reembedding = None
            self._context.bus.changed("memory", REEMBED)

    async def offer(self) -> EmbeddingOffer | None:
        """What waits for the person's word; None when nothing does."""
        if not self.waits or self._context.embedder is None:
            return None
        texts = await self._context.memory_search.to_embed() + await self._context.projects.waiting_texts()
        chosen = (await self._context.settings.get()).embedder
        cost = await self._context.outside_costs.at_most(chosen, texts)
        return EmbeddingOffer(texts, f"{chosen.provider}/{chosen.model}", cost) if texts else None

    async def embed_now(self) -> None:
        """Make all vectors that are missing, in the background: the person said so."""
        await self.resume_reembed()
        await self._context.projects.follow_embedder()

    async def unfinished(self) -> bool:
        """Whether memories lack a vector of the configured embedder, or searches still use the previous one."""
        return self._context.memory_search.coming is not None or bool(await self._context.memory_search.to_embed())

    async def reembed_state(self) -> dict[str, Any]:
        """Return the state of the vectors.

        Keys: ``state`` (``whole``, ``running``, ``paused``, ``waiting``, ``off``, or ``unreached`` while the embedder's
        server was not reached), ``left``, the id of the target ``embedder``, and of the one being ``searched``.
        """
        search = self._context.memory_search
        if self._context.embedder is None:
            chosen = (await self._context.settings.get()).embedder.kind != "none"
            searched = search.embedder.id if search.embedder is not None else ""
            return {"state": "unreached" if chosen else "off", "left": 0, "embedder": "", "searched": searched}
        left = await search.to_embed()
        if self.reembedding is not None:
            state = "running"
        elif not await self.unfinished():
            state = "whole"
        else:
            state = "paused" if (await self._context.settings.get()).embedder_paused else "waiting"
        searched = search.embedder.id if search.embedder is not None else ""
        return {"state": state, "left": left, "embedder": self._context.embedder.id, "searched": searched}

    async def pause_reembed(self) -> None:
        """Stop making vectors after the current batch, until ``resume_reembed`` or ``reembed``, even across
        restarts."""
        await self._context.settings.update(embedder_paused=True)
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._context.bus.changed("memory", REEMBED)

    async def resume_reembed(self) -> None:
        """Continue making vectors in the background."""
        await self._context.settings.update(embedder_paused=False)
        self.start_reembed()

    async def reembed_progress(self) -> tuple[int, int] | None:
        """Return ``reembedding``, for remote callers."""
        return self.reembedding

    def start_reembed(self) -> None:
        """Run ``reembed`` in the background after a switch of the embedder; a running one is stopped first."""
        if self._task is not None:
            self._task.cancel()
        if self._context.embedder is not None:
            self._task = background_tasks.start(self.reembed(), "new vectors of memories", self._context.bus.failed)

    async def aclose(self) -> None:
        """Stop re-embedding; memories without vectors are found by words."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None
        search = getattr(self._context, "memory_search", None)
        if search is not None:  # database-only instances have none
            await search.aclose()

    async def _home(self, workflow_id: str) -> str | None:
        try:
            return (await self._context.repos.workflows.get(workflow_id)).id
        except NotFoundError:
            return None


def _type(value: MemoryType | str | None) -> MemoryType | None:
    if value is None:
        return None
    try:
        return MemoryType(value)
    except ValueError:
        allowed = ", ".join(each.value for each in MemoryType)
        raise UsageError(N_("Unknown memory type {value}; allowed: {allowed}."), value=value, allowed=allowed) from None


def _scope(value: MemoryScope | str, workflow_id: str | None) -> MemoryScope:
    try:
        scope = MemoryScope(value)
    except ValueError:
        allowed = ", ".join(each.value for each in MemoryScope)
        raise UsageError(N_("Unknown scope {value}; allowed: {allowed}."), value=value, allowed=allowed) from None
    if scope is MemoryScope.WORKFLOW and not workflow_id:
        raise UsageError(N_("The scope “workflow” requires a workflow."))
    return scope if workflow_id else MemoryScope.GENERAL


def _tags(tags: Sequence[str]) -> tuple[str, ...]:
    unique = tuple(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))
    too_long = next((tag for tag in unique if len(tag) > limits.MEMORY_TAG), None)
    if too_long is not None:
        raise UsageError(
            N_("A tag can have at most {most} characters: {tag}"), most=limits.MEMORY_TAG, tag=too_long[:80]
        )
    if len(unique) > limits.MEMORY_TAGS:
        raise UsageError(
            N_("A memory can have at most {most} tags; this one has {count}."),
            most=limits.MEMORY_TAGS,
            count=len(unique),
        )
    return unique
