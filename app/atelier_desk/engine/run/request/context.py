"""What a request to the model holds: the newest messages always win, and a request over the window is never sent.

``plan`` is pure. It gives either a request that fits or the compaction that has to come first; the driver commits that and plans again.
Order of saving: old tool results are cut, then old turns are summarised, and at the last the newest entry itself is shortened.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from atelier_desk.domain.agent import AgentConfig, ToolDialect
from atelier_desk.domain.errors import ContextOverflowError
from atelier_desk.domain.model_messages import ChatMessage, ChatRequest, Role, ToolSpec
from atelier_desk.domain.provider_data import ProviderData
from atelier_desk.engine.run.reducer.state import ContextEntry, EntryKind, RunState, model_key
from atelier_desk.engine.run.request.compaction import CUT_MARK, shortened
from atelier_desk.llm.tokens import BYTES_PER_TOKEN, IMAGE_TOKENS, attached, message_tokens
from atelier_desk.support.i18n import N_

SAFETY = 0.95
"""Share of the window a request may fill by our own count, which is an estimate."""
KEEP_GROUPS = 2
"""The newest groups (a message, or a reply with its results) whose tool results are not cut first."""
SHORTEST = 200
"""Characters no text is shortened below."""
TARGET = 0.6
"""Share of the room that old turns are compacted to, so that it is not needed again at once."""


@dataclass(frozen=True, slots=True)
class ReadyRequest:
    """A request that fits; ``tokens`` is its estimated size."""

    request: ChatRequest
    tokens: int
    window: int


@dataclass(frozen=True, slots=True)
class CutResults:
    """Shorten these tool results."""

    seqs: tuple[int, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class Summarise:
    """Replace these entries by a summary."""

    entries: tuple[ContextEntry, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class Shorten:
    """Shorten this entry in its middle to ``kept`` characters: nothing older is left to save room with."""

    seq: int
    kept: int
    tokens: int


Plan = ReadyRequest | CutResults | Summarise | Shorten


def entry_tokens(entry: ContextEntry, factor: float) -> float:
    """Estimated tokens of one entry, calls, images and what goes back to the server counted."""
    return message_tokens(entry.text, entry.calls, entry.provider_data) * factor + IMAGE_TOKENS * len(entry.shown_images)


def provider_sizes(state: RunState, dialect: ToolDialect) -> dict[str, tuple[int, int]]:
    """By origin, of the entries that have any: bytes of what goes back to the server, and of what is left out.

    What came with a call has no place where calls are written as text; the guided dialect sends no replies at all.
    """
    sizes = {}
    for before, after in zip(state.conversation, sendable(state), strict=True):
        whole = sum(data.size for data in attached(before.provider_data, before.calls))
        calls = after.calls if dialect is ToolDialect.NATIVE else ()
        sent = sum(data.size for data in attached(after.provider_data, calls)) if dialect is not ToolDialect.GUIDED else 0
        if whole:
            sizes[before.origin] = (sent, whole - sent)
    return sizes


def sendable(state: RunState, *, sees: bool = True, blind: bool = False) -> tuple[ContextEntry, ...]:
    """The conversation as the agent's model may be sent it: without what the server of another model wants back, or what was not kept.

    A model that is not known to see pictures (``sees``) gets none that a tool gave: nobody chose to send them, and servers refuse them.
    One that is known not to (``blind``) is told of those a person attached.
    """
    agent = state.agent

    def own(data: ProviderData | None) -> ProviderData | None:
        return data if data is not None and data.belongs_to(agent.provider, agent.model) else None

    def entry(each: ContextEntry) -> ContextEntry:
        if each.kind is EntryKind.RESULT and each.images and not sees:
            return replace(each, images=())
        if each.images and (each.seq in state.left_out or model_key(agent) in each.refused):
            word = f"[Pictures belong here ({_names(each)}), but your server did not accept them. Say so where it matters.]"
            return replace(each, images=(), text=f"{each.text}\n\n{word}".strip())
        if each.kind is EntryKind.USER and each.images and blind:
            names = _names(each)
            word = f"[Pictures were attached here ({names}), but you are a model that cannot see pictures. Say so where it matters.]"
            return replace(each, images=(), text=f"{each.text}\n\n{word}".strip())
        if all(own(data) for data in attached(each.provider_data, each.calls)):
            return each
        calls = tuple(call.model_copy(update={"provider_data": own(call.provider_data)}) for call in each.calls)
        return replace(each, provider_data=own(each.provider_data), calls=calls)

    return tuple(map(entry, state.conversation))


def _names(entry: ContextEntry) -> str:
    return ", ".join(repr(image.name) for image in entry.images if image.name) or f"{len(entry.images)} in number"


def newest_pictures(state: RunState, *, sees: bool, blind: bool) -> ContextEntry | None:
    """The newest entry whose pictures are sent to the agent's model; see ``sendable``."""
    return next((each for each in reversed(sendable(state, sees=sees, blind=blind)) if each.shown_images), None)


def groups(entries: tuple[ContextEntry, ...]) -> list[tuple[ContextEntry, ...]]:
    """Entries that must stay together: a reply with the results of its calls, and every other entry alone."""
    out: list[list[ContextEntry]] = []
    for entry in entries:
        if entry.kind is EntryKind.RESULT and out and out[-1][0].kind is EntryKind.REPLY and out[-1][0].calls:
            out[-1].append(entry)
        else:
            out.append([entry])
    return [tuple(group) for group in out]


def plan(
    state: RunState,
    *,
    system: str,
    tools: tuple[ToolSpec, ...],
    window: int,
    factor: float = 1.0,
    tool_tokens: int = 0,
    sees: bool = True,
    blind: bool = False,
) -> Plan:
    """The next request, or what has to be compacted before it.

    Args:
        window: tokens the model can see.
        factor: what our estimate is multiplied by for this model (learned from the server's own counts).
        tool_tokens: estimated tokens of the tools' definitions.
        sees: the model is known to see pictures; ``blind``: it is known not to.

    Raises:
        ContextOverflowError: the instructions and tools alone do not leave room for a message.
    """
    reserve = min(state.agent.max_tokens, window // 4)
    fixed = (message_tokens(system) + tool_tokens) * factor
    room = window * SAFETY - reserve - fixed
    if room < max(64, window * 0.05):
        raise ContextOverflowError(
            N_(
                "The agent's instructions and tools need about {used} tokens, which leaves no room in the model's window of {window}. "
                "Shorten the instructions, enable fewer tools, or choose a model with a larger window."
            ),
            used=int(fixed),
            window=window,
        )
    conversation = sendable(state, sees=sees, blind=blind)
    sizes = {entry.seq: entry_tokens(entry, factor) for entry in conversation}
    total = sum(sizes.values())
    if total <= room:
        return ReadyRequest(_request(state, conversation, system, tools, window), int(total + fixed), window)
    found = groups(conversation)
    cuttable = _cuttable(found)
    if cuttable:
        return CutResults(cuttable, int(total + fixed))
    old = _old_enough(found, sizes, room * TARGET)
    if old:
        return Summarise(old, int(total + fixed))
    return _shorten(conversation, total - room, factor, int(total + fixed), window)


def _cuttable(found: list[tuple[ContextEntry, ...]]) -> tuple[int, ...]:
    old = [entry for group in found[:-KEEP_GROUPS] for entry in group]
    results = [entry for entry in old if entry.kind is EntryKind.RESULT and not entry.cut and not entry.held]
    return tuple(entry.seq for entry in results if entry.images or len(shortened(entry.text)) < len(entry.text))


def _old_enough(found: list[tuple[ContextEntry, ...]], sizes: dict[int, float], target: float) -> tuple[ContextEntry, ...]:
    """The oldest groups that must go so that the rest fits ``target``; the newest group always stays."""
    kept = 0.0
    keep_from = len(found) - 1
    for index in range(len(found) - 1, -1, -1):
        kept += sum(sizes[entry.seq] for entry in found[index])
        if kept > target and index < len(found) - 1:
            break
        keep_from = index
    # A reply and its results stay together: a pin on one of them holds all.
    gone = tuple(entry for group in found[:keep_from] if not any(entry.held for entry in group) for entry in group)
    # A lone summary that is summarised again would go round in circles.
    return gone if any(entry.kind is not EntryKind.SUMMARY for entry in gone) else ()


def _shorten(entries: tuple[ContextEntry, ...], over: float, factor: float, tokens: int, window: int) -> Shorten:
    """Only the newest group and a summary are left and are still ``over`` tokens too long: the longest text gives way."""
    free = [entry for entry in entries if not entry.pinned]
    # Instructions of skills come last: they are shortened only when nothing else is long enough to give way.
    others = [entry for entry in free if not entry.held and len(entry.text) > SHORTEST + len(CUT_MARK) + 80]
    longest = max(others or free, key=lambda entry: len(entry.text), default=entries[-1])
    if longest.pinned:
        raise ContextOverflowError(
            N_("The pinned messages alone do not fit into the model's window of {window} tokens. Unpin some, or choose a larger model."),
            window=window,
        )
    size = len(longest.text.encode("utf-8", errors="replace"))
    # Characters may take several bytes: what has to go is reckoned in this text's own mixture.
    gone = int(over / factor * BYTES_PER_TOKEN * len(longest.text) / max(1, size)) + len(CUT_MARK) + 40
    kept = max(SHORTEST, len(longest.text) - gone)
    if len(shortened(longest.text, kept, "")) >= len(longest.text):
        # What is left is calls, images or many short texts: nothing here can give way, and trying again would go on for ever.
        raise ContextOverflowError(
            N_("The workflow's newest messages do not fit into the model's window of {window} tokens. Choose a larger model."),
            window=window,
        )
    return Shorten(longest.seq, kept, tokens)


def _request(state: RunState, entries: tuple[ContextEntry, ...], system: str, tools: tuple[ToolSpec, ...], window: int) -> ChatRequest:
    return ChatRequest(
        model=state.agent.model,
        messages=(ChatMessage(role=Role.SYSTEM, content=system), *messages(entries)),
        tools=tools,
        temperature=state.agent.temperature,
        max_tokens=reply_limit(state.agent, window),
        enable_thinking=state.agent.enable_thinking,
        effort=state.agent.effort.value if state.agent.effort is not None else None,
        context_window=window,
        response_schema=state.agent.answer_schema,
        # A sub-agent's request is tried again by the run itself: attempts of both would be multiplied.
        retry=state.parent_run_id is None,
    )


def reply_limit(agent: AgentConfig, window: int) -> int:
    """Most tokens of the reply: what the agent wants, and never more than a quarter of the window."""
    return min(agent.max_tokens, max(64, window // 4))


def messages(entries: tuple[ContextEntry, ...]) -> list[ChatMessage]:
    """Entries as chat messages. A call without a result gets one that says so, and a result without its call is left out, so that every
    server accepts the request."""
    return [message for message, _entry in sources(entries)]


def sources(entries: tuple[ContextEntry, ...]) -> list[tuple[ChatMessage, ContextEntry | None]]:
    """The chat messages, each with the entry it was made of; None for what stands in for a missing result."""
    out: list[tuple[ChatMessage, ContextEntry | None]] = []
    open_calls: dict[str, str] = {}

    def close() -> None:
        for call_id, name in open_calls.items():
            text = '{"success": false, "error": "This call was cut off; its effect is unknown."}'
            out.append((ChatMessage(role=Role.TOOL, content=text, tool_call_id=call_id, name=name, success=False), None))
        open_calls.clear()

    for entry in entries:
        if entry.kind is EntryKind.RESULT:
            if entry.call_id in open_calls:
                name = open_calls.pop(entry.call_id)
                result = ChatMessage(
                    role=Role.TOOL,
                    content=entry.text,
                    tool_call_id=entry.call_id,
                    name=name,
                    success=entry.success,
                    images=entry.shown_images,
                )
                out.append((result, entry))
            continue
        close()
        if entry.kind is EntryKind.REPLY:
            message = ChatMessage(
                role=Role.ASSISTANT,
                content=entry.text,
                reasoning=entry.reasoning,
                tool_calls=entry.calls,
                provider_data=entry.provider_data,
            )
            open_calls.update({call.id: call.name for call in entry.calls})
        elif entry.kind is EntryKind.SUMMARY:
            message = ChatMessage(role=Role.USER, content=f"[Summary of the conversation so far]\n{entry.text}")
        elif entry.kind is EntryKind.NOTE:
            message = ChatMessage(role=Role.USER, content=f"[Note from the program]\n{entry.text}")
        else:
            message = ChatMessage(role=Role.USER, content=entry.text, images=entry.images)
        out.append((message, entry))
    close()
    return out
