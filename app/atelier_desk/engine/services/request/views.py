"""What the context inspector shows: one model request as it was sent, its size by part, and what was left out. Plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from atelier_desk.domain.attachment import Attachment
from atelier_desk.domain.model_messages import ChatMessage, ToolSpec

PartKind = Literal["system", "folder", "skills", "tools", "memory", "history", "results", "message", "images"]
"""``skills`` their catalogue and the instructions that were taken up, ``memory`` results of the memory tool, ``results`` those of other
tools, ``message`` what the user said last, ``history`` all other messages, replies, notes and summaries; an image counts as ``images``
wherever it stands."""
PARTS: tuple[PartKind, ...] = ("system", "folder", "skills", "tools", "memory", "history", "results", "message", "images")


@dataclass(frozen=True, slots=True)
class RequestSummary:
    """One request that was answered.

    Attributes:
        seq: number of its reply's event in the run; what ``InspectorService.request`` takes.
        stream_seq: number of the reply's first stream event in the workflow.
        time: when the reply was whole.
        tokens_input: as the server counted, or an estimate when ``estimated``.
        window: tokens the model could see; 0 when it is not known.
        calls: names of the tools the reply called, in order.
        exact: the system message and the tools were kept; else ``request`` can only make them again as they would be today.
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
    """Tokens of one part: ``estimate`` by our own count, ``tokens`` scaled so that all parts add up to what the server counted (the
    same as ``estimate`` when it did not)."""

    kind: PartKind
    estimate: int
    tokens: int
    share: float
    """Of all parts, 0 to 1."""


@dataclass(frozen=True, slots=True)
class SentItem:
    """One message of the request and where it came from.

    Attributes:
        index: its place in ``SentRequest.messages``.
        origin: the run and number of the event that made it, joined by a colon; empty for the system message and for a stand-in result
            of a call whose effect is unknown. What ``RunManager.pin`` takes.
        kind: ``system``, ``user``, ``reply``, ``result``, ``note``, ``summary`` or ``missing`` (the stand-in).
        part: where its text is counted; its images are counted apart.
        tokens: its share of the server's count, images included.
        cut: its text was shortened to make room; ``left_out`` has it whole.
        pinned: it is never cut, summarised or left out.
        can_pin: a person may pin it.
        returned_bytes: size of what the server once sent with it and got back with it.
        attached: what a person attached to it; each one's text is what the model was given of it.
        withheld_bytes: size of what came with it and was not sent: it belongs to another provider or model, or was not kept.
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
    """An entry that was not sent whole. ``after`` is what was sent of it; empty when a summary stands for it."""

    origin: str
    kind: str
    tool: str
    before: str
    after: str
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True, slots=True)
class Omitted:
    """One saving of room that still held for the request.

    Attributes:
        origin: of its event; what ``RunManager.undo_compaction`` takes.
        method: as in ``ContextCompacted``: ``cut_results``, ``summary``, ``digest`` or ``cut_message``.
        summary: what stands in place of the entries.
        tokens_before: estimated size of the request it was done for, before and after; ``tokens_after`` 0 when it is not known.
        window: tokens the model could see.
        undone: a person undid it later.
        can_undo: it can be undone now: it was not yet.
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
    """One request to a model as it was sent.

    Attributes:
        messages, tools: as the engine handed them to the model's dialect, the system message first.
        wire: under the xml dialect the messages as they went over the wire (tools, calls and results as text, no ``tools``); None where
            the dialect sends the messages as they are, and for the guided dialect, which shows the model examples of its own.
        window: tokens the model could see.
        limit: most tokens of the reply.
        tokens: of the whole request, as the server counted or estimated (see ``summary.estimated``).
        searched_tools, searched_tokens: how many tools were searched for instead of being listed, and what their definitions would
            have taken, as estimated; 0 when they were listed.
        exact: False when the system message and the tools are not there: an older version did not keep them, or they were lost on the way
            through a file. The other ``messages`` are exact in any case.
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
