"""Reading journals back: folding a run, the conversation it inherits, replaying a workflow, forking it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator

from app.domain.base import new_id
from app.domain.errors import NotFoundError
from app.domain.events import (
    ModelReplied,
    OutputShown,
    PauseReason,
    QuestionAnswered,
    QuestionAsked,
    ReplyInterrupted,
    RunEvent,
    RunPaused,
    RunStarted,
    TaskChanged,
    ToolCallFinished,
    ToolCallStarted,
    UserMessage,
)
from app.domain.stream import StreamEvent
from app.domain.task import Task
from app.domain.workflow import Run, Workflow
from app.engine.journal import PAGE, Journal, RunHandle, run_events, stream_events
from app.engine.run.project import Totals, project, project_task
from app.engine.run.reduce import fold, reduce
from app.engine.run.state import Entry, RunState, carried
from app.i18n import N_, _
from app.storage.repositories import Repositories

CACHED_RUNS = 16


async def workflow_events(repos: Repositories, workflow_id: str) -> AsyncIterator[RunEvent]:
    """All events of a workflow in the order of its stream."""
    after = 0
    seen: set[str] = set()
    while True:
        page = await repos.journal.workflow_events(workflow_id, after_stream=after, limit=PAGE)
        fresh = [event for event in page if event.id not in seen]
        for event in fresh:
            yield event
        if len(page) < PAGE or not fresh:
            return
        # Events that make no stream event share the number of the next one that does: read that number again, skip what was seen.
        after = page[-1].stream_from - 1
        seen = {event.id for event in page}


class Conversations:
    """The conversation a run inherits, folded once and kept for the newest runs."""

    def __init__(self, repos: Repositories) -> None:
        self._repos = repos
        self._cache: OrderedDict[str, tuple[Entry, ...]] = OrderedDict()

    async def before(self, previous_run_id: str | None) -> tuple[Entry, ...]:
        """The entries a run that follows ``previous_run_id`` begins with."""
        chain: list[str] = []
        run_id = previous_run_id
        rows: dict[str, Run] = {}
        while run_id is not None and run_id not in self._cache:
            row = rows.get(run_id)
            if row is None:
                row = await self._repos.runs.get(run_id)
                rows = {r.id: r for r in await self._repos.runs.list(row.workflow_id)} | rows
            chain.append(run_id)
            run_id = row.previous_run_id
        history = self._cache[run_id] if run_id is not None else ()
        for each in reversed(chain):
            state = fold(await run_events(self._repos, each), history)
            history = carried(state) if state is not None else history
            if rows[each].status.final:
                self._keep(each, history)
        return history

    def finished(self, state: RunState) -> None:
        """Remember the conversation of a run that is over, so that the next turn folds nothing."""
        self._keep(state.run_id, carried(state))

    def forget(self) -> None:
        self._cache.clear()

    def _keep(self, run_id: str, history: tuple[Entry, ...]) -> None:
        self._cache[run_id] = history
        self._cache.move_to_end(run_id)
        while len(self._cache) > CACHED_RUNS:
            self._cache.popitem(last=False)


async def load(repos: Repositories, conversations: Conversations, run_id: str) -> tuple[RunHandle, list[RunEvent]]:
    """A run from its journal.

    Raises:
        NotFoundError: no such run, or it has no events.
    """
    row = await repos.runs.get(run_id)
    events = await run_events(repos, run_id)
    if not events:
        raise NotFoundError(N_("There is no run {id}."), id=run_id)
    history = await conversations.before(row.previous_run_id) if row.parent_run_id is None else ()
    handle = RunHandle(run_id=run_id, workflow_id=row.workflow_id, history=history, state=fold(events, history), row=row)
    return handle, events


def memory_scope(events: list[RunEvent]) -> dict[str, str | None]:
    """The memory scope the agent chose in this run with ``activate_workflow`` or ``activate_general``, as its calls tell."""
    scope: dict[str, str | None] = {}
    wanted: dict[str, str | None] = {}
    for event in events:
        body = event.body
        if isinstance(body, ToolCallStarted) and body.tool == "MemoryTool":
            operation = body.arguments.get("operation")
            if operation == "activate_general":
                wanted[body.call_id] = None
            elif operation == "activate_workflow":
                wanted[body.call_id] = str(body.arguments.get("workflow_id"))
        elif isinstance(body, ToolCallFinished) and body.call_id in wanted and body.status == "ok":
            scope = {"workflow_id": wanted[body.call_id]}
    return scope


async def _one_run(repos: Repositories, run_id: str) -> AsyncIterator[RunEvent]:
    for event in await run_events(repos, run_id):
        yield event


async def replay(repos: Repositories, workflow_id: str, run_id: str | None = None) -> AsyncIterator[StreamEvent]:
    """The durable stream of a workflow again, made from its journal alone: no model, no tool, no change.

    With ``run_id`` only that run's; the workflow's totals in it then count from its start.
    """
    await repos.workflows.get(workflow_id)
    states: dict[str, RunState] = {}
    totals = Totals()
    async for event in workflow_events(repos, workflow_id) if run_id is None else _one_run(repos, run_id):
        if not event.run_id:
            assert isinstance(event.body, TaskChanged)
            projection = project_task(event.body)
            after = None
        else:
            before = states.get(event.run_id)
            after = reduce(before, event)
            states[event.run_id] = after
            projection = project(event, before, after, totals)
        totals = Totals(
            usage=projection.workflow.get("usage", totals.usage),
            pending_questions=projection.workflow.get("pending_questions", totals.pending_questions),
        )
        for stream_event in stream_events(event, projection.chunks, after):
            yield stream_event


async def fork(repos: Repositories, journal: Journal, workflow_id: str, at: int) -> Workflow:
    """A new workflow that holds everything up to stream event ``at``; the original stays as it is.

    A run that was cut in its middle is paused and goes on when its owner resumes it. What the events say is made again, with identities of
    its own, so that nothing done in the fork touches the original: messages, tool calls, tasks, and questions, of which one that waited at
    that point waits in the fork too. Memories and reports are not part of the journal and are not copied: they show what is known now, not
    what was known at ``at``; the results of the calls that read or wrote them are in the conversation. Times are those of the copying.

    Raises:
        NotFoundError: the workflow has no event with that number.
    """
    source = await repos.workflows.get(workflow_id)
    if not 1 <= at <= source.stream_seq:
        raise NotFoundError(
            N_("Workflow {name} has no event {at}; its events are numbered 1 to {last}."), name=source.name, at=at, last=source.stream_seq
        )
    now = journal.now()
    name = _("{name} (fork at {at})", name=source.name, at=at)[:256]
    target = source.model_copy(
        update={
            "id": new_id(),
            "name": name,
            "stream_seq": 0,
            "usage": Totals().usage,
            "head_run_id": None,
            "pending_questions": 0,
            "pinned": False,
            "draft": "",
            "created_at": now,
            "updated_at": now,
        }
    )
    await repos.workflows.create(target)
    copier = _Copier(journal, target.id)
    try:
        async for event in workflow_events(repos, workflow_id):
            if event.stream_from > at:
                break
            await copier.copy(event)
        for handle in copier.runs.values():
            if not handle.current.status.final and handle.current.pause is None:
                await journal.append(handle, RunPaused(reason=PauseReason.USER))
    except BaseException:
        # Half a copy is of no use to anybody.
        journal.forget(target.id)
        await repos.workflows.purge(target.id)
        raise
    return await repos.workflows.get(target.id)


class _Copier:
    """Copies events into another workflow; every identity in them is replaced by a new one, the same for the same old one."""

    def __init__(self, journal: Journal, workflow_id: str) -> None:
        self._journal = journal
        self._workflow_id = workflow_id
        self._ids: dict[str, str] = {}
        self.runs: dict[str, RunHandle] = {}

    def _new(self, old: str) -> str:
        return self._ids.setdefault(old, new_id()) if old else old

    async def copy(self, event: RunEvent) -> None:
        """Append the event's copy to the copy of its run."""
        body = event.body
        if isinstance(body, TaskChanged):
            body = body.model_copy(update={"task": self._task(body.task)})
            if not event.run_id:
                await self._journal.append_workflow_event(self._workflow_id, body)
                return
        handle = self.runs.get(event.run_id)
        if handle is None:
            handle = self.runs[event.run_id] = RunHandle(run_id=self._new(event.run_id), workflow_id=self._workflow_id)
        if isinstance(body, RunStarted):
            body = self._started(handle, body)
        elif isinstance(body, QuestionAsked):
            changed = {"id": self._new(body.question.id), "workflow_id": self._workflow_id, "run_id": handle.run_id}
            body = QuestionAsked(question=body.question.model_copy(update=changed))
        elif isinstance(body, QuestionAnswered):
            body = body.model_copy(update={"question_id": self._new(body.question_id)})
        elif isinstance(body, UserMessage | ModelReplied | ReplyInterrupted | OutputShown):
            body = body.model_copy(update={"message_id": self._new(body.message_id)})
        await self._journal.append(handle, body)

    def _started(self, handle: RunHandle, body: RunStarted) -> RunStarted:
        previous = self.runs.get(body.previous_run_id or "")
        if previous is not None and previous.state is not None:
            handle.history = carried(previous.state)
        parent = self.runs.get(body.parent_run_id or "")
        return body.model_copy(
            update={
                "previous_run_id": previous.run_id if previous else None,
                "parent_run_id": parent.run_id if parent else None,
                "correlation_id": parent.current.correlation_id if parent else handle.run_id,
            }
        )

    def _task(self, task: Task) -> Task:
        return task.model_copy(
            update={
                "id": self._new(task.id),
                "workflow_id": self._workflow_id,
                "run_id": self._new(task.run_id),
                "dependencies": tuple(self._new(old) for old in task.dependencies),
            }
        )
