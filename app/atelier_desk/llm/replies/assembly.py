"""Assemble one reply from streamed pieces, emitting deltas meanwhile. Pure: no I/O, no clock."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NoReturn, Protocol

from atelier_desk.domain.base_model import new_id
from atelier_desk.domain.model_messages import (
    ChatDelta,
    ChatReply,
    ChatRequest,
    FinishReason,
    ReasoningDelta,
    ReplyDone,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
)
from atelier_desk.llm.replies.provider_data import storable
from atelier_desk.llm.replies.think_tags import ALL_BEFORE, ThinkSplitter


class StreamParser(Protocol):
    """Converts the bytes of one answer to deltas, independently of how they are split.

    Attributes:
        complete: the reply is complete; only usage and the end mark can follow.
        ended: the end mark was seen; nothing more has to be read.
    """

    @property
    def complete(self) -> bool: ...

    @property
    def ended(self) -> bool: ...

    def feed(self, data: bytes) -> list[ChatDelta]:
        """Return deltas of the next piece. Raises ProviderError for an error in the stream, or invalid data."""
        ...

    def close(self) -> list[ChatDelta]:
        """Return the last deltas, ending with ``ReplyDone``.

        Raises ProviderError (``truncated``) if the end mark is missing.
        """
        ...


def new_call_id() -> str:
    """Return an id for a call that its server did not name."""
    return f"call_{new_id()[12:]}"


@dataclass
class _Call:
    id: str = ""
    wire_id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    extra: dict[str, object] = field(default_factory=dict)

    def continues(self, wire_id: str, name: str, *, numbered: bool, argued: bool) -> bool:
        """Whether a piece with this id and name continues this call.

        Without an index, each name begins a call. With one, a piece with name and arguments begins another call once
        this call's object is complete: some gateways give all calls of a reply one index and no id.
        """
        if wire_id and self.wire_id and wire_id != self.wire_id:
            return False
        text = "".join(self.arguments).strip()
        if name and argued and not wire_id and text and arguments_of(text)[1] is None:
            return False
        return not (name and self.name and (name != self.name or not (numbered or wire_id)))


class ReplyAssembler:
    """Collects text, reasoning, calls, usage and finish reason.

    Text goes through a ``ThinkSplitter``. Pieces of calls are merged by index; a piece with another id at the same
    index, or with an id and no index, begins a new call. A call without an id, or with one already used in the
    conversation, gets a new id.

    Attributes:
        extra: data the server expects back with the reply, in its final form; becomes ``provider_data``.
    """

    def __init__(self, request: ChatRequest, provider: str = "", *, make_id: Callable[[], str] = new_call_id) -> None:
        self._think = ThinkSplitter()
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[_Call] = []
        self._at: dict[int, int] = {}
        self._request = request
        self._make_id = make_id
        self._source = (provider, request.model)
        self.extra: dict[str, object] = {}
        self.model = request.model
        self.usage: Usage | None = None
        self.finish_reason: FinishReason | None = None

    def text(self, content: str) -> list[ChatDelta]:
        return self._pieces(self._think.feed(content)) if content else []

    def reasoning(self, content: str) -> list[ChatDelta]:
        if not content:
            return []
        self._reasoning.append(content)
        return [ReasoningDelta(content=content)]

    def call(
        self,
        index: int | None,
        id: str = "",
        name: str = "",
        arguments: object = None,
        extra: dict[str, object] | None = None,
    ) -> list[ChatDelta]:
        """Add a piece of a call, or a complete one.

        ``arguments`` is text, an object, or None; ``extra`` is data the server expects back.
        """
        position = self._position(index, id, name, argued=bool(arguments))
        call = self._calls[position]
        call.wire_id = call.wire_id or id
        call.id = call.id or self._unique(id)
        call.name = call.name or name
        call.extra.update(extra or {})
        text = "" if arguments is None else arguments if isinstance(arguments, str) else _dump(arguments)
        if text:
            call.arguments.append(text)
        return [ToolCallDelta(index=position, id=call.id, name=call.name, arguments=text)]

    def done(self) -> list[ChatDelta]:
        """Return held-back deltas, and the complete reply."""
        deltas = self._pieces(self._think.flush())
        content, reasoning = "".join(self._text), "".join(self._reasoning)
        calls = tuple(self._finished(call) for call in self._calls)
        reason = self.finish_reason or FinishReason.STOP
        if calls and reason is FinishReason.STOP:
            reason = FinishReason.TOOL_CALLS
        reply = ChatReply(
            content=content,
            reasoning=reasoning,
            tool_calls=calls,
            usage=self.usage,
            finish_reason=reason,
            model=self.model,
            provider_data=storable(*self._source, self.extra),
        )
        return [*deltas, ReplyDone(reply=reply)]

    def _pieces(self, pieces: Iterable[tuple[bool, str]]) -> list[ChatDelta]:
        deltas: list[ChatDelta] = []
        for reasoning, text in pieces:
            if (reasoning, text) == ALL_BEFORE:
                self._reasoning += self._text
                self._text.clear()
                deltas.append(ReasoningDelta(content="", all_before=True))
                continue
            (self._reasoning if reasoning else self._text).append(text)
            deltas.append(ReasoningDelta(content=text) if reasoning else TextDelta(content=text))
        return deltas

    def _position(self, index: int | None, wire_id: str, name: str, *, argued: bool) -> int:
        """Return the index of the call that a piece belongs to, adding it if the piece begins a call."""
        known = self._at.get(index) if index is not None else (len(self._calls) - 1 if self._calls else None)
        if known is not None and self._calls[known].continues(wire_id, name, numbered=index is not None, argued=argued):
            return known
        self._calls.append(_Call())
        if index is not None:
            self._at[index] = len(self._calls) - 1
        return len(self._calls) - 1

    def _finished(self, call: _Call) -> ToolCall:
        text = "".join(call.arguments)
        arguments, error = arguments_of(text)
        if not call.name:
            error = error or "The call has no tool name."
        return ToolCall(
            id=call.id,
            name=call.name or "unknown",
            arguments=arguments,
            raw=text if error else None,
            error=error,
            provider_data=storable(*self._source, call.extra),
        )

    @cached_property
    def _used(self) -> set[str]:
        """Ids of calls in the conversation and in this reply so far. Most replies of a chat call nothing."""
        return {call.id for message in self._request.messages for call in message.tool_calls}

    def _unique(self, id: str) -> str:
        while not id or id in self._used:
            id = self._make_id()
        self._used.add(id)
        return id


def arguments_of(text: str) -> tuple[dict[str, object], str | None]:
    """Parse a call's argument text; return the object and any error. Empty text means no arguments."""
    if not text.strip():
        return {}, None
    try:
        value = json.loads(text, parse_constant=_not_a_number, parse_float=_finite)
    except RecursionError:
        return {}, "The arguments are nested too deeply."
    except ValueError as error:
        return {}, f"The arguments are not valid JSON: {error}"
    if value is None:
        return {}, None
    if not isinstance(value, dict):
        return {}, f"The arguments must be a JSON object, not {type(value).__name__}."
    return value, None


def _finite(text: str) -> float:
    """Refuse ``1e400``: valid JSON, but it would become null later."""
    value = float(text)
    return value if math.isfinite(value) else _not_a_number(text)


def _not_a_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
