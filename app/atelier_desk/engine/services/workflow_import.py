"""Bringing an exported workflow back: the same, in place of the one that is there, or as a copy with identifiers of its own."""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError

from atelier_desk.domain.approval import ApprovalRequest
from atelier_desk.domain.base import new_id
from atelier_desk.domain.context import PromptFrame
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.events import ChildrenPlanned, PauseReason, RunEvent, RunPaused, TaskChanged
from atelier_desk.domain.question import UserQuestion
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import Message, Report, Run, RunStatus, ToolExecution, WorkflowStatus
from atelier_desk.engine.identities import renamed
from atelier_desk.engine.run.reduce import fold
from atelier_desk.engine.run.state import RunState
from atelier_desk.engine.run.steps import Wait, next_step
from atelier_desk.engine.services.checks import explain
from atelier_desk.engine.services.context import ServiceContext
from atelier_desk.engine.services.workflow_file import WorkflowFile
from atelier_desk.i18n import N_


def with_new_ids(file: WorkflowFile) -> WorkflowFile:
    """A copy whose workflow, runs, events, messages, tasks, questions, approvals, memories and reports have new identifiers everywhere
    they occur, also inside tool results that name them. Sub-agents that are planned and have no run yet count as runs."""
    rows: list[Any] = [file.workflow, *file.runs, *file.events, *file.messages, *file.tasks, *file.questions, *file.memories]
    rows += [*file.approvals, *file.frames, *(each.report for each in file.reports)]
    rows += [event.body.task for event in file.events if isinstance(event.body, TaskChanged)]
    rows += [child for event in file.events if isinstance(event.body, ChildrenPlanned) for child in event.body.children]
    fresh = {row.id: new_id() for row in rows}
    commits: dict[str, str] = {}
    for event in file.events:
        # What was committed together stays together: a fork of the copy must not tear it apart.
        fresh[event.id] = commits.setdefault(event.commit, fresh[event.id])[:-4] + event.id[-4:]
    return WorkflowFile.model_validate_json(json.dumps(renamed(file.model_dump(mode="json"), fresh)))


def check(file: WorkflowFile) -> None:
    """Refuse a file whose parts do not belong together: rows of another workflow, events of unknown runs, gaps in a journal."""
    workflow_id = file.workflow.id
    runs = {run.id for run in file.runs}
    rows: list[Run | RunEvent | Message | ToolExecution | Task | UserQuestion | ApprovalRequest | PromptFrame | Report] = [
        *file.runs, *file.events, *file.messages, *file.executions, *file.tasks, *file.questions, *file.approvals, *file.frames
    ]  # fmt: skip
    rows += [each.report for each in file.reports]
    for row in rows:
        if row.workflow_id != workflow_id:
            raise _damaged(f"{type(row).__name__} {row.id} belongs to another workflow")
    numbers: dict[str, int] = {}
    for event in file.events:
        if not event.run_id:
            continue
        if event.run_id not in runs:
            raise _damaged(f"event {event.id} names the unknown run {event.run_id}")
        expected = numbers.get(event.run_id, 0) + 1
        if event.seq != expected:
            raise _damaged(f"run {event.run_id} has event {event.seq} where {expected} is expected")
        numbers[event.run_id] = event.seq
    for run in file.runs:
        if numbers.get(run.id, 0) != run.last_seq:
            raise _damaged(f"run {run.id} has {numbers.get(run.id, 0)} events where {run.last_seq} are expected")


def _damaged(problem: str) -> UsageError:
    return UsageError(N_("The workflow file is damaged: {problem}."), code="invalid", problem=problem)


def parse(text: str | bytes) -> WorkflowFile:
    """The file's content; every problem is one clear error."""
    try:
        return WorkflowFile.model_validate_json(text)
    except ValidationError as error:
        raise UsageError(N_("This is not a workflow file: {problems}"), code="invalid", problems=_first(explain(error))) from None


def _first(problems: str) -> str:
    parts = problems.split("; ")
    return problems if len(parts) <= 3 else "; ".join(parts[:3]) + f"; … ({len(parts)})"


class WorkflowWriter:
    """Writes a checked file into the database. A failure part of the way leaves nothing behind."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context

    async def write(self, file: WorkflowFile) -> None:
        """Store everything; the workflow's row comes first because all others link to it."""
        repos = self._context.repos
        file = _held(file)
        await repos.workflows.create(file.workflow.model_copy(update={"status": _at_rest(file), "deleted_at": None}))
        try:
            await self._rows(file)
        except BaseException:
            await repos.workflows.purge(file.workflow.id)
            raise

    async def _rows(self, file: WorkflowFile) -> None:
        from atelier_desk.storage.commit import Commit

        repos = self._context.repos
        for run in file.runs:
            await repos.journal.commit(
                Commit(
                    events=tuple(event for event in file.events if event.run_id == run.id),
                    runs=(run,),
                    messages=tuple(message for message in file.messages if message.run_id == run.id),
                    executions=tuple(call for call in file.executions if call.run_id == run.id),
                    questions=tuple(asked for asked in file.questions if asked.run_id == run.id),
                    approvals=tuple(asked for asked in file.approvals if asked.run_id == run.id),
                    workflow={"stream_seq": file.workflow.stream_seq},
                )
            )
        loose = tuple(event for event in file.events if not event.run_id)
        await repos.journal.commit(Commit(events=loose, frames=file.frames, tasks=file.tasks))
        for memory in file.memories:
            await self._context.memory_search.index(memory.model_copy(update={"embedder": "", "workflow_id": file.workflow.id}))
        for each in file.reports:
            await repos.reports.save(each.report, each.text)


def _held(file: WorkflowFile) -> WorkflowFile:
    """The file with every run paused that would go on by itself, so that no start of the program gives its agents a model or a tool: it may
    come from a stranger. What a run would do is asked of its journal, which also gives its status; the status in the file is not trusted.
    The pause is an event of the journal like any other, and makes one stream event. A run that waits for a person's answer goes on waiting.
    """
    runs: list[Run] = []
    pauses: list[RunEvent] = []
    stream_seq = file.workflow.stream_seq
    for run in file.runs:
        try:
            state = fold(event for event in file.events if event.run_id == run.id)
        except ValueError:
            state = None
        if state is None:
            # Nothing can drive it; nothing shall try.
            run = run if run.status.final else run.model_copy(update={"status": RunStatus.PAUSED})
        elif _goes_on_by_itself(state):
            stream_seq += 1
            pause = RunEvent(
                workflow_id=run.workflow_id,
                run_id=run.id,
                seq=run.last_seq + 1,
                stream_from=stream_seq,
                body=RunPaused(reason=PauseReason.USER),
            )
            pauses.append(pause)
            run = run.model_copy(update={"status": RunStatus.PAUSED, "last_seq": pause.seq})
        else:
            run = run.model_copy(update={"status": state.status})
        runs.append(run)
    workflow = file.workflow.model_copy(update={"stream_seq": stream_seq})
    return file.model_copy(update={"workflow": workflow, "runs": tuple(runs), "events": (*file.events, *pauses)})


def _goes_on_by_itself(state: RunState) -> bool:
    if state.status.final or state.pause not in (None, PauseReason.INTERRUPTED):
        return False
    step = next_step(state)
    return not (isinstance(step, Wait) and step.reason in ("user", "approval"))


def _at_rest(file: WorkflowFile) -> WorkflowStatus:
    if any(run.status in (RunStatus.AWAITING_USER, RunStatus.AWAITING_APPROVAL) for run in file.runs):
        return WorkflowStatus.WAITING
    if any(not run.status.final for run in file.runs):
        return WorkflowStatus.PAUSED
    status = file.workflow.status
    over = status in (WorkflowStatus.IDLE, WorkflowStatus.COMPLETED, WorkflowStatus.ERROR)
    return status if over else WorkflowStatus.IDLE
