"""The items of a transcript as plain data, made from stored messages. No Qt; ``transcript`` applies stream events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from atelier_desk.domain.call_presentation_and_subjects import Presentation
from atelier_desk.presentation.unreadable_values import unreadable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from atelier_desk.domain.file_change import Change as FileChanged
    from atelier_desk.domain.memory import Memory
    from atelier_desk.domain.question import UserQuestion
    from atelier_desk.domain.result_parts import ResultPart, SourcePart
    from atelier_desk.domain.stream.payloads import Attachment
    from atelier_desk.domain.workflow import Message, ToolExecution
    from atelier_desk.engine.runs.memory_extraction import ExtractionReply
    from atelier_desk.engine.services.workflow.transcript import Branch, TranscriptEntry

EntryKind = Literal["user", "assistant", "notice"]
ChangeKind = Literal["append", "update", "stream", "remove"]
_FACTS = (
    "name",
    "media_type",
    "source",
    "path",
    "sha256",
    "width",
    "height",
    "pages",
    "text_sha256",
    "text_size",
    "characters",
)
LOADING = "loading"
"""Reason of a ``retry`` that is none: the model is being loaded from disk."""
UNFINISHED = frozenset({"length", "content_filter", "empty", "repetition"})
"""Finish reasons of an incomplete reply."""


def _unsaid() -> Presentation:
    return Presentation()


UNDER_WAY = frozenset({"asked", "approved", "running", "waiting"})
"""States of a call that has not ended."""


@dataclass(slots=True, eq=False)
class Call:
    """A tool call as shown by its card.

    Attributes:
        status: asked (waiting for approval), approved, running, waiting, ok, error, rejected, unknown, cancelled or
            timeout.
        progress, progress_text: reported by the tool while it runs.
        effect: the effect declared by the tool; ``spawn`` starts sub-agents.
        section: the tool's section.
        taint: untrusted content it read.
        decided_by, note: who rejected it, and the reason given.
        index: its position among the calls of its reply.
    """

    call_id: str
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    status: str = "running"
    result: object = None
    error: str = ""
    duration_ms: int = 0
    server: str = ""
    progress: int | None = None
    progress_text: str = ""
    truncated: bool = False
    effect: str = ""
    section: str = ""
    taint: str = ""
    decided_by: str = ""
    note: str = ""
    presentation: Presentation = field(default_factory=_unsaid)
    parts: tuple[ResultPart, ...] = ()
    index: int = 0


@dataclass(slots=True, eq=False)
class QuestionRow:
    """A question as shown by its card. ``answer`` is the user's selection and text."""

    question_id: str
    question: str
    status: str = "pending"
    answer: str = ""
    call_id: str = ""


@dataclass(slots=True, eq=False)
class Entry:
    """An item of the transcript.

    There can be ten thousand: fields that are mostly empty are tuples, sharing one empty instance.

    Attributes:
        id: the message's id; tokens of a reply carry the id its message will have.
        kind: ``user``, ``assistant`` or ``notice``.
        topic: a notice's subject (limit_reached, error …), else the message's own kind.
        live: still streaming.
        actionable: a notice that stopped the run, which has not continued since; or an incomplete last reply, or the
            notice that it was stopped.
        cut_explained: the card after a cut-off reply explains what ended it.
        images: base64 data and media types of images sent by a program.
        attachments: the user's attachments (``domain.attachment.Attachment``), with a ``thumbnail`` until stored.
        time: when it was sent; None until the engine has it.
        files: names and texts of attached text files.
        sources: web pages an answer is based on.
        file_changes: changes by the turn that ends here, the newest first.
        more_changes: number of changes by it that are on older pages, which are not loaded.
        remembered: memories of the turn's team, the oldest first.
        extractions: a running or failed extraction of memories; at most one.
    """

    id: str
    kind: EntryKind
    run_id: str = ""
    seq: int = 0
    topic: str = ""
    content: str = ""
    reasoning: str = ""
    reasoning_ms: int = 0
    reasoning_began: float = 0.0
    calls: list[Call] = field(default_factory=list)
    asked: tuple[QuestionRow, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)
    images: tuple[dict[str, str], ...] = ()
    files: tuple[dict[str, str], ...] = ()
    attachments: tuple[dict[str, Any], ...] = ()
    agent_name: str = ""
    model: str = ""
    provider: str = ""
    time: datetime | None = None
    branch: Branch | None = None
    live: bool = False
    pending: bool = False
    actionable: bool = False
    pinned: bool = False
    cut_explained: bool = False
    sources: tuple[SourcePart, ...] = ()
    file_changes: tuple[FileChanged, ...] = ()
    more_changes: int = 0
    remembered: tuple[Memory, ...] = ()
    extractions: tuple[ExtractionReply, ...] = ()

    @property
    def unfinished(self) -> str:
        """Why the reply is incomplete (one of ``UNFINISHED``), else empty."""
        reason = str(self.details.get("finish_reason", ""))
        return reason if self.kind == "assistant" and reason in UNFINISHED else ""


Change = tuple[ChangeKind, Entry]


def call_from(execution: ToolExecution) -> Call:
    return Call(
        call_id=execution.call_id,
        tool=execution.tool,
        arguments=dict(execution.arguments),
        status=execution.status,
        result=execution.result,
        error=execution.error,
        duration_ms=execution.duration_ms,
        server=execution.server,
        truncated=execution.truncated,
        effect=execution.effect,
        section=execution.section,
        taint=execution.taint,
        presentation=execution.presentation,
        parts=execution.parts,
    )


def asked_from(question: UserQuestion) -> QuestionRow:
    return QuestionRow(question.id, question.spec.question, question.status.value, question.answer, question.call_id)


def _calls(stored: TranscriptEntry) -> list[Call]:
    """The calls of a message in order; a call not started for lack of approval is taken from its request."""
    rows = {call.call_id: call_from(call) for call in stored.calls}
    found: list[Call] = []
    for index, call_id in enumerate(stored.message.call_ids):
        asked = next(iter(stored.approvals.get(call_id, ())[-1:]), None)
        call = rows.get(call_id)
        if call is None and asked is not None:
            status = "asked" if asked.status.value == "pending" else asked.status.value
            call = Call(call_id, asked.tool, dict(asked.arguments), status, server=asked.server)
            call.effect, call.presentation = asked.effect, asked.presentation
        elif call is not None and asked is not None and asked.status.value == "rejected":
            call.status = "rejected"
        if call is not None:
            call.index = index
            if call.status == "rejected" and asked is not None:
                call.decided_by, call.note = asked.decided_by, asked.note
            found.append(call)
    known = {call.call_id for call in found}
    return [*found, *(call for call_id, call in rows.items() if call_id not in known)]


def entry_from(stored: TranscriptEntry) -> Entry:
    """The item of a stored message with its calls and question."""
    message = stored.message
    kind: EntryKind = "assistant" if message.kind == "to_parent" else message.role.value
    return Entry(
        id=message.id,
        kind=kind,
        run_id=message.run_id,
        seq=message.seq,
        topic=message.kind,
        content=message.content,
        reasoning=message.reasoning,
        reasoning_ms=message.reasoning_ms,
        calls=_calls(stored),
        asked=tuple(map(asked_from, stored.questions)),
        details=dict(message.details),
        images=_sent(message, "images"),
        files=_sent(message, "files"),
        attachments=_sent(message, "attachments"),
        agent_name=message.agent_name,
        model=message.model,
        provider=message.provider,
        time=message.created_at,
        branch=stored.branch,
        pinned=message.pinned,
    )


def _sent(message: Message, name: str) -> tuple[dict[str, Any], ...]:
    """What the user sent with a message; what is no list of objects is left out."""
    found = message.details.get(name)
    if message.role.value != "user" or not isinstance(found, list | tuple):
        return ()
    return tuple(each for each in found if isinstance(each, dict))


def leave_out_unreadable(entry: Entry) -> None:
    """Reduce an entry whose data cannot be displayed to its texts and a sentence that says so."""
    entry.details, entry.images, entry.files, entry.attachments = {}, (), (), ()
    entry.calls, entry.asked, entry.sources = [], (), ()
    entry.content = "\n\n".join(filter(None, (entry.content, unreadable())))


def attachment_of(streamed: Attachment, before: Sequence[dict[str, object]]) -> dict[str, object]:
    """A message's attachment from the stream, with the image shown ``before`` it was stored."""
    facts = {name: getattr(streamed, name) for name in _FACTS}
    shown = next((each.get("thumbnail") for each in before if each.get("name") == streamed.name), None)
    return {
        **facts,
        "size": streamed.bytes,
        "text": streamed.text or "",
        **({"thumbnail": shown} if shown is not None else {}),
    }
