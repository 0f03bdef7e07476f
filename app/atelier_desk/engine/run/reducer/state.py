"""The state of a run: what folding its events gives. Immutable, no clock, no I/O."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from atelier_desk.domain.agent import AgentConfig, SearchScope
from atelier_desk.domain.approval import Ancestor, ApprovalPolicy, ApprovalRequest
from atelier_desk.domain.attachment import FILES, Attachment
from atelier_desk.domain.events.run import (
    Ended,
    LimitKind,
    LimitReached,
    OutputShown,
    PauseReason,
    Retention,
    ToolCallStarted,
    UserMessage,
)
from atelier_desk.domain.instructions import FolderInstructions
from atelier_desk.domain.model_messages import FinishReason, ImagePart, TextFile, ToolCall, Usage
from atelier_desk.domain.permission import PermissionRule
from atelier_desk.domain.provider_data import ProviderData
from atelier_desk.domain.question import Sampling, UserQuestion
from atelier_desk.domain.result_parts import SourcePart
from atelier_desk.domain.skill import Invocation, SkillFacts, SkillUse
from atelier_desk.domain.task import TaskStatus
from atelier_desk.domain.team import ChildPlan, ChildState, Spending, TeamCall
from atelier_desk.domain.workflow import RunMode, RunStatus
from atelier_desk.policy.budget import BudgetUse
from atelier_desk.tools.control.read_attachment import ReadAttachmentTool

NO_USAGE = Usage()
DEFAULT_POLICY = ApprovalPolicy()


class EntryKind(StrEnum):
    USER = "user"
    REPLY = "reply"
    RESULT = "result"
    NOTE = "note"
    SUMMARY = "summary"


@dataclass(frozen=True, slots=True)
class ContextEntry:
    """One entry of the conversation as the model will see it.

    Attributes:
        seq: number of the event that made it; entries of earlier runs are numbered backwards from -1.
        cut: the text was shortened to make room; ``full`` is what it was, ``cut_by`` names the newest compaction that did it.
        origin: names the entry for good, also in later runs: the run and number of the event that made it, joined by a colon (and ``#n``
            for the nth of several made by one event).
        pinned: a person wants it sent whole, always.
        skill: the skill whose instructions it holds: it is kept whole as long as anything else can give way.
        message_id: the message of the transcript that shows it; empty when none does.
        provider_data: what the model's server sent with a reply and wants back with it.
        attachments: what went with a message; its text holds what the model is given of them.
        refused: models, as ``provider/model``, whose server did not accept the pictures: they are not sent to it again.
        replaced: for a summary, the entries it stands for; ``order`` are the origins of the whole conversation before it. Both are left out
            where a conversation was taken from a snapshot; see ``complete``.
        earlier: for a summary, what went with those entries and is no picture.
    """

    seq: int
    kind: EntryKind
    text: str
    retention: Retention = Retention.COMPRESSIBLE
    reasoning: str = ""
    provider_data: ProviderData | None = None
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    tool: str = ""
    success: bool = True
    images: tuple[ImagePart, ...] = ()
    cut: bool = False
    full: str = ""
    cut_by: str = ""
    origin: str = ""
    pinned: bool = False
    skill: SkillUse | None = None
    message_id: str = ""
    replaced: tuple[ContextEntry, ...] = ()
    earlier: tuple[Attachment, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    order: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    @property
    def held(self) -> bool:
        """Whether it is not cut or summarised to make room."""
        return self.pinned or self.skill is not None

    @property
    def shown_images(self) -> tuple[ImagePart, ...]:
        """The pictures that are sent: a result that was cut has lost them."""
        return () if self.cut and self.kind is EntryKind.RESULT else self.images


@dataclass(frozen=True, slots=True)
class CallInput:
    """What the server of a call wants to know before it answers.

    Attributes:
        state: of the server, sent back as it came.
        answers: by the server's key, as they are sent.
        open: keys without an answer yet; ``samplings`` are requests to a model that a person allowed and that were not made yet.
        refused: why the call cannot be made again.
        note: what the model is told of it with the result.
    """

    server: str
    state: str | None
    round: int
    answers: Mapping[str, Mapping[str, Any]]
    open: tuple[str, ...]
    samplings: Mapping[str, Sampling] = field(default_factory=dict)
    refused: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class CallState:
    """A tool call of the newest reply.

    Attributes:
        status: planned; asked (a person must allow it first); started (its intent is committed); waiting (for the user, sub-agents or the
            parent); ready (to be made again with what its server asked for); done.
        input: what its server asked for.
        narrowed: the run may do less than when it was judged.
        cut_off: it was started by a stretch of work that ended before it had a result.
        allowed: a person allowed this very call.
        edited: the arguments a person put in place of the model's.
        waits_for: what a waiting call waits for.
        kind, children, stop_on_error: for a call that waits for sub-agents, what it is and whose end it waits for.
    """

    call: ToolCall
    status: Literal["planned", "asked", "started", "waiting", "ready", "done"] = "planned"
    intent: ToolCallStarted | None = None
    started_at: datetime | None = None
    cut_off: bool = False
    narrowed: bool = False
    allowed: bool = False
    edited: bool = False
    waits_for: Literal["", "user", "children", "parent"] = ""
    kind: TeamCall | None = None
    children: tuple[str, ...] = ()
    stop_on_error: bool = False
    input: CallInput | None = None


@dataclass(frozen=True, slots=True)
class TaskMark:
    """What the run must know of a task it made."""

    id: str
    name: str
    status: str


@dataclass(frozen=True, slots=True)
class Ending:
    """The run is to end this way."""

    status: RunStatus
    summary: str = ""
    result: str = ""
    misfit: str = ""


@dataclass(frozen=True)
class RunState:
    """Everything a run is.

    Attributes:
        history: the conversation of the runs before this one, given when folding starts.
        entries: this run's own conversation.
        calls: the tool calls of the newest reply.
        queued: messages that wait for the current turn to end; ``silent`` ones wait for the next request and trigger none.
        needs_model: something was said that the model has not answered yet.
        form_asked: the model was asked once to put its answer into the form of the agent's answers; ``form_only``: that reply is next,
            and gets no tools.
        final_only: the next reply is the last one and gets no tools (the owner chose to finish at a limit).
        iterations: model replies since the last user message.
        elapsed_ms: working time; waiting for a person does not count.
        recent: digests of the newest calls, for the loop guard; ``loop_warned`` those already warned about.
        searched: of these tools the newest request had only those that ``search_tools`` found; None when all were listed.
        window: tokens of the model's window as the server told it, None when it did not have to.
        overflows: requests the server refused as too long since the last reply.
        steps: steps that may still be taken in stepping mode, None for any number.
        ended: what ended, while the run is held because it was interrupted.
        failed: the model could not be reached; a resume tries again.
        handed_down: texts attached to its parent's messages.
        lineage: the runs above this one, the root first.
        skills_withdrawn: the folders of skills that may be used no more, also by a call that began before.
        approvals: which calls need a person's yes; ``requests`` wait for it, ``granted`` are rules that came with a yes.
        tainted: what it read from outside, itself or through what it goes on with: the first few, each once.
        sources: the pages of the web that a sub-agent's calls read or found, for its report.
        children: the sub-agents of this run; ``plans`` are those of them that have not started.
        asked_parent: what this run asked its parent and has no answer to yet.
        handed: what a sub-agent handed over with ``output``, told to its parent with its report.
        tool_state: by tool, what its newest call left for those after it.
        retries: failed model requests in a row that were tried again; ``retried_since`` is the number of the last event before them.
        tools_refused: the server takes no tool definitions; calls are written as text.
        servers_lacking: what is new of its servers was said.
        pictures_refused: the model takes no pictures; words stand in their place.
        left_out: entries whose pictures the newest request goes without, to see whether the server then accepts it.
        finish: how the newest reply ended.
        reminded: the model was told once of sub-agents that wait for its answer.
    """

    run_id: str
    workflow_id: str
    agent: AgentConfig
    agent_id: str = ""
    mode: RunMode = RunMode.AUTO
    language: str = "en"
    previous_run_id: str | None = None
    parent_run_id: str | None = None
    correlation_id: str = ""
    depth: int = 0
    parent_call_id: str = ""
    title: str = ""
    workspace: tuple[str, ...] = ()
    trusted: tuple[str, ...] = ()
    instructions: tuple[FolderInstructions, ...] = ()
    skills: tuple[SkillFacts, ...] = ()
    skills_withdrawn: frozenset[str] = frozenset()
    handed_down: tuple[Attachment, ...] = ()
    lineage: tuple[Ancestor, ...] = ()
    max_depth: int = 3
    approvals: ApprovalPolicy = DEFAULT_POLICY
    started_at: datetime | None = None
    last_seq: int = 0
    last_time: datetime | None = None
    status: RunStatus = RunStatus.PROCESSING
    history: tuple[ContextEntry, ...] = ()
    entries: tuple[ContextEntry, ...] = ()
    calls: tuple[CallState, ...] = ()
    queued: tuple[UserMessage, ...] = ()
    silent: tuple[UserMessage, ...] = ()
    questions: tuple[UserQuestion, ...] = ()
    requests: tuple[ApprovalRequest, ...] = ()
    granted: tuple[PermissionRule, ...] = ()
    tainted: tuple[str, ...] = ()
    sources: tuple[SourcePart, ...] = ()
    children: tuple[ChildState, ...] = ()
    plans: tuple[ChildPlan, ...] = ()
    asked_parent: str = ""
    handed: tuple[OutputShown, ...] = ()
    retries: int = 0
    retried_since: int = 0
    tools_refused: bool = False
    servers_lacking: bool = False
    pictures_refused: bool = False
    left_out: tuple[int, ...] = ()
    finish: FinishReason = FinishReason.STOP
    reminded: bool = False
    tasks: tuple[TaskMark, ...] = ()
    tool_state: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    needs_model: bool = False
    final_only: bool = False
    iterations: int = 0
    tool_calls: int = 0
    usage: Usage = NO_USAGE
    elapsed_ms: int = 0
    raised: tuple[tuple[LimitKind, float], ...] = ()
    recent: tuple[str, ...] = ()
    loop_warned: frozenset[str] = frozenset()
    loop_checked: int = 0
    asked_done: bool = False
    form_asked: bool = False
    form_only: bool = False
    dialect: str = ""
    searched: SearchScope | None = None
    window: int | None = None
    context_tokens: int = 0
    overflows: int = 0
    steps: int | None = None
    pause: PauseReason | None = None
    ended: Ended | None = None
    limit: LimitReached | None = None
    ending: Ending | None = None
    failed: bool = False
    message_id: str = ""
    summary: str = ""
    result: str = ""
    error: str = ""

    @property
    def conversation(self) -> tuple[ContextEntry, ...]:
        """History and own entries, oldest first."""
        return self.history + self.entries

    @property
    def attachments(self) -> dict[str, Attachment]:
        """The attached texts it may read, by their hash, the newest last: those handed down to it, then those of its own messages."""
        return {each.text_sha256: each for each in self.handed_down} | attachments_of(self.conversation)

    @property
    def has_more_to_read(self) -> bool:
        """Whether there are attached texts of which it was not given all."""
        return any(each.cut for each in self.attachments.values())

    @property
    def skills_used(self) -> tuple[SkillUse, ...]:
        """The skills whose instructions stand whole in the conversation, each once."""
        return tuple(dict.fromkeys(entry.skill for entry in self.conversation if entry.skill is not None and not entry.cut))

    @property
    def open_calls(self) -> tuple[CallState, ...]:
        return tuple(call for call in self.calls if call.status != "done")

    @property
    def open_tasks(self) -> tuple[TaskMark, ...]:
        """The tasks it made that nobody works on any more once it ends."""
        return tuple(mark for mark in self.tasks if mark.status in (TaskStatus.PENDING, TaskStatus.IN_PROGRESS))

    @property
    def spent(self) -> BudgetUse:
        """What counts against the caps: its own use, that of the sub-agents that are over, and what is set aside for those at work."""
        total = self.total
        aside = [child.share for child in self.children if child.started_at is not None and not child.status.over]
        usage = total.usage
        return BudgetUse(
            iterations=self.iterations,
            tool_calls=total.tool_calls + sum(share.max_tool_calls or 0 for share in aside),
            tokens=usage.tokens_input + usage.tokens_output + sum(share.max_tokens or 0 for share in aside),
            cost=usage.cost + sum(share.max_cost or 0 for share in aside),
            seconds=total.seconds + sum(share.max_seconds or 0 for share in aside),
        )

    @property
    def total(self) -> Spending:
        """What the run and the sub-agents of it that are over have used."""
        total = Spending(usage=self.usage, tool_calls=self.tool_calls, seconds=self.elapsed_ms / 1000)
        for child in self.children:
            if child.status.over:
                total += child.spent
        return total

    @property
    def root_run_id(self) -> str:
        return self.lineage[0].run_id if self.lineage else self.run_id

    def child(self, child_id: str) -> ChildState | None:
        """The sub-agent of this run with this id."""
        return next((child for child in self.children if child.id == child_id), None)

    @property
    def working_children(self) -> tuple[ChildState, ...]:
        """Sub-agents that have begun and are not over."""
        return tuple(child for child in self.children if child.started_at is not None and not child.status.over)

    @property
    def raised_limits(self) -> dict[LimitKind, float]:
        return dict(self.raised)

    def call(self, call_id: str) -> CallState | None:
        """The call with this id in the newest reply."""
        return next((call for call in self.calls if call.call.id == call_id), None)


def attachments_of(entries: Iterable[ContextEntry]) -> dict[str, Attachment]:
    """What went with the messages of a conversation by its text's hash, the newest last; also with those a summary stands for."""
    found: dict[str, Attachment] = {}
    for entry in entries:
        found |= {each.text_sha256: each for each in entry.earlier}
        found |= {each.text_sha256: each for each in entry.attachments if not each.picture}
    return found


def complete(entries: Iterable[ContextEntry]) -> bool:
    """Whether every summary, those in summaries too, still has what it stands for, so that it can be undone."""
    return all(bool(entry.order) and complete(entry.replaced) for entry in entries if entry.kind is EntryKind.SUMMARY)


def without_replaced(entries: Iterable[ContextEntry]) -> tuple[ContextEntry, ...]:
    """A conversation as it is sent: without what its summaries stand for."""
    return tuple(replace(entry, replaced=(), order=()) if entry.kind is EntryKind.SUMMARY else entry for entry in entries)


def user_entry(seq: int, message: UserMessage, origin: str = "") -> ContextEntry:
    """A message as the conversation has it."""
    text = with_files(message.content, message.files, message.attachments)
    if message.invoked is not None:
        text = f"{text}\n\n{_called(message.invoked)}"
    pictures = (ImagePart(media_type=each.media_type, sha256=each.sha256, name=each.name) for each in message.attachments if each.picture)
    return ContextEntry(
        seq=seq,
        kind=EntryKind.USER,
        text=text,
        images=(*message.images, *pictures),
        attachments=message.attachments,
        skill=message.invoked.use if message.invoked is not None and message.invoked.kind == "skill" else None,
        retention=Retention.CRITICAL,
        origin=origin,
        message_id=message.message_id,
    )


def with_files(content: str, files: tuple[TextFile, ...], attachments: tuple[Attachment, ...] = ()) -> str:
    """A message as the model reads it: its text, then each attached file in a frame with its name."""
    texts = [framed("attached_file", file.text, name=file.name) for file in files]
    return "\n\n".join(part for part in (content, *texts, *(_attached(each) for each in attachments if not each.picture)) if part)


def _attached(each: Attachment) -> str:
    """An attachment in its frame, which says what it is and, of an excerpt, how the rest can be read."""
    facts = {"name": each.name, "path": each.path}
    if each.cut:
        facts["characters"] = f"1-{len(each.text)} of {each.characters}"
        facts["rest"] = f"{ReadAttachmentTool.name}, offset {len(each.text)}"
    word = "attached_folder" if each.source == "folder" else "attached_file" if each.source in FILES else f"mentioned_{each.source}"
    return framed(word, each.text, **facts)


def framed(word: str, content: str, **facts: str) -> str:
    """A text between two tags of a word it does not have, so that nothing in it can end the frame; facts that say nothing are left out."""
    text, plain, number = content.casefold(), word, 1
    while word in text:
        number += 1
        word = f"{plain}_{number}"
    said = "".join(f' {name}="{quoted(fact)}"' for name, fact in facts.items() if fact)
    return f"<{word}{said}>\n{content.rstrip()}\n</{word}>"


def without_skills(entries: Iterable[ContextEntry], folders: Collection[str]) -> tuple[ContextEntry, ...]:
    """Entries without the instructions of the skills in these folders: words stand in their place, in what summaries stand for, too."""
    return tuple(_without_skill(entry, folders) for entry in entries)


def _without_skill(entry: ContextEntry, folders: Collection[str]) -> ContextEntry:
    if entry.replaced:
        return replace(entry, replaced=without_skills(entry.replaced, folders))
    if entry.skill is None or entry.skill.folder not in folders:
        return entry
    gone = f"The instructions of the skill {entry.skill.name} were taken out: it may not be used here any more. Do not follow them."
    if entry.kind is EntryKind.RESULT:
        text = json.dumps({"success": False, "error": gone}, ensure_ascii=False)
        return replace(entry, text=text, full="", cut=False, cut_by="", skill=None)
    own = (entry.full or entry.text).partition(f"\n\n{_CALLED.format(kind='skill', name=entry.skill.name)}")[0]
    return replace(entry, text=f"{own}\n\n[{gone}]", full="", cut=False, cut_by="", skill=None)


def used_folders(entries: Iterable[ContextEntry], messages: Iterable[UserMessage] = ()) -> tuple[str, ...]:
    """The folders of skills whose instructions stand in the entries, or in what they stand for, or go with the messages, each once."""
    found = [each.invoked.use.folder for each in messages if each.invoked is not None]
    for entry in entries:
        found += [entry.skill.folder] if entry.skill is not None else used_folders(entry.replaced)
    return tuple(dict.fromkeys(filter(None, found)))


def uncalled(message: UserMessage, folders: Collection[str]) -> UserMessage:
    """A message without the instructions of a skill that it calls in one of these folders."""
    calls = message.invoked is not None and message.invoked.use.folder in folders
    return message.model_copy(update={"invoked": None}) if calls else message


_CALLED = "[The user called the {kind} {name} with this message."


def _called(invoked: Invocation) -> str:
    """What a person called, as the model reads it. Nothing in it was run before: it says what is to be done, not what may be."""
    note = f"{_CALLED.format(kind=invoked.kind, name=invoked.use.name)} Its instructions, arguments filled in:]"
    return f"{note}\n{framed('called', invoked.text, name=invoked.use.name, folder=invoked.use.folder)}"


def quoted(name: str) -> str:
    """A file's name without what would end its frame."""
    return name.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")


def carried(state: RunState) -> tuple[ContextEntry, ...]:
    """The conversation a following run inherits: the same entries, numbered backwards from -1, engine notes left out.

    Notes nobody read before the run ended are part of it: they are in the transcript, so the model must know them. What still waits its
    turn is not: it goes on waiting, and is shown so.
    """
    return renumbered(inherited(state))


def inherited(state: RunState) -> tuple[ContextEntry, ...]:
    """The entries of ``carried``, with the numbers they had."""
    kept = [entry for entry in state.conversation if entry.kind is not EntryKind.NOTE]
    kept += [user_entry(0, message, f"{state.run_id}:{message.message_id}") for message in state.silent]
    return tuple(kept)


def model_key(agent: AgentConfig) -> str:
    """The name by which entries know models that refused their pictures."""
    return f"{agent.provider}/{agent.model}"


def renumbered(entries: Sequence[ContextEntry]) -> tuple[ContextEntry, ...]:
    """Entries as a run's history: numbered backwards from -1, reasoning left out."""
    size = len(entries)
    return tuple(replace(entry, seq=index - size, reasoning="") for index, entry in enumerate(entries))
