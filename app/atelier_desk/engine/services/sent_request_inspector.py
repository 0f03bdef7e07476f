"""The context inspector: what a model was sent, rebuilt from the journal, with sizes by part and omissions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from atelier_desk.domain.agent import ToolDialect
from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.events.run import ContextCompacted, ModelReplied, RunEvent, RunStarted
from atelier_desk.domain.model_messages import ChatMessage, ChatRequest, Role, ToolSpec
from atelier_desk.domain.system_prompt_and_tools import PromptFrame
from atelier_desk.domain.workflow import Run
from atelier_desk.engine.journal.conversation_before_run import Conversations
from atelier_desk.engine.journal.journal import run_events
from atelier_desk.engine.run.reducer.conversation_entries import ContextEntry, EntryKind
from atelier_desk.engine.run.reducer.reduce import fold
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.engine.run.request import compaction, context_fitting, prompt_texts, tool_search
from atelier_desk.engine.run.request.toolset import tools_tokens, toolset, visible, with_skill_names
from atelier_desk.engine.services.common.service_context import ServiceContext
from atelier_desk.engine.services.request.sent_request_data import (
    PARTS,
    Omitted,
    OmittedEntry,
    PartKind,
    PartSize,
    RequestSummary,
    SentItem,
    SentRequest,
)
from atelier_desk.engine.services.workflow.transcript import lineage
from atelier_desk.llm.token_and_cost_estimates import IMAGE_TOKENS, estimate, message_tokens
from atelier_desk.support.i18n import N_
from atelier_desk.tools.base import ToolResult

if TYPE_CHECKING:
    from atelier_desk.tools.registry.registry import ToolRegistry


class _Now:
    """The conversation as the next request would contain it, for pins and undo; None: it cannot be changed."""

    def __init__(self, state: RunState | None) -> None:
        self.state = state
        self.conversation = state.conversation if state is not None else ()
        self.entries = {entry.origin: entry for entry in self.conversation}


class InspectorService:
    """Rebuilds model requests. Reads only the journal: no model or tool is called, nothing is changed."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context
        self._conversations = Conversations(context.repos)

    async def requests(self, run_id: str) -> list[RequestSummary]:
        """Return the answered requests of a run, oldest first.

        Raises:
            NotFoundError: no such run.
        """
        await self._context.repos.runs.get(run_id)
        return _summaries(await run_events(self._context.repos, run_id))

    async def request(self, run_id: str, seq: int) -> SentRequest:
        """Return the request whose reply is event ``seq`` of the run.

        Raises:
            NotFoundError: no such run, or its event ``seq`` is not a model's reply.
        """
        row = await self._context.repos.runs.get(run_id)
        events = await run_events(self._context.repos, run_id)
        summary = next((each for each in _summaries(events) if each.seq == seq), None)
        if summary is None:
            raise NotFoundError(N_("Event {seq} of run {id} is not a model reply."), seq=seq, id=run_id)
        replied = events[seq - 1].body
        assert isinstance(replied, ModelReplied)
        state = await self._asked(row, events[: replied.based_on or seq - 1])
        frame = await self._frame(replied)
        system, tools = (frame.system, frame.tools) if frame is not None else _as_today(self._context.registry, state)
        if not replied.with_tools:
            tools = ()
        sources = list(
            context_fitting.sources(context_fitting.sendable(state, sees=replied.with_images, blind=replied.blind))
        )
        messages = (ChatMessage(role=Role.SYSTEM, content=system), *(message for message, _entry in sources))
        now = await self._now(row, events)
        data = context_fitting.provider_sizes(state, ToolDialect(replied.dialect))
        memory_calls = _memory_calls(self._context.registry, state)
        folder = _folder_part(system, state)
        framed = folder, _skills_part(system, state)
        entries = [None, *(entry for _message, entry in sources)]
        items, parts = _sizes(messages, entries, tools, replied, now, data, memory_calls, framed)
        window = replied.context_window
        request = ChatRequest(model=state.agent.model, messages=messages, tools=tools)
        return SentRequest(
            summary=summary,
            messages=messages,
            tools=tools,
            wire=_wire(request, replied.dialect),
            temperature=state.agent.temperature,
            limit=replied.max_tokens
            or (context_fitting.reply_limit(state.agent, window) if window else state.agent.max_tokens),
            window=window,
            tokens=sum(part.tokens for part in parts),
            parts=parts,
            items=items,
            left_out=await self._left_out(state, now, window),
            exact=frame is not None,
            searched_tools=replied.searched_tools,
            searched_tokens=replied.searched_tokens,
        )

    async def _asked(self, row: Run, events: list[RunEvent]) -> RunState:
        previous = row.previous_run_id if row.parent_run_id is None else None
        history = (await self._conversations.before(previous, whole=True)).history
        state = fold(events, history)
        assert state is not None, "a reply is never a run's first event"
        return state

    async def _frame(self, replied: ModelReplied) -> PromptFrame | None:
        """Return the stored system message and tools.

        None if an older version stored none, or an imported file lacks them.
        """
        if not replied.frame:
            return None
        try:
            return await self._context.repos.frames.get(replied.frame)
        except NotFoundError:
            return None

    async def _now(self, row: Run, events: list[RunEvent]) -> _Now:
        """Return the conversation's newest state.

        A sub-agent's is its run's, and branches out of view cannot be changed.
        """
        if row.parent_run_id is not None:
            return _Now(fold(events))
        repos = self._context.repos
        workflow = await repos.workflows.get(row.workflow_id)
        if workflow.head_run_id == row.id:
            return _Now(await self._asked(row, events))
        if (
            workflow.head_run_id is None
            or row.id not in lineage(await repos.runs.links(row.workflow_id), workflow.head_run_id).chain
        ):
            return _Now(None)
        head = await repos.runs.get(workflow.head_run_id)
        return _Now(await self._asked(head, await run_events(repos, head.id)))

    async def _left_out(self, state: RunState, now: _Now, window: int) -> tuple[Omitted, ...]:
        """Return every compaction in effect for a request, oldest first."""
        found: dict[str, list[ContextEntry]] = {}
        _savings(state.conversation, found)
        inside: dict[str, list[ContextEntry]] = {}
        _savings(now.conversation, inside)
        left = []
        for origin, entries in found.items():
            event = await self._event(origin)
            if event is None or not isinstance(event.body, ContextCompacted):
                continue
            body = event.body
            left.append(
                Omitted(
                    origin=origin,
                    time=event.time,
                    method=body.method,
                    entries=tuple(
                        _left_entry(entry, by_summary=body.method in ("summary", "digest")) for entry in entries
                    ),
                    summary=body.summary,
                    tokens_before=body.tokens_before,
                    tokens_after=body.tokens_after,
                    window=window,
                    undone=now.state is not None and origin not in inside,
                    can_undo=now.state is not None and compaction.can_undo(now.state, origin),
                )
            )
        return tuple(sorted(left, key=lambda each: each.time))

    async def _event(self, origin: str) -> RunEvent | None:
        run_id, _colon, seq = origin.rpartition(":")
        if not seq.isdigit():
            return None
        events = await self._context.repos.journal.events(run_id, after=int(seq) - 1, limit=1)
        return events[0] if events else None


def _summaries(events: list[RunEvent]) -> list[RequestSummary]:
    agent, model = "", ""
    found = []
    for event in events:
        body = event.body
        if isinstance(body, RunStarted):
            agent, model = body.agent.name, body.agent.model
        elif isinstance(body, ModelReplied):
            found.append(
                RequestSummary(
                    run_id=event.run_id,
                    seq=event.seq,
                    stream_seq=event.stream_from,
                    time=event.time,
                    agent_name=agent,
                    model=body.reply.model or model,
                    provider=body.provider,
                    dialect=body.dialect,
                    tokens_input=body.usage.tokens_input,
                    tokens_output=body.usage.tokens_output,
                    estimated=body.usage.estimated,
                    cost=body.usage.known_cost,
                    window=body.context_window,
                    duration_ms=body.duration_ms,
                    calls=tuple(call.name for call in body.reply.tool_calls),
                    exact=bool(body.frame),
                )
            )
    return found


def _as_today(registry: ToolRegistry, state: RunState) -> tuple[str, tuple[ToolSpec, ...]]:
    """Return the system message and the tools the agent would be given now."""
    mine, search = toolset(registry, state), tool_search.current(state)
    tools = with_skill_names(registry.get_definitions_by_names(visible(mine, state, search)), state)
    return prompt_texts.system_prompt(state, mine.text(search)), tools


def _folder_part(system: str, state: RunState) -> str:
    """Return the folder instructions in a system message: from their introduction to the end of the last frame."""
    if not state.instructions or prompt_texts.FOLDER_NOTE not in system:
        return ""
    begin = system.index(prompt_texts.FOLDER_NOTE)
    return system[
        begin : max(begin, system.rfind("</folder_instructions>"), system.rfind("Read it before you work there.]"))
    ]


def _skills_part(system: str, state: RunState) -> str:
    """Return the skill catalogue in a system message."""
    if not state.skills or prompt_texts.SKILLS_NOTE not in system:
        return ""
    end = "</available_skills>"
    begin = system.index(prompt_texts.SKILLS_NOTE)
    return system[begin : system.index(end, begin) + len(end)] if end in system[begin:] else ""


def _wire(request: ChatRequest, dialect: str) -> tuple[ChatMessage, ...] | None:
    if dialect != ToolDialect.XML.value:
        return None
    from atelier_desk.llm.dialects.xml_request import text_request

    return text_request(request).messages


def _savings(entries: Iterable[ContextEntry], found: dict[str, list[ContextEntry]]) -> None:
    """Group entries by the compaction that removed or cut them; those inside a summary belong to it."""
    for entry in entries:
        if entry.kind is EntryKind.SUMMARY and entry.replaced:
            _savings((each for each in entry.replaced if each.kind is EntryKind.SUMMARY), found)
            found.setdefault(entry.origin, []).extend(entry.replaced)
        if entry.cut and entry.cut_by:
            # A summary can be cut like any other entry.
            found.setdefault(entry.cut_by, []).append(entry)


def _left_entry(entry: ContextEntry, *, by_summary: bool) -> OmittedEntry:
    before = entry.full or entry.text
    after = "" if by_summary else entry.text
    calls = "".join(f"\n{call.name} {call.arguments}" for call in entry.calls) if by_summary else ""
    return OmittedEntry(
        origin=entry.origin,
        kind=entry.kind.value,
        tool=entry.tool,
        before=f"{before}{calls}".strip(),
        after=after,
        tokens_before=message_tokens(before + calls),
        tokens_after=message_tokens(after) if after else 0,
    )


def _memory_calls(registry: ToolRegistry, state: RunState) -> set[str]:
    """Return the calls whose results are memories."""
    found = set()
    for call in (call for entry in state.conversation for call in entry.calls):
        meant = registry.meant(call.name, call.arguments)
        tool = None if isinstance(meant, ToolResult) else registry.get_tool(meant[0])
        if tool is not None and tool.changes == "memory":
            found.add(call.id)
    return found


def _sizes(
    messages: tuple[ChatMessage, ...],
    entries: list[ContextEntry | None],
    tools: tuple[ToolSpec, ...],
    replied: ModelReplied,
    now: _Now,
    data: Mapping[str, tuple[int, int]],
    memory_calls: set[str],
    framed: tuple[str, str],
) -> tuple[tuple[SentItem, ...], tuple[PartSize, ...]]:
    """Return each message with its share of tokens, and totals by part. The server's count is distributed like our
    estimates.

    ``framed``: folder instructions and skills in the system message.
    """
    said_last = max(
        (index for index, entry in enumerate(entries) if entry is not None and entry.kind is EntryKind.USER), default=-1
    )
    texts = [message_tokens(message.content, message.tool_calls, message.provider_data) for message in messages]
    images = [IMAGE_TOKENS * len(message.images) for message in messages]
    parts: list[PartKind] = [
        "skills"
        if entry is not None and entry.skill is not None and entry.kind is EntryKind.RESULT
        else _part(message, memory_calls, last=index == said_last)
        for index, (message, entry) in enumerate(zip(messages, entries, strict=True))
    ]
    estimates = dict.fromkeys(PARTS, 0)
    estimates["tools"] = tools_tokens(tools)
    estimates["images"] = sum(images)
    # Folder instructions are in the system message, which is the first.
    estimates["folder"], estimates["skills"] = map(estimate, framed)
    estimates["system"] -= estimates["folder"] + estimates["skills"]
    for part, size in zip(parts, texts, strict=True):
        estimates[part] += size
    total = sum(estimates.values())
    counted = replied.usage.tokens_input
    factor = counted / total if counted and total and not replied.usage.estimated else 1.0
    items = tuple(
        _item(index, message, entry, part, round((text + image) * factor), now, data)
        for index, (message, entry, part, text, image) in enumerate(
            zip(messages, entries, parts, texts, images, strict=True)
        )
    )
    tokens = _shared_out(estimates, round(total * factor))
    sizes = tuple(
        PartSize(kind, estimates[kind], tokens[kind], estimates[kind] / total if total else 0.0) for kind in PARTS
    )
    return items, sizes


def _shared_out(estimates: dict[PartKind, int], total: int) -> dict[PartKind, int]:
    """Distribute ``total`` as whole numbers in proportion to the estimates, by largest remainders."""
    whole = sum(estimates.values())
    if not whole:
        return dict.fromkeys(estimates, 0)
    exact = {kind: size * total / whole for kind, size in estimates.items()}
    shares = {kind: int(size) for kind, size in exact.items()}
    by_rest = sorted(exact, key=lambda kind: exact[kind] - shares[kind], reverse=True)
    for kind in by_rest[: total - sum(shares.values())]:
        shares[kind] += 1
    return shares


def _part(message: ChatMessage, memory_calls: set[str], *, last: bool) -> PartKind:
    if message.role is Role.SYSTEM:
        return "system"
    if message.role is Role.TOOL:
        return "memory" if message.tool_call_id in memory_calls else "results"
    return "message" if last else "history"


def _item(
    index: int,
    message: ChatMessage,
    entry: ContextEntry | None,
    part: PartKind,
    tokens: int,
    now: _Now,
    data: Mapping[str, tuple[int, int]],
) -> SentItem:
    if entry is None:
        kind = "system" if message.role is Role.SYSTEM else "missing"
        return SentItem(index, "", kind, part, tokens, tool=message.name or "", can_pin=False)
    current = now.entries.get(entry.origin)
    returned, withheld = data.get(entry.origin, (0, 0))
    return SentItem(
        index=index,
        origin=entry.origin,
        kind=entry.kind.value,
        part=part,
        tokens=tokens,
        tool=entry.tool,
        cut=entry.cut,
        pinned=current.pinned if current is not None else entry.pinned,
        can_pin=current is not None,
        returned_bytes=returned,
        withheld_bytes=withheld,
        attached=entry.attachments,
    )
