"""Data of the context inspector: a model request as sent, sizes by part, and omissions. Plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from atelier_desk.domain.attachment import Attachment
from atelier_desk.domain.model_messages import ChatMessage, ToolSpec

PartKind = Literal["system", "folder", "skills", "tools", "memory", "history", "results", "message", "images"]
"""Parts of a request.

``skills``: catalogue and used instructions; ``memory``: results of the memory tool; ``results``: those of other tools;
``message``: the user's last message; ``history``: all other messages, replies, notes and summaries; images always count
as ``images``.
"""
PARTS: tuple[PartKind, ...] = (
    "system",
    "folder",
    "skills",
    "tools",
    "memory",
    "history",
    "results",
    "message",
    "images",
)


@dataclass(frozen=True, slots=True)
class RequestSummary:
    """One answered request.

    Attributes:
        seq: number of its reply's event in the run, for ``InspectorService.request``.
        stream_seq: number of the reply's first stream event in the workflow.
        time: when the reply was complete.
        tokens_input: the server's count, or an estimate if ``estimated``.
        window: the model's context in tokens; 0 if unknown.
        calls: names of the tools the reply called, in order.
        exact: system message and tools were stored; otherwise ``request`` rebuilds them as they would be today.
    """

    run_id: str
    seq: int
    stream_seq: int
    time: datetime
    agent_name: str
    model: str
    provider: str
    dialect: str
    tokens_input: int
    tokens_output: int
    estimated: bool
    cost: float | None
    window: int
    duration_ms: int
    calls: tuple[str, ...] = ()
    exact: bool = True


@dataclass(frozen=True, slots=True)
class PartSize:
    """Tokens of one part: ``estimate`` is our count, ``tokens`` is scaled to the server's total (equal without one)."""

    kind: PartKind
    estimate: int
    tokens: int
    share: float
    """Fraction of all parts, 0 to 1."""


@dataclass(frozen=True, slots=True)
class SentItem:
    """One message of the request and its origin.

    Attributes:
        index: its position in ``SentRequest.messages``.
        origin: run and number of its event, joined by a colon, for ``RunManager.pin``; empty for the system message and
            for the placeholder result of a call with unknown effect.
        kind: ``system``, ``user``, ``reply``, ``result``, ``note``, ``summary`` or ``missing`` (the placeholder).
        part: where its text is counted; images are counted separately.
        tokens: its share of the server's count, including images.
        cut: its text was shortened to make room; ``left_out`` has it in full.
        pinned: it is never cut, summarised or omitted.
        can_pin: a person may pin it.
        returned_bytes: size of the server's own data sent back with it.
        attached: its attachments, each with the text given to the model.
        withheld_bytes: size of data not sent, because it belongs to another provider or model, or was not stored.
    """

    index: int
    origin: str
    kind: str
    part: PartKind
    tokens: int
    tool: str = ""
    cut: bool = False
    pinned: bool = False
    can_pin: bool = True
    returned_bytes: int = 0
    withheld_bytes: int = 0
    attached: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class OmittedEntry:
    """An entry that was not sent in full. ``after`` is the part sent; empty if replaced by a summary."""

    origin: str
    kind: str
    tool: str
    before: str
    after: str
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True, slots=True)
class Omitted:
    """One compaction in effect for the request.

    Attributes:
        origin: of its event, for ``RunManager.undo_compaction``.
        method: as in ``ContextCompacted``: ``cut_results``, ``summary``, ``digest`` or ``cut_message``.
        summary: replacement of the entries.
        tokens_before: estimated size of its request before, ``tokens_after`` after it; 0 if unknown.
        window: the model's context in tokens.
        undone: a person undid it later.
        can_undo: it can be undone now.
    """

    origin: str
    time: datetime
    method: str
    entries: tuple[OmittedEntry, ...]
    summary: str = ""
    tokens_before: int = 0
    tokens_after: int = 0
    window: int = 0
    undone: bool = False
    can_undo: bool = False


@dataclass(frozen=True, slots=True)
class SentRequest:
    """One model request as sent.

    Attributes:
        messages, tools: as passed to the model's dialect, system message first.
        wire: with the xml dialect, the messages as transmitted (tools, calls and results as text, no ``tools``); None
            if sent unchanged, and for the guided dialect, which sends its own examples.
        window: the model's context in tokens.
        limit: maximum reply tokens.
        tokens: of the whole request, as counted by the server or estimated (see ``summary.estimated``).
        searched_tools, searched_tokens: number of tools searched for instead of listed, and the estimated size of their
            definitions; 0 if listed.
        exact: False if system message and tools are missing: not stored by an older version, or lost in a file. The
            other ``messages`` are always exact.
    """

    summary: RequestSummary
    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolSpec, ...]
    wire: tuple[ChatMessage, ...] | None
    temperature: float | None
    limit: int
    window: int
    tokens: int
    parts: tuple[PartSize, ...]
    items: tuple[SentItem, ...]
    left_out: tuple[Omitted, ...] = ()
    exact: bool = True
    searched_tools: int = 0
    searched_tokens: int = 0
