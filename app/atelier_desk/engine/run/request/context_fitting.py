"""Content of a model request: the newest messages take precedence, and a request over the context limit is never sent.

``plan`` is pure. It returns either a fitting request or the compaction to do first; the driver commits that and plans
again. Order: old tool results are cut, then old turns are summarised, and finally the newest entry itself is shortened.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from atelier_desk.domain.agent import AgentConfig, ToolDialect
from atelier_desk.domain.errors import ContextOverflowError
from atelier_desk.domain.model_messages import ChatMessage, ChatRequest, Role, TextTurns, ToolSpec
from atelier_desk.domain.opaque_provider_data import ProviderData
from atelier_desk.engine.run.reducer.conversation_entries import ContextEntry, EntryKind, History, renumbered
from atelier_desk.engine.run.reducer.state import RunState, model_key
from atelier_desk.engine.run.request.compaction import CUT_MARK, shortened
from atelier_desk.llm.token_and_cost_estimates import BYTES_PER_TOKEN, IMAGE_TOKENS, attached, message_tokens
from atelier_desk.support.i18n import N_

SAFETY = 0.95
"""Fraction of the context that a request may fill by our own, estimated count."""
RECENT_GROUPS = 2
"""Number of newest groups (a message, or a reply with its results) whose tool results are cut last."""
SHORTEST = 200
"""Minimum characters of a shortened text."""
TARGET = 0.6
"""Fraction of the room to which old turns are compacted, so that it is not needed again at once."""


@dataclass(frozen=True, slots=True)
class ReadyRequest:
    """A fitting request; ``tokens`` is its estimated size, ``uncalibrated`` the same without the server's counts."""

    request: ChatRequest
    tokens: int
    window: int
    uncalibrated: int


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
    """Shorten this entry in its middle to ``unshortened`` characters: there is nothing older to compact."""

    seq: int
    unshortened: int
    tokens: int


Plan = ReadyRequest | CutResults | Summarise | Shorten


def entry_tokens(entry: ContextEntry, factor: float) -> float:
    """Return the estimated tokens of one entry, including calls, images and data sent back to the server."""
    return entry.tokens * factor + IMAGE_TOKENS * len(entry.shown_images)


def provider_sizes(state: RunState, dialect: ToolDialect) -> dict[str, tuple[int, int]]:
    """Return, by origin, the bytes of data sent back to the server, and of omitted data.

    Data of a call is omitted where calls are written as text; the guided dialect sends no replies at all.
    """
    sizes = {}
    for before, after in zip(state.conversation, sendable(state), strict=True):
        total = sum(data.size for data in attached(before.provider_data, before.calls))
        calls = after.calls if dialect is ToolDialect.NATIVE else ()
        sent = (
            sum(data.size for data in attached(after.provider_data, calls)) if dialect is not ToolDialect.GUIDED else 0
        )
        if total:
            sizes[before.origin] = (sent, total - sent)
    return sizes


def sendable(state: RunState, *, sees: bool = True, blind: bool = False) -> History:
    """Return the conversation as it may be sent to the agent's model: without other models' data, and without data that
    was not stored.

    A model not known to support images (``sees``) gets none from tools: nobody chose to send them, and servers refuse
    them. One known not to (``blind``) is told about those attached by a person.
    """
    agent = state.agent

    def own(data: ProviderData | None) -> ProviderData | None:
        return data if data is not None and data.belongs_to(agent.provider, agent.model) else None

    def entry(number: int, each: ContextEntry) -> ContextEntry:
        if each.kind is EntryKind.RESULT and each.images and not sees:
            return replace(each, images=())
        if each.images and (number in state.left_out or model_key(agent) in each.refused):
            word = (
                f"[Pictures belong here ({_names(each)}), but your server did not accept them. Say so where it "
                f"matters.]"
            )
            return replace(each, images=(), text=f"{each.text}\n\n{word}".strip())
        if each.kind is EntryKind.USER and each.images and blind:
            names = _names(each)
            word = (
                f"[Pictures were attached here ({names}), but you are a model that cannot see pictures. Say so where "
                f"it matters.]"
            )
            return replace(each, images=(), text=f"{each.text}\n\n{word}".strip())
        if all(own(data) for data in attached(each.provider_data, each.calls)):
            return each
        calls = tuple(call.model_copy(update={"provider_data": own(call.provider_data)}) for call in each.calls)
        return replace(each, provider_data=own(each.provider_data), calls=calls)

    conversation = state.conversation
    if not conversation.not_plain:
        return conversation
    numbers = state.numbers
    changed = {position: entry(numbers[position], conversation[position]) for position in conversation.not_plain}
    if all(each is conversation[position] for position, each in changed.items()):
        return conversation
    return History(changed.get(position, each) for position, each in enumerate(conversation))


def _names(entry: ContextEntry) -> str:
    return ", ".join(repr(image.name) for image in entry.images if image.name) or f"{len(entry.images)} in number"


def newest_pictures(state: RunState, *, sees: bool, blind: bool) -> ContextEntry | None:
    """Return the newest entry whose images are sent to the agent's model, numbered; see ``sendable``."""
    sent = renumbered(sendable(state, sees=sees, blind=blind), state.numbers)
    return next((each for each in reversed(sent) if each.shown_images), None)


def groups(entries: tuple[ContextEntry, ...]) -> list[tuple[ContextEntry, ...]]:
    """Group entries that must stay together: a reply with the results of its calls, and every other entry alone."""
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
    """Return the next request, or the compaction required before it.

    Args:
        window: the model's context in tokens.
        factor: calibration factor of our estimate for this model (from the server's counts).
        tool_tokens: estimated tokens of the tool definitions.
        sees: the model is known to support images; ``blind``: it is known not to.

    Raises:
        ContextOverflowError: instructions and tools alone leave no room for a message.
    """
    reserve = min(state.agent.max_tokens, window // 4)
    own = message_tokens(system) + tool_tokens
    fixed = own * factor
    room = window * SAFETY - reserve - fixed
    if room < max(64, window * 0.05):
        raise ContextOverflowError(
            N_(
                "The agent's instructions and tools need about {used} tokens, which leaves no room in the model's "
                "context window of {window}. "
                "Shorten the instructions, enable fewer tools, or choose a model with a larger context window."
            ),
            used=int(fixed),
            window=window,
        )
    conversation = sendable(state, sees=sees, blind=blind)
    images = sum(IMAGE_TOKENS * len(entry.shown_images) for entry in conversation.with_more)
    total = conversation.tokens * factor + images
    if total <= room:
        request = _request(state, conversation, system, tools, window)
        return ReadyRequest(request, int(total + fixed), window, conversation.tokens + images + own)
    numbered = renumbered(conversation, state.numbers)
    sizes = {entry.seq: entry_tokens(entry, factor) for entry in numbered}
    found = groups(numbered)
    cuttable = _cuttable(found)
    if cuttable:
        return CutResults(cuttable, int(total + fixed))
    old = _old_enough(found, sizes, room * TARGET)
    if old:
        return Summarise(old, int(total + fixed))
    return _shorten(numbered, total - room, factor, int(total + fixed), window)


def _cuttable(found: list[tuple[ContextEntry, ...]]) -> tuple[int, ...]:
    old = [entry for group in found[:-RECENT_GROUPS] for entry in group]
    results = [entry for entry in old if entry.kind is EntryKind.RESULT and not entry.cut and not entry.held]
    return tuple(entry.seq for entry in results if entry.images or len(shortened(entry.text)) < len(entry.text))


def _old_enough(
    found: list[tuple[ContextEntry, ...]], sizes: dict[int, float], target: float
) -> tuple[ContextEntry, ...]:
    """Return the oldest groups to remove so that the rest fits ``target``; the newest group always stays."""
    kept = 0.0
    keep_from = len(found) - 1
    for index in range(len(found) - 1, -1, -1):
        kept += sum(sizes[entry.seq] for entry in found[index])
        if kept > target and index < len(found) - 1:
            break
        keep_from = index
    # A reply and its results stay together: a pin on one protects all.
    gone = tuple(entry for group in found[:keep_from] if not any(entry.held for entry in group) for entry in group)
    # Summarising a single summary again would loop.
    return gone if any(entry.kind is not EntryKind.SUMMARY for entry in gone) else ()


def _shorten(entries: tuple[ContextEntry, ...], over: float, factor: float, tokens: int, window: int) -> Shorten:
    """Shorten the longest text when only the newest group and a summary are left, ``over`` tokens too long."""
    free = [entry for entry in entries if not entry.pinned]
    # Instructions of skills are shortened last, when nothing else is long enough.
    others = [entry for entry in free if not entry.held and len(entry.text) > SHORTEST + len(CUT_MARK) + 80]
    longest = max(others or free, key=lambda entry: len(entry.text), default=entries[-1])
    if longest.pinned:
        raise ContextOverflowError(
            N_(
                "The pinned messages alone do not fit into the model's context window of {window} tokens. Unpin "
                "some, or choose a model with a larger context window."
            ),
            window=window,
        )
    size = len(longest.text.encode("utf-8", errors="replace"))
    # Characters may take several bytes: use this text's own proportion.
    gone = int(over / factor * BYTES_PER_TOKEN * len(longest.text) / max(1, size)) + len(CUT_MARK) + 40
    new_length = max(SHORTEST, len(longest.text) - gone)
    if len(shortened(longest.text, new_length, "")) >= len(longest.text):
        # Only calls, images or many short texts are left: nothing can be shortened, and retrying would loop.
        raise ContextOverflowError(
            N_(
                "The workflow's newest messages do not fit into the model's context window of {window} tokens. "
                "Choose a model with a larger context window."
            ),
            window=window,
        )
    return Shorten(longest.seq, new_length, tokens)


def _request(state: RunState, entries: History, system: str, tools: tuple[ToolSpec, ...], window: int) -> ChatRequest:
    all_messages = (ChatMessage(role=Role.SYSTEM, content=system), *messages(entries))
    return ChatRequest(
        model=state.agent.model,
        messages=TextTurns(all_messages) if entries.in_turn and len(entries) % 2 else all_messages,
        tools=tools,
        temperature=state.agent.temperature,
        max_tokens=reply_limit(state.agent, window),
        enable_thinking=state.agent.enable_thinking,
        effort=state.agent.effort.value if state.agent.effort is not None else None,
        context_window=window,
        response_schema=state.agent.answer_schema,
        # A sub-agent's request is retried by the run itself: attempts of both would multiply.
        retry=state.parent_run_id is None,
    )


def reply_limit(agent: AgentConfig, window: int) -> int:
    """Return the maximum reply tokens: what the agent wants, at most a quarter of the context."""
    return min(agent.max_tokens, max(64, window // 4))


def messages(entries: History) -> list[ChatMessage]:
    """Return entries as chat messages that every server accepts.

    A call without a result gets a placeholder, and a result without its call is dropped.
    """
    if not any(entry.calls or entry.kind is EntryKind.RESULT for entry in entries.with_more):
        return [entry.message for entry in entries]
    return [message for message, _entry in sources(entries)]


def sources(entries: tuple[ContextEntry, ...]) -> Iterator[tuple[ChatMessage, ContextEntry | None]]:
    """Return the chat messages, each with its entry; None for the placeholder of a missing result."""
    open_calls: dict[str, str] = {}

    def close() -> Iterator[tuple[ChatMessage, None]]:
        for call_id, name in open_calls.items():
            text = '{"success": false, "error": "This call was cut off; its effect is unknown."}'
            yield ChatMessage(role=Role.TOOL, content=text, tool_call_id=call_id, name=name, success=False), None
        open_calls.clear()

    for entry in entries:
        message = entry.message
        if entry.kind is EntryKind.RESULT:
            if entry.call_id in open_calls:
                name = open_calls.pop(entry.call_id)
                yield message if message.name == name else message.model_copy(update={"name": name}), entry
            continue
        if open_calls:
            yield from close()
        if entry.calls:
            open_calls.update({call.id: call.name for call in entry.calls})
        yield message, entry
    yield from close()
