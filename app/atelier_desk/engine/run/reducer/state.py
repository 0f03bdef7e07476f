"""The state of a run, the result of folding its events. Immutable, no clock, no I/O."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
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
    ToolCallStarted,
    UserMessage,
)
from atelier_desk.domain.folder_instructions import FolderInstructions
from atelier_desk.domain.model_messages import FinishReason, ImagePart, TextFile, ToolCall, Usage
from atelier_desk.domain.permission import PermissionRule
from atelier_desk.domain.question import Sampling, UserQuestion
from atelier_desk.domain.result_parts import SourcePart
from atelier_desk.domain.skill import Invocation, SkillFacts, SkillUse
from atelier_desk.domain.sub_agent import ChildPlan, ChildState, Spending, TeamCall
from atelier_desk.domain.task import TaskStatus
from atelier_desk.domain.workflow import RunMode, RunStatus
from atelier_desk.engine.run.reducer.conversation_entries import (
    NO_HISTORY,
    ContextEntry,
    EntryKind,
    History,
    attachments_of,
    without_reasoning,
)
from atelier_desk.policy.budget import BudgetUse
from atelier_desk.tools.control.read_attachment import ReadAttachmentTool

NO_USAGE = Usage()
DEFAULT_POLICY = ApprovalPolicy()


@dataclass(frozen=True, slots=True)
class CallInput:
    """What a call's server requests before it answers.

    Attributes:
        state: opaque server state, sent back unchanged.
        answers: by the server's key, as sent.
        open: keys without an answer yet; ``samplings``: approved model requests not made yet.
        refused: why the call cannot be repeated.
        note: told to the model with the result.
    """

    server: str
    state: str | None
    round: int
    answers: Mapping[str, Mapping[str, object]]
    open: tuple[str, ...]
    samplings: Mapping[str, Sampling] = field(default_factory=dict)
    refused: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class CallState:
    """A tool call of the newest reply.

    Attributes:
        status: planned; asked (needs approval); started (its intent is committed); waiting (for the user, sub-agents or
            the parent); ready (to be repeated with the answers for its server); done.
        input: what its server requested.
        narrowed: the run's rights were reduced since it was judged.
        cut_off: it was started by a stretch of work that ended before its result.
        allowed: a person approved this call.
        edited: arguments that a person substituted.
        waits_for: what a waiting call waits for.
        kind, children, stop_on_error: for a call that waits for sub-agents, its kind and the awaited ones.
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
    """What a run must know of a task it created."""

    id: str
    name: str
    status: str


@dataclass(frozen=True, slots=True)
class Ending:
    """The way in which the run is to end."""

    status: RunStatus
    summary: str = ""
    result: str = ""
    misfit: str = ""


@dataclass(frozen=True)
class RunState:
    """Complete state of a run.

    Attributes:
        history: the conversation of preceding runs, given when folding starts.
        numbered: how this run's events name the entries of the history; None: backwards from -1.
        restored: an undone summary brought entries back into the history.
        entries: this run's own conversation.
        cut_off_reply: the received text of a reply that was cut off, at most one. It enters the conversation with the
            next message or the run's end; the same request may be made again until then.
        calls: tool calls of the newest reply.
        queued: messages that wait for the current turn to end; ``silent`` ones wait for the next request and trigger
            none.
        needs_model: there is something the model has not answered yet.
        form_asked: the model was asked once to correct its answer to match the schema; ``form_only``: that reply is
            next, without tools.
        final_only: the next reply is the last, without tools (the user chose to finish at a limit).
        iterations: model replies since the last user message.
        elapsed_ms: working time, without waiting for people.
        recent: digests of the newest calls, for the loop guard; ``loop_warned``: those already warned about.
        searched: of these tools the newest request contained only those found by ``search_tools``; None if all were
            listed.
        window: the model's context in tokens as reported by a refusal, otherwise None.
        overflows: requests refused as too long since the last reply.
        steps: steps still allowed in stepping mode, None for any number.
        ended: what ended, while the run is interrupted.
        failed: the model was unreachable; resuming retries.
        handed_down: texts attached to its parent's messages.
        lineage: the runs above this one, root first.
        skills_withdrawn: folders of skills that may no longer be used, even by calls begun before.
        approvals: approval policy; ``requests`` are pending, ``granted`` are rules that came with approvals.
        tainted: outside sources read by itself or inherited: the first few distinct ones.
        sources: web pages read or found by a sub-agent's calls, for its report.
        children: the sub-agents of this run; ``plans``: those not started.
        asked_parent: this run's pending question to its parent.
        handed: what a sub-agent passed on with ``output``, delivered with its report.
        tool_state: by tool, the state left by its newest call.
        retries: consecutive failed model requests that were retried; ``retried_since``: number of the last event before
            them.
        tools_refused: the server accepts no tool definitions; calls are written as text.
        servers_lacking: new problems of its servers were reported.
        pictures_refused: the model accepts no images; text replaces them.
        left_out: entries whose images the newest request omits, to see whether the server then accepts it.
        finish: how the newest reply ended.
        reminded: the model was told once about sub-agents waiting for its answer.
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
    history: History = NO_HISTORY
    numbered: tuple[int, ...] | None = None
    restored: bool = False
    entries: tuple[ContextEntry, ...] = ()
    cut_off_reply: tuple[ContextEntry, ...] = ()
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
    def conversation(self) -> History:
        """History and own entries, oldest first."""
        return self.history.followed_by(self.entries)

    @property
    def with_more(self) -> list[ContextEntry]:
        """The entries of the conversation that are more than a text."""
        return self.history.with_more + History(self.entries).with_more

    @property
    def numbers(self) -> tuple[int, ...]:
        """How this run's events name the entries of ``conversation``.

        It is no part of the entries, so that those of earlier runs stay the same objects from turn to turn.
        """
        history = range(-len(self.history), 0) if self.numbered is None else self.numbered
        return (*history, *(entry.seq for entry in self.entries))

    @property
    def attachments(self) -> dict[str, Attachment]:
        """Return the attached texts it may read, by hash, newest last: those handed down to it, then its own."""
        return {each.text_sha256: each for each in self.handed_down} | attachments_of(self.with_more)

    @property
    def has_more_to_read(self) -> bool:
        """Whether it was given only excerpts of some attached texts."""
        return any(each.cut for each in self.attachments.values())

    @property
    def skills_used(self) -> tuple[SkillUse, ...]:
        """Return the distinct skills whose complete instructions are in the conversation."""
        found = (entry.skill for entry in self.with_more if entry.skill is not None and not entry.cut)
        return tuple(dict.fromkeys(found))

    @property
    def open_calls(self) -> tuple[CallState, ...]:
        return tuple(call for call in self.calls if call.status != "done")

    @property
    def open_tasks(self) -> tuple[TaskMark, ...]:
        """Return the tasks it created that nobody works on after its end."""
        return tuple(mark for mark in self.tasks if mark.status in (TaskStatus.PENDING, TaskStatus.IN_PROGRESS))

    @property
    def spent(self) -> BudgetUse:
        """Return usage counted against the limits.

        Its own, that of ended sub-agents, and reservations for running ones.
        """
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
        """Return the usage of the run and its ended sub-agents."""
        total = Spending(usage=self.usage, tool_calls=self.tool_calls, seconds=self.elapsed_ms / 1000)
        for child in self.children:
            if child.status.over:
                total += child.spent
        return total

    @property
    def root_run_id(self) -> str:
        return self.lineage[0].run_id if self.lineage else self.run_id

    def child(self, child_id: str) -> ChildState | None:
        """Return the sub-agent of this run with this id."""
        return next((child for child in self.children if child.id == child_id), None)

    @property
    def working_children(self) -> tuple[ChildState, ...]:
        """Return the running sub-agents."""
        return tuple(child for child in self.children if child.started_at is not None and not child.status.over)

    @property
    def raised_limits(self) -> dict[LimitKind, float]:
        return dict(self.raised)

    def call(self, call_id: str) -> CallState | None:
        """Return the call with this id in the newest reply."""
        return next((call for call in self.calls if call.call.id == call_id), None)


def user_entry(seq: int, message: UserMessage, origin: str) -> ContextEntry:
    """Return a message as a conversation entry."""
    text = with_files(message.content, message.files, message.attachments)
    if message.invoked is not None:
        text = f"{text}\n\n{_called(message.invoked)}"
    pictures = (
        ImagePart(media_type=each.media_type, sha256=each.sha256, name=each.name)
        for each in message.attachments
        if each.picture
    )
    return ContextEntry(
        seq=seq,
        kind=EntryKind.USER,
        text=text,
        images=(*message.images, *pictures),
        attachments=message.attachments,
        skill=message.invoked.use if message.invoked is not None and message.invoked.kind == "skill" else None,
        origin=origin,
        message_id=message.message_id,
    )


def with_files(content: str, files: tuple[TextFile, ...], attachments: tuple[Attachment, ...] = ()) -> str:
    """Return a message for the model: its text, then each attached file in a frame with its name."""
    texts = [framed("attached_file", file.text, name=file.name) for file in files]
    return "\n\n".join(
        part for part in (content, *texts, *(_attached(each) for each in attachments if not each.picture)) if part
    )


def _attached(each: Attachment) -> str:
    """Return a framed attachment, which says what it is and how the rest of an excerpt can be read."""
    facts = {"name": each.name, "path": each.path}
    if each.cut:
        facts["characters"] = f"1-{len(each.text)} of {each.characters}"
        facts["rest"] = f"{ReadAttachmentTool.name}, offset {len(each.text)}"
    word = (
        "attached_folder"
        if each.source == "folder"
        else "attached_file"
        if each.source in FILES
        else f"mentioned_{each.source}"
    )
    return framed(word, each.text, **facts)


def framed(word: str, content: str, **facts: str) -> str:
    """Enclose a text in tags that it cannot close itself; empty facts are omitted."""
    text, plain, number = content.casefold(), word, 1
    while word in text:
        number += 1
        word = f"{plain}_{number}"
    attributes = "".join(f' {name}="{quoted(fact)}"' for name, fact in facts.items() if fact)
    return f"<{word}{attributes}>\n{content.rstrip()}\n</{word}>"


def without_skills(entries: Iterable[ContextEntry], folders: Collection[str]) -> tuple[ContextEntry, ...]:
    """Return entries with the instructions of skills in these folders replaced by a note, including in summarised
    entries.
    """
    return tuple(_without_skill(entry, folders) for entry in entries)


def _without_skill(entry: ContextEntry, folders: Collection[str]) -> ContextEntry:
    if entry.replaced:
        return replace(entry, replaced=without_skills(entry.replaced, folders))
    if entry.skill is None or entry.skill.folder not in folders:
        return entry
    gone = (
        f"The instructions of the skill {entry.skill.name} were taken out: it may not be used here any more. Do not "
        f"follow them."
    )
    if entry.kind is EntryKind.RESULT:
        text = json.dumps({"success": False, "error": gone}, ensure_ascii=False)
        return replace(entry, text=text, full="", cut=False, cut_by="", skill=None)
    own = (entry.full or entry.text).partition(f"\n\n{_CALLED.format(kind='skill', name=entry.skill.name)}")[0]
    return replace(entry, text=f"{own}\n\n[{gone}]", full="", cut=False, cut_by="", skill=None)


def used_folders(entries: Iterable[ContextEntry], messages: Iterable[UserMessage] = ()) -> tuple[str, ...]:
    """Return the distinct folders of skills whose instructions are in the entries, in summarised ones, or in the
    messages.
    """
    found = [each.invoked.use.folder for each in messages if each.invoked is not None]
    for entry in entries:
        if entry.skill is not None:
            found.append(entry.skill.folder)
        elif entry.replaced:
            found += used_folders(entry.replaced)
    return tuple(dict.fromkeys(filter(None, found)))


def without_called_skill(message: UserMessage, folders: Collection[str]) -> UserMessage:
    """Return a message without the instructions of called skills in these folders."""
    calls = message.invoked is not None and message.invoked.use.folder in folders
    return message.model_copy(update={"invoked": None}) if calls else message


_CALLED = "[The user called the {kind} {name} with this message."


def _called(invoked: Invocation) -> str:
    """Return what a person called, for the model.

    Nothing in it was executed: it says what to do, not what is permitted.
    """
    note = f"{_CALLED.format(kind=invoked.kind, name=invoked.use.name)} Its instructions, arguments filled in:]"
    return f"{note}\n{framed('called', invoked.text, name=invoked.use.name, folder=invoked.use.folder)}"


def quoted(name: str) -> str:
    """Return a file's name without characters that would end its frame."""
    return name.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")


def inherited_context(state: RunState) -> History:
    """Return the conversation inherited by a following run: without engine notes and reasoning.

    Unread notes are included, because they are in the transcript. Queued messages are not: they stay queued.
    """
    # The history is as it was inherited, unless an undone summary brought back more: a long one is not looked through.
    history, own = (History(), state.conversation) if state.restored else (state.history, state.entries)
    kept = (entry for entry in without_reasoning(own) if entry.kind is not EntryKind.NOTE)
    silent = (user_entry(0, message, f"{state.run_id}:{message.message_id}") for message in state.silent)
    return history.followed_by((*kept, *state.cut_off_reply, *silent))


def model_key(agent: AgentConfig) -> str:
    """Return the name under which entries record models that refused their images."""
    return f"{agent.provider}/{agent.model}"
