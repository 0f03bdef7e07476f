"""MemoryTool: memories of agents and users, searchable by meaning and words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from atelier_desk.domain import limits
from atelier_desk.domain.errors import NotFoundError, ToolError
from atelier_desk.domain.memory import (
    DEFAULT_IMPORTANCE,
    DEFAULT_SCOPE,
    Memory,
    MemoryFilter,
    MemoryHit,
    MemoryScope,
    MemoryType,
    expiry,
)
from atelier_desk.policy.permissions.taint_sources import merged
from atelier_desk.support.i18n import N_
from atelier_desk.tools.base import Call, Effect, ToolCategory, ToolContext, ToolResult
from atelier_desk.tools.calls.stable_record_ids import stable_id
from atelier_desk.tools.definition.tool_description import About, DescribedTool
from atelier_desk.tools.memory import memory_tool_inputs
from atelier_desk.tools.memory.regenerated_memory_reuse import origin_of, same_again
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.tools.registry.sections import CORE

if TYPE_CHECKING:
    from atelier_desk.storage.repositories import MemoryRepository

PREVIEW = 100
"""Characters of content in a compact list."""
SUGGESTED = N_("Proposed a memory: {content}")
_SCOPING = frozenset({"activate_workflow", "activate_general"})


@builtin(order=120)
class MemoryTool(DescribedTool):
    """Add, search, change and delete memories; choose the scope of the run."""

    name = "MemoryTool"
    title = N_("Memory")
    purpose = N_("Remembers information and finds it again")
    icon = "brain"
    summaries = {
        "add": N_("Remember: {content}"),
        "get": N_("Read a memory"),
        "list": N_("List memories"),
        "search": N_("Search memories: {query}"),
        "update": N_("Change a memory"),
        "delete": N_("Delete a memory"),
        "clear_by_type": N_("Delete all memories of type {type}"),
        "describe": N_("Count the memories"),
        "activate_workflow": N_("Use another workflow's memories"),
        "activate_general": N_("Use only the general memories"),
    }
    done = {
        "add": N_("Remembered: {content}"),
        "get": N_("Recalled a memory"),
        "list": N_("Listed memories"),
        "search": N_("Searched memories: {query}"),
        "update": N_("Changed a memory"),
        "delete": N_("Deleted a memory"),
        "clear_by_type": N_("Deleted all memories of type {type}"),
        "describe": N_("Counted the memories"),
    }
    category = ToolCategory.COMMON
    section = CORE
    effect = Effect.WRITE
    reading = frozenset({"get", "list", "search", "describe", *_SCOPING})
    idempotent = True
    changes = "memory"
    input = memory_tool_inputs.MemoryInput
    rest_hint = "Use get with offset for one long memory, list with mode compact, or a lower limit."
    about = About(
        what="Remembers facts for later and finds them again by meaning and by words.",
        when=(
            "the user states a preference or a decision, a fact will be needed later, or before asking what they "
            "may have told already."
        ),
        when_not=(
            "the fact is only for this answer, is a secret (password, key), or is a task (TodoTool) or a long "
            "text (ReportTool)."
        ),
        operations={
            "add": "keep a fact",
            "get": "read one memory",
            "list": "read the newest memories",
            "search": "find memories about something; every part of the score comes with them",
            "update": "change content, tags or importance",
            "delete": "forget one memory",
            "clear_by_type": "forget all of a type",
            "describe": "how many memories of which types and tags there are",
            "activate_workflow": "from here on in this run, mean another workflow's memories",
            "activate_general": "from here on in this run, mean the general memories alone",
        },
        example={
            "operation": "add",
            "type": "user_pref",
            "content": "The user prefers short answers in French.",
            "tags": ["style"],
        },
        limits=(
            f"content {limits.MEMORY_CONTENT} characters",
            f"list and search {limits.MEMORY_LIST_DEFAULT} by default, {limits.MEMORY_LIST_MAX} at most",
            f"{limits.MEMORY_TAGS} tags of {limits.MEMORY_TAG} characters",
            f"context memories expire after {limits.MEMORY_CONTEXT_DAYS} days",
        ),
    )
    abilities = {"remember": "add", "recall": "search"}

    def describe(self, input: memory_tool_inputs.MemoryInput) -> Call:
        # A scope change affects later calls, so none may run concurrently.
        call = replace(super().describe(input), alone=input.operation in _SCOPING)
        if (
            isinstance(input, memory_tool_inputs.Add)
            and (input.scope or DEFAULT_SCOPE[MemoryType(input.type)]) != MemoryScope.WORKFLOW
        ):
            call = replace(call, done=SUGGESTED)  # it is not remembered before the user agrees
        return call

    @property
    def _memories(self) -> MemoryRepository:
        if self.services.memories is None:
            raise ToolError("There is no memory in this run.", code="no_memory")
        return self.services.memories

    async def run(self, input: memory_tool_inputs.MemoryInput, context: ToolContext) -> ToolResult:
        meant = getattr(input, "workflow_id", "") if input.operation in _SCOPING else _workflow(context)
        for workflow_id in dict.fromkeys((context.workflow_id, meant or "")):
            if self.services.memory_off is not None and await self.services.memory_off(workflow_id):
                which = "this workflow" if workflow_id == context.workflow_id else f"the workflow {workflow_id}"
                raise ToolError(
                    "The user switched memory off for {which}. Go on without it.", code="memory_off", which=which
                )
        result: ToolResult = await getattr(self, f"_{input.operation}")(input, context)
        return result

    async def _add(self, input: memory_tool_inputs.Add, context: ToolContext) -> ToolResult:
        if not input.content.strip():
            raise ToolError("content must not be blank")
        kind = MemoryType(input.type)
        now = context.now()
        memory = Memory(
            id=stable_id(context.idempotency_key, "memory"),
            type=kind,
            content=input.content,
            workflow_id=_place(input.scope, kind, context),
            importance=DEFAULT_IMPORTANCE[kind] if input.importance is None else input.importance,
            priority=input.metadata.priority,
            tags=_tags([*input.tags, *input.metadata.tags]),
            source="agent",
            agent_source=input.metadata.agent_source or context.agent_name or context.agent_id,
            run_id=context.run_id,
            turn_id=context.turn_id,
            origin=origin_of(input.content),
            tainted=context.tainted,
            created_at=now,
            updated_at=now,
            expires_at=expiry(kind, now),
        )
        asks = memory.workflow_id is None and bool(context.workflow_id) and await self._asks()
        if asks:
            memory = memory.model_copy(update={"proposed": True, "workflow_id": context.workflow_id})
        memory = await same_again(memory, self._memories, context.workflow_id)
        stored = memory if memory.edited or (asks and memory.workflow_id is None) else await self._store(memory)
        result = ToolResult.ok(
            memory_id=stored.id,
            type=stored.type.value,
            embedding_generated=bool(stored.embedder),
            workflow_id=stored.workflow_id,
            scope=_scope_of(stored),
            importance=stored.importance,
            message=_stored_text(stored, asks),
        )
        return _reading(result, stored)

    async def _asks(self) -> bool:
        return self.services.memory_asks is not None and await self.services.memory_asks()

    async def _is_the_users(self, memory: Memory, context: ToolContext) -> bool:
        """Whether a memory applies to all workflows and the user wants to approve those."""
        return memory.workflow_id is None and bool(context.workflow_id) and await self._asks()

    async def _check_reach(self, home: str | None, context: ToolContext) -> None:
        """Check that a team that read outside content deletes nothing beyond its own workflow.

        Raises:
            ToolError: ``needs_user`` if it would.
        """
        if context.tainted and context.workflow_id and home != context.workflow_id and await self._asks():
            raise _tainted(context)

    async def _get(self, input: memory_tool_inputs.Get, context: ToolContext) -> ToolResult:
        memory = await self._visible(input.memory_id, context)
        if input.offset > len(memory.content):
            raise ToolError(
                "offset {offset} is past the end: the memory has {total} characters.",
                offset=input.offset,
                total=len(memory.content),
            )
        page = memory.content[input.offset : input.offset + memory_tool_inputs.READ_DEFAULT]
        following = input.offset + len(page)
        more = {"next_offset": following, "total_chars": len(memory.content)} if following < len(memory.content) else {}
        return _reading(ToolResult.ok(memory={**_shown(memory), "content": page}, **more), memory)

    async def _list(self, input: memory_tool_inputs.List, context: ToolContext) -> ToolResult:
        workflow_id, scope = _reading_scope(input.scope, context)
        kind = MemoryType(input.type_filter) if input.type_filter else None
        found = await self._memories.list(
            workflow_id=workflow_id,
            scope=scope,
            type=kind,
            tags=tuple(input.tags),
            proposing=context.workflow_id,
            limit=input.limit,
        )
        shown = [_compact(memory) if input.mode == "compact" else _shown(memory) for memory in found]
        return _reading(ToolResult.ok(count=len(shown), scope=scope.value, memories=shown), *found)

    async def _search(self, input: memory_tool_inputs.Search, context: ToolContext) -> ToolResult:
        search = self.services.memory_search
        if search is None:
            raise ToolError("Memory search is not available in this run; use list.", code="no_memory")
        workflow_id, scope = _reading_scope(input.scope, context)
        filters = MemoryFilter(
            workflow_id, scope, MemoryType(input.type_filter) if input.type_filter else None, tuple(input.tags)
        )
        most = limits.MEMORY_LIST_MAX if scope is MemoryScope.WORKFLOW else input.limit
        found = await search.search(input.query, filters=filters, limit=most, threshold=input.threshold)
        if scope is MemoryScope.WORKFLOW:
            found = replace(found, hits=[hit for hit in found.hits if not hit.memory.proposed][: input.limit])
        elif (scope is MemoryScope.GENERAL or workflow_id != context.workflow_id) and (
            waiting := await self._proposed(context)
        ):
            filters = replace(filters, workflow_id=context.workflow_id, scope=MemoryScope.WORKFLOW)
            own = await search.search(
                input.query, filters=filters, limit=limits.MEMORY_LIST_MAX, threshold=input.threshold
            )
            hits = sorted(
                [*found.hits, *(hit for hit in own.hits if hit.memory.id in waiting)], key=lambda hit: -hit.score
            )
            found = replace(found, hits=hits[: input.limit])
        if found.hits:
            search.note_found([hit.memory.id for hit in found.hits], context.run_id)
        note = {"note": found.note} if found.note else {}
        result = ToolResult.ok(
            count=len(found.hits),
            search_type=found.search_type,
            scope=scope.value,
            results=[_hit(hit) for hit in found.hits],
            **note,
        )
        return _reading(result, *(hit.memory for hit in found.hits))

    async def _update(self, input: memory_tool_inputs.Update, context: ToolContext) -> ToolResult:
        memory = await self._visible(input.memory_id, context)
        changed: dict[str, Any] = {"updated_at": context.now(), "tainted": merged(memory.tainted, context.tainted)}
        if input.content is not None:
            if not input.content.strip():
                raise ToolError("content must not be blank")
            changed["content"] = input.content
        if input.tags is not None:
            changed["tags"] = _tags(input.tags)
        if input.importance is not None:
            changed["importance"] = input.importance
        if len(changed) == 2:
            raise ToolError("Nothing to update: give content, tags or importance.", code="invalid_arguments")
        if changed.keys() & {"content", "tags"} and memory.workflow_id is not None:
            await self._check_reach(memory.workflow_id, context)
        if changed.keys() & {"content", "tags"} and await self._is_the_users(memory, context):
            # Changes of general memories need approval, as their creation does.
            tags, importance = list(changed.get("tags", memory.tags)), changed.get("importance", memory.importance)
            content = changed.get("content", memory.content)
            said = {
                "type": memory.type.value,
                "content": content,
                "tags": tags,
                "importance": importance,
                "scope": "general",
            }
            made = await self._add(memory_tool_inputs.Add(operation="add", **said), context)
            return replace(
                made, data={**made.data, "message": f"{made.data['message']} The memory {memory.id} stays as it is."}
            )
        stored = await self._store(memory.model_copy(update=changed))
        return ToolResult.ok(memory_id=stored.id, embedding_generated=bool(stored.embedder), message="Memory updated")

    async def _delete(self, input: memory_tool_inputs.Delete, context: ToolContext) -> ToolResult:
        memory = await self._visible(input.memory_id, context)
        await self._check_reach(memory.workflow_id, context)
        await self._memories.delete(memory.id)
        return ToolResult.ok(memory_id=memory.id, message="Memory deleted")

    async def _clear_by_type(self, input: memory_tool_inputs.ClearByType, context: ToolContext) -> ToolResult:
        workflow_id = _workflow(context)
        if workflow_id is None and input.scope is None:
            raise ToolError(
                "This call is in no workflow: give scope general to clear the general memories of this type.",
                code="invalid_arguments",
            )
        workflow_id, scope = _reading_scope(input.scope or "workflow", context)
        places: list[str | None] = []
        if scope is not MemoryScope.GENERAL:
            places.append(workflow_id)
        if scope is not MemoryScope.WORKFLOW:
            places.append(None)
        for place in places:
            await self._check_reach(place, context)
        kind = MemoryType(input.type)
        deleted = 0
        for place in places:
            deleted += await self._memories.clear(kind, place)
        if scope is not MemoryScope.WORKFLOW and context.workflow_id:
            deleted += await self._memories.clear(kind, context.workflow_id, proposed=True)
        return ToolResult.ok(
            deleted=deleted,
            type=kind.value,
            scope=scope.value,
            message=f"{deleted} memories of type {kind.value} deleted",
        )

    async def _describe(self, input: memory_tool_inputs.Describe, context: ToolContext) -> ToolResult:
        workflow_id, scope = _reading_scope("both", context)
        told = await self._memories.describe(workflow_id, proposing=context.workflow_id)
        return ToolResult.ok(**{"scope": scope.value, "workflow_id": workflow_id, **dict(told)})

    async def _activate_workflow(self, input: memory_tool_inputs.ActivateWorkflow, context: ToolContext) -> ToolResult:
        if not await self._memories.has_workflow(input.workflow_id):
            raise NotFoundError(
                (
                    "There is no workflow {id}. Memory means what it meant before; use activate_general for the "
                    "general "
                    "memories."
                ),
                id=input.workflow_id,
            )
        return _scoped(input.workflow_id, f"Memory now means workflow {input.workflow_id} and the general memories")

    async def _activate_general(self, input: memory_tool_inputs.ActivateGeneral, context: ToolContext) -> ToolResult:
        return _scoped(None, "Memory now means the general memories alone")

    async def _proposed(self, context: ToolContext) -> set[str]:
        """Return the ids of memories waiting to become general: for agents of this workflow they already are."""
        if not context.workflow_id:
            return set()
        return {memory.id for memory in await self._memories.proposed(context.workflow_id)}

    async def _visible(self, memory_id: str, context: ToolContext) -> Memory:
        """Return an unexpired memory in the run's scope; others are not found."""
        try:
            memory: Memory | None = await self._memories.get(memory_id)
        except NotFoundError:
            memory = None
        expired = memory is not None and memory.expires_at is not None and memory.expires_at <= context.now()
        if memory is None or expired or memory.workflow_id not in (None, _workflow(context)):
            raise NotFoundError(
                "Memory {id} not found. Use search or list to find memories and their ids.", id=memory_id
            )
        return memory

    async def _store(self, memory: Memory) -> Memory:
        if self.services.memory_search is not None:
            return await self.services.memory_search.index(memory)
        await self._memories.save(memory, None)
        return memory


def _reading(result: ToolResult, *memories: Memory) -> ToolResult:
    """Return the result of a call that shows these memories, tainted by what was read before they were stored."""
    return replace(result, tainted=merged((), *(memory.tainted for memory in memories)))


def _tainted(context: ToolContext) -> ToolError:
    return ToolError(
        "The team has read something from outside ({hosts}): what holds for all workflows, or in another one, is "
        "changed and "
        "deleted by the user alone now. Tell them.",
        code="needs_user",
        hosts=", ".join(context.tainted[:3]),
    )


def _stored_text(stored: Memory, asked: bool) -> str:
    if stored.edited:
        return f"It was there already; the user changed it to: {stored.content[:200]}"
    if stored.proposed:
        return (
            "Suggested, not remembered: a card asks the user now whether to keep it for all workflows or for this "
            "one only. "
            "Until they answer it is known in this workflow alone. Do not say that you remembered it; say that the "
            "card asks them."
        )
    return "It was there already." if asked else "Memory added"


def _scoped(workflow_id: str | None, message: str) -> ToolResult:
    """Return the result of a scope change.

    From now on this workflow and general, or with None only general memories.
    """
    result = ToolResult.ok(workflow_id=workflow_id, message=message)
    return replace(result, state={"workflow_id": workflow_id})


def _workflow(context: ToolContext) -> str | None:
    """Return the workflow whose memories the run uses, None for general ones only."""
    found: str | None = context.state.get("workflow_id", context.workflow_id or None)
    return found


def _place(scope: str | None, kind: MemoryType, context: ToolContext) -> str | None:
    """Return where a new memory goes; outside a workflow, the default is general."""
    workflow_id = _workflow(context)
    if scope == "workflow" and workflow_id is None:
        raise ToolError(
            "This call is in no workflow: use scope general, or activate_workflow first.", code="no_workflow"
        )
    wanted = MemoryScope(scope) if scope is not None else DEFAULT_SCOPE[kind]
    return workflow_id if wanted is MemoryScope.WORKFLOW else None


def _reading_scope(scope: str, context: ToolContext) -> tuple[str | None, MemoryScope]:
    """Return workflow and scope of a reading call; outside a workflow ``both`` means general."""
    workflow_id, wanted = _workflow(context), MemoryScope(scope)
    if workflow_id is None:
        if wanted is MemoryScope.WORKFLOW:
            raise ToolError(
                "This call is in no workflow: use scope general or both, or activate_workflow first.",
                code="no_workflow",
            )
        wanted = MemoryScope.GENERAL
    return workflow_id, wanted


def _tags(tags: list[str]) -> tuple[str, ...]:
    """Return distinct non-empty tags, in order.

    Raises:
        ToolError: more than a memory may have.
    """
    unique = tuple(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))
    if len(unique) > limits.MEMORY_TAGS:
        raise ToolError(
            "{count} tags given; the limit is {limit}.",
            count=len(unique),
            limit=limits.MEMORY_TAGS,
            code="invalid_arguments",
        )
    return unique


def _scope_of(memory: Memory) -> str:
    return MemoryScope.GENERAL.value if memory.workflow_id is None or memory.proposed else MemoryScope.WORKFLOW.value


def _shown(memory: Memory) -> dict[str, object]:
    data = memory.model_dump(mode="json", exclude={"embedder", "origin", "edited", "tainted", "turn_id"})
    return {**data, "scope": _scope_of(memory)}


def _compact(memory: Memory) -> dict[str, object]:
    cut = memory.content if len(memory.content) <= PREVIEW else memory.content[:PREVIEW] + "…"
    data = memory.model_dump(mode="json", include={"id", "type", "tags", "importance", "workflow_id", "created_at"})
    return {**data, "preview": cut}


def _hit(hit: MemoryHit) -> dict[str, object]:
    parts = {
        name: None if value is None else round(value, 4)
        for name, value in hit.model_dump(
            include={"score", "relevance", "lexical", "cosine", "certainty", "importance", "recency"}
        ).items()
    }
    memory = hit.memory.model_dump(
        mode="json", include={"id", "type", "content", "tags", "workflow_id", "agent_source", "source", "created_at"}
    )
    return {**memory, **parts}
