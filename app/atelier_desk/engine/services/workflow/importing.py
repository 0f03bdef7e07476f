"""Import an exported workflow: as itself, in place of the existing one, or as a copy with new ids."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace as with_fields
from graphlib import CycleError, TopologicalSorter
from typing import Any

from pydantic import ValidationError

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.approval import (
    Ancestor,
    ApprovalPolicy,
    ApprovalRequest,
    ApprovalScope,
)
from atelier_desk.domain.attachment import Attachment
from atelier_desk.domain.base_model import new_id
from atelier_desk.domain.errors import AtelierError, StorageError, UsageError
from atelier_desk.domain.events.run import (
    ApprovalDecided,
    ChildrenPlanned,
    ChildStarted,
    EventBody,
    ModelReplied,
    QuestionAsked,
    QueueChanged,
    RunEvent,
    RunStarted,
    TaskChanged,
    ToolCallFinished,
    UserMessage,
)
from atelier_desk.domain.imported_chat import ChatPreview
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.permission import RuleScope, snapshot
from atelier_desk.domain.question import UserQuestion
from atelier_desk.domain.settings import Settings
from atelier_desk.domain.skill import Invocation, SkillUse
from atelier_desk.domain.system_prompt_and_tools import PromptFrame
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import Message, MessageRole, Report, Run, ToolExecution
from atelier_desk.engine.costs.usage_totals import usage_of
from atelier_desk.engine.importing.imported_data_restrictions import asking_choices, asking_mode
from atelier_desk.engine.journal.id_remap import made_by, renamed
from atelier_desk.engine.services.common import input_checks
from atelier_desk.engine.services.common.service import Service
from atelier_desk.engine.services.workflow import imported_runs
from atelier_desk.engine.services.workflow.exporting import artefacts_of
from atelier_desk.engine.services.workflow.workflow_file import WorkflowFile
from atelier_desk.policy.permissions import taint_sources
from atelier_desk.presentation.validation_problems import Problems
from atelier_desk.storage.data_folder.atomic_files import sha256
from atelier_desk.storage.repositories import workflow_import
from atelier_desk.storage.repositories.workflow_import import WorkflowRows
from atelier_desk.storage.search.request_usage_tables import MOST
from atelier_desk.storage.writing.journal_commit import Commit
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.threads import in_storage_thread

log = logging.getLogger(__name__)

_SHA256 = re.compile(r"[0-9a-f]{64}")
_SEQ_MOST = 2**53
"""Maximum number from which counting can always continue."""


def with_new_ids(file: WorkflowFile) -> WorkflowFile:
    """Return a copy with new ids of workflow, runs, events, messages, tasks, questions, approvals, memories and
    reports.

    They are replaced everywhere, including in tool results. Planned sub-agents without a run count as runs.
    """
    fresh = {each: new_id() for ids in identities(file).values() for each in ids}
    commits: dict[str, str] = {}
    for event in file.events:
        # Events committed together stay together, so that a fork of the copy does not separate them.
        fresh[event.id] = commits.setdefault(event.commit, fresh[event.id])[:-4] + event.id[-4:]
    copy = WorkflowFile.model_validate_json(
        json.dumps(renamed(file.model_dump(mode="json", exclude={"artefacts"}), fresh))
    )
    return copy.model_copy(update={"artefacts": file.artefacts})


def identities(file: WorkflowFile) -> dict[str, list[str]]:
    """Return, by table, the ids of every row of the file, and of those its events introduce: resuming a run creates
    rows from events.

    Calls are excluded: their ids are derived from their run's.
    """
    found: dict[str, list[str]] = {
        "workflow": [file.workflow.id],
        "run": [run.id for run in file.runs],
        "run_event": [event.id for event in file.events],
        "message": [message.id for message in file.messages],
        "task": [task.id for task in file.tasks],
        "user_question": [asked.id for asked in file.questions],
        "approval_request": [asked.id for asked in file.approvals],
        "prompt_frame": [frame.id for frame in file.frames],
        "memory": [memory.id for memory in file.memories],
        "report": [each.report.id for each in file.reports],
    }
    for table, ids in found.items():
        if len(set(ids)) < len(ids):
            raise _damaged(f"it has two rows of the same identifier in {table}")
    for event in file.events:
        table, made = made_by(event.body)
        if made:
            found[table] += made
    return found


def check(file: WorkflowFile) -> None:
    """Refuse inconsistent files.

    Rows of another workflow, unknown runs, gaps in a journal, and ids that Atelier never creates.
    """
    for ids in identities(file).values():
        for each in ids:
            input_checks.identifier(each, _("workflow file"))
    _check_artefacts(file)
    _check_order(file)
    workflow_id = file.workflow.id
    runs = {run.id for run in file.runs}
    for call in file.executions:
        if call.id != f"{call.run_id}:{call.call_id}":
            raise _damaged(f"the call {call.call_id} has the identifier {call.id}")
    rows: list[
        Run | RunEvent | Message | ToolExecution | Task | UserQuestion | ApprovalRequest | PromptFrame | Report
    ] = [
        *file.runs, *file.events, *file.messages, *file.executions, *file.tasks, *file.questions, *file.approvals,
        *file.frames
    ]  # fmt: skip
    rows += [each.report for each in file.reports]
    # Displaying another version of a turn creates rows from these.
    rows += [event.body.task for event in file.events if isinstance(event.body, TaskChanged)]
    rows += [event.body.question for event in file.events if isinstance(event.body, QuestionAsked)]
    if file.workflow.head_run_id not in runs | {None}:
        raise _damaged(f"it shows the unknown run {file.workflow.head_run_id}")
    for row in rows:
        if row.workflow_id != workflow_id:
            raise _damaged(f"{type(row).__name__} {row.id} belongs to another workflow")
        named = _runs_of(row) - runs - {"", None}
        if named:
            raise _damaged(f"{type(row).__name__} {row.id} names the unknown run {sorted(named)[0]}")
    if not 0 <= file.workflow.stream_seq <= _SEQ_MOST:
        raise _damaged(f"its stream has the number {file.workflow.stream_seq}")
    numbers: dict[str, int] = {}
    for event in file.events:
        _check_usage(event)
        if not 1 <= event.stream_from <= file.workflow.stream_seq + 1:
            raise _damaged(f"event {event.seq} of run {event.run_id} is at the impossible place {event.stream_from}")
        if not event.run_id:
            continue
        expected = numbers.get(event.run_id, 0) + 1
        if event.seq != expected:
            raise _damaged(f"run {event.run_id} has event {event.seq} where {expected} is expected")
        numbers[event.run_id] = event.seq
    for run in file.runs:
        if numbers.get(run.id, 0) != run.last_seq:
            raise _damaged(f"run {run.id} has {numbers.get(run.id, 0)} events where {run.last_seq} are expected")


def _check_usage(event: RunEvent) -> None:
    """Check that sums of usage stay numbers that can be stored."""
    usage = getattr(event.body, "usage", None)
    figures = [*usage.model_dump().values(), getattr(event.body, "duration_ms", 0)] if isinstance(usage, Usage) else []
    if not all(-MOST <= each <= MOST for each in figures):
        raise _damaged(f"event {event.seq} of run {event.run_id} has an impossible usage")


def _check_order(file: WorkflowFile) -> None:
    """Check that the chains of previous and parent runs end, and that rows and journals name the same parents."""
    links = [(run.id, run.previous_run_id, run.parent_run_id) for run in file.runs]
    started = [(event.run_id, event.body) for event in file.events if isinstance(event.body, RunStarted)]
    links += [(run_id, body.previous_run_id, body.parent_run_id) for run_id, body in started]
    order: TopologicalSorter[str] = TopologicalSorter()
    for run_id, previous, parent in links:
        order.add(run_id, *(each for each in (previous, parent) if each))
    try:
        order.prepare()
    except CycleError as error:
        raise _damaged(f"run {error.args[1][0]} follows itself") from None
    rows = {run.id: run for run in file.runs}
    for run_id, body in started:
        row = rows.get(run_id)
        if row is None or body.parent_run_id != row.parent_run_id:
            raise _damaged(f"run {run_id} names another parent in its journal")
        # It could name a run of another workflow, whose conversation would be continued.
        if body.previous_run_id != row.previous_run_id:
            raise _damaged(f"run {run_id} names another previous run in its journal")
        if (body.correlation_id or run_id) != (row.correlation_id or run_id):
            raise _damaged(f"run {run_id} names another team in its journal")
    _check_sub_agents(file, rows)


def _check_sub_agents(file: WorkflowFile, rows: Mapping[str, Run]) -> None:
    """Check that each run's sub-agents are those of its journal: a run is stopped and deleted with those below it."""
    for event in file.events:
        body = event.body
        begun = (body.child_id,) if isinstance(body, ChildStarted) else ()
        planned = tuple(plan.id for plan in body.children) if isinstance(body, ChildrenPlanned) else ()
        for each in (*begun, *planned):
            row = rows.get(each)
            if row.parent_run_id != event.run_id if row is not None else each in begun:
                raise _damaged(f"run {event.run_id} names the sub-agent {each}, which is not one of its own")


def _check_artefacts(file: WorkflowFile) -> None:
    """Check that each file is named by a call or message, matches it, and occurs once.

    Its bytes are stored under their hash.
    """
    named = {part.sha256: part.size for part in artefacts_of(file.events)}
    if (odd := next((digest for digest in named if _SHA256.fullmatch(digest) is None), None)) is not None:
        raise _damaged(f"a file has the hash {odd[:80]!r}, which is no SHA-256")
    for each in file.artefacts:
        size = named.pop(each.sha256, None)
        if size is None:
            raise _damaged(f"nothing names the file {each.sha256}, or it is there twice")
        if (len(each.data), sha256(each.data)) != (size, each.sha256):
            raise _damaged(f"the file {each.sha256} is not the one that was made")


def _without_grants(file: WorkflowFile, settings: Settings) -> WorkflowFile:
    """Return the file without permissions granted elsewhere.

    No file grants a folder of this machine, lets an agent work unasked or start more sub-agents than the settings
    allow; a person does. Calls approved there that have not begun are asked about again (``imported_runs.held``).
    """
    lineages, frames = _lineages(file), {each.id for each in file.frames}
    # Its messages and memories are outside content. A name that looks like a file path could count as being in a
    # trusted folder.
    name = f"“{file.workflow.name}”" if taint_sources.is_path(file.workflow.name) else file.workflow.name
    tainted = taint_sources.merged((_("{name} (imported)", name=name),))
    events = tuple(
        event.model_copy(
            update={
                "body": _marked(
                    _body_without_grants(event.body, settings, tainted, lineages.get(event.run_id, ())), frames
                )
            }
        )
        for event in file.events
    )
    runs = tuple(run.model_copy(update={"tainted": taint_sources.merged(tainted, run.tainted)}) for run in file.runs)
    memories = tuple(
        each.model_copy(update={"tainted": taint_sources.merged(tainted, each.tainted)}) for each in file.memories
    )
    workflow, choices = file.workflow, asking_choices(file.workflow.choices)
    # Also without runs, or if they are deleted: tasks and reports are read, too.
    changed = {
        "workspace": (),
        "choices": choices,
        "draft_attachments": (),
        "tainted": taint_sources.merged(tainted, workflow.tainted),
    }
    workflow = workflow.model_copy(update=changed)
    return file.model_copy(update={"workflow": workflow, "events": events, "runs": runs, "memories": memories})


def _marked(body: EventBody, frames: Collection[str]) -> EventBody:
    """Return an event that says that what it used was not used here, and names no system message of another workflow,
    which would be shown and copied.
    """
    if isinstance(body, ModelReplied) and body.frame not in frames:
        body = body.model_copy(update={"frame": ""})
    usage = getattr(body, "usage", None)
    return body.model_copy(update={"imported": True}) if isinstance(usage, Usage) and usage.was_used else body


def _lineages(file: WorkflowFile) -> dict[str, tuple[Ancestor, ...]]:
    """Return the runs above each run, root first: they decide how deep it is, and whose team it belongs to."""
    names = {event.run_id: event.body.agent.name for event in file.events if isinstance(event.body, RunStarted)}
    parents = {run.id: run.parent_run_id for run in file.runs}
    found: dict[str, tuple[Ancestor, ...]] = {}
    for run_id in parents:
        above: list[Ancestor] = []
        each = parents[run_id]
        while each:
            above.insert(0, Ancestor(run_id=each, agent_name=names.get(each, "")))
            each = parents[each]
        found[run_id] = tuple(above)
    return found


def _body_without_grants(
    body: EventBody, settings: Settings, tainted: tuple[str, ...], lineage: tuple[Ancestor, ...]
) -> EventBody:
    without: dict[str, object]
    match body:
        case RunStarted():
            approvals = settings.approvals
            rules = tuple(rule.bare() for rule in approvals.rules if rule.scope is RuleScope.ALWAYS)
            mode = asking_mode(body.approvals.mode)
            policy = ApprovalPolicy(**{**approvals.__dict__, "rules": rules}, mode=mode, snapshot=snapshot(rules))
            without = {
                "workspace": (),
                "trusted": (),
                "instructions": (),
                "skills": (),
                "attachments": _without_paths(body.attachments),
                "lineage": lineage,
                "depth": len(lineage),
                "max_depth": min(body.max_depth, settings.max_depth),
                "tainted": taint_sources.merged(tainted, body.tainted),
            }
            return body.model_copy(update={**without, "agent": _asking(body.agent), "approvals": policy})
        case ApprovalDecided():
            return body.model_copy(update={"scope": ApprovalScope.ONCE, "rules": ()})
        case UserMessage():
            agent = _asking(body.agent) if body.agent is not None else None
            without = {
                "agent": agent,
                "invoked": _nowhere(body.invoked),
                "attachments": _without_paths(body.attachments),
            }
            return body.model_copy(update=without)
        case QueueChanged():
            return body.model_copy(update={"invoked": {name: _nowhere(each) for name, each in body.invoked.items()}})
        case ToolCallFinished(skill=SkillUse() as skill):
            return body.model_copy(update={"skill": skill.model_copy(update={"folder": ""})})
        case ChildrenPlanned():
            return body.model_copy(
                update={
                    "children": tuple(each.model_copy(update={"agent": _asking(each.agent)}) for each in body.children)
                }
            )
    return body


def _without_paths(attachments: tuple[Attachment, ...]) -> tuple[Attachment, ...]:
    """Return attachments without paths: each names a file of the other machine, and here perhaps another one."""
    return tuple(each.model_copy(update={"path": ""}) for each in attachments)


def _nowhere(invoked: Invocation | None) -> Invocation | None:
    """Return an invocation without its folder, so that no files of this machine are read for it."""
    return (
        invoked.model_copy(update={"use": invoked.use.model_copy(update={"folder": ""})})
        if invoked is not None
        else None
    )


def _asking(agent: AgentConfig) -> AgentConfig:
    """Return an agent that asks at least as often as a new one."""
    return agent.model_copy(update={"approval": asking_mode(agent.approval)})


def _runs_of(row: Any) -> set[Any]:
    """Return the runs by which a row is shown or found."""
    if isinstance(row, Run):
        return {row.previous_run_id, row.parent_run_id, row.correlation_id}
    if isinstance(row, ApprovalRequest):
        return {row.run_id, row.root_run_id}
    return set() if isinstance(row, Task | PromptFrame | Report) else {row.run_id}


def _damaged(problem: str) -> UsageError:
    return UsageError(N_("The workflow file is damaged: {problem}."), code="invalid", problem=problem)


def checked(text: str | bytes, settings: Settings) -> tuple[WorkflowFile, tuple[str, ...]]:
    """Return the checked file without its permissions, and its workspace; takes a second for 10 MB.

    The approvals of ``settings`` replace those of the exporter in its runs.

    Raises:
        UsageError: it is not a workflow file, or damaged.
    """
    file = parse(text)
    check(file)
    return _without_grants(file, settings), file.workflow.workspace


def described(text: str | bytes) -> ChatPreview:
    """Describe the checked file as what a first import would add; its ``key`` is the workflow's id."""
    file = parse(text)
    check(file)
    roots = {run.id for run in file.runs if not run.parent_run_id}
    said = (MessageRole.USER, MessageRole.ASSISTANT)
    messages = [each for each in file.messages if each.run_id in roots and each.role in said]
    times = [each.created_at for each in messages] or [file.workflow.created_at]
    return ChatPreview(
        key=file.workflow.id,
        source="",
        title=file.workflow.name,
        messages=len(messages),
        first=min(times),
        last=max(times),
        new_turns=max(1, len(roots)),
    )


def parse(text: str | bytes) -> WorkflowFile:
    """Parse the file; every problem is one clear error."""
    try:
        return WorkflowFile.model_validate_json(text)
    except ValidationError as error:
        if error.errors(include_url=False, include_input=False)[0]["type"] == "json_invalid":
            raise UsageError(
                N_("This is not a workflow file, or a part of it is missing. Export it again."), code="invalid"
            ) from None
        raise UsageError(
            N_("This is not a workflow file: {problems}"), code="invalid", problems=Problems(error)
        ) from None


class WorkflowWriter(Service):
    """Writes a checked file to the database, all or nothing."""

    async def write(self, file: WorkflowFile, *, replace: bool = False) -> None:
        """Store everything; with ``replace`` in place of the workflow with its id. Once started, it completes even if
        the caller is cancelled.

        Raises:
            ConflictError: ``taken``: a row of another workflow has one of its ids. Nothing was changed.
            StorageError: nothing was changed, unless the error says that this is unknown.
        """
        await asyncio.shield(self._write(file, replace))

    async def _write(self, file: WorkflowFile, replace: bool) -> None:
        rows = await in_storage_thread(_rows, file)
        # One with a time in the future would stay the newest, which ``run -c`` continues.
        now, whole = self._context.clock.now(), rows.workflow
        times = {"created_at": min(whole.created_at, now), "updated_at": min(whole.updated_at, now)}
        rows = with_fields(rows, workflow=whole.model_copy(update=times))
        if replace:
            # Money that was spent is spent: what the file brings counts no more, also of runs that are here.
            repos = self._context.repos
            runs = [run.id for run in await repos.runs.list(file.workflow.id)]
            rows = with_fields(rows, used=await usage_of(repos, runs, now))
        async with self._staged_files(file):
            await workflow_import.write(self._context.repos, rows, replace=replace)
        self._context.month_budget.reread()
        try:
            await self._context.memory_search.index_many(rows.memories)
        except AtelierError as error:
            log.warning("memories that were imported have no vector yet: %s", error)

    @asynccontextmanager
    async def _staged_files(self, file: WorkflowFile) -> AsyncIterator[None]:
        """Write the files before the block commits what names them; if that is refused, remove them."""
        artefacts, workflow_id = self._context.repos.artefacts, file.workflow.id
        new = [each.sha256 for each in file.artefacts if not artefacts.has(workflow_id, each.sha256)]
        try:
            for each in file.artefacts:
                if not await artefacts.intact(workflow_id, each.sha256):
                    await artefacts.store(workflow_id, "", each.data, "")
        except StorageError:
            await artefacts.remove(workflow_id, new)
            raise
        try:
            yield
        except UsageError:
            # After a database error the rows may still exist.
            await artefacts.remove(workflow_id, new)
            raise


def _rows(file: WorkflowFile) -> WorkflowRows:
    """Return the rows of a file."""
    file = imported_runs.held(file)
    return WorkflowRows(
        workflow=file.workflow.model_copy(update={"status": imported_runs.status_at_rest(file), "deleted_at": None}),
        commit=Commit(
            events=file.events,
            runs=file.runs,
            messages=file.messages,
            executions=file.executions,
            questions=file.questions,
            approvals=file.approvals,
            frames=file.frames,
            tasks=file.tasks,
        ),
        memories=tuple(
            memory.model_copy(update={"embedder": "", "workflow_id": file.workflow.id}) for memory in file.memories
        ),
        reports=tuple((each.report, each.text) for each in file.reports),
        ids={**identities(file), "tool_execution": [call.id for call in file.executions]},
    )
