"""The journal: the only way a run changes. An event is committed, with every row it implies, before anything follows from it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from app.domain.clock import Clock
from app.domain.errors import ConflictError
from app.domain.events import EventBody, RunEvent, RunFinished, RunResumed, TaskChanged
from app.domain.stream import StreamEvent
from app.domain.workflow import Run, Workflow
from app.engine.bus import EventBus
from app.engine.run.mend import mended
from app.engine.run.project import Chunk, Projection, Totals, project, project_task
from app.engine.run.reduce import fold, reduce
from app.engine.run.state import Entry, RunState
from app.i18n import N_
from app.storage.commit import Commit
from app.storage.repositories import Repositories

FaultPoint = Callable[[str], None]
Decide = Callable[[RunState], Sequence[EventBody] | None]
"""What to append, judged from the run's state at the moment of writing; None or nothing: leave it."""
PAGE = 1000
"""Events read at once."""


def no_fault(point: str) -> None:
    """Nothing happens at a fault point outside the chaos tests."""


@dataclass
class RunHandle:
    """A run in memory.

    Attributes:
        history: the conversation before it, needed to fold its first event.
        state: None until its start is committed.
        stale: a commit failed, so the journal is read again before the next one.
    """

    run_id: str
    workflow_id: str
    history: tuple[Entry, ...] = ()
    state: RunState | None = None
    row: Run | None = None
    stale: bool = False

    @property
    def current(self) -> RunState:
        """The state of a run that has started."""
        assert self.state is not None, "the run has not started"
        return self.state


@dataclass
class _Head:
    """What the journal knows of a workflow, so that a commit needs no read: this process is the only writer.

    Attributes:
        lock: held from the decision what to write until it is written; one a workflow, for as long as the journal lives.
        known: False when the workflow's row has to be read first.
    """

    stream_seq: int = 0
    totals: Totals = field(default_factory=Totals)
    known: bool = False
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def learn(self, row: Workflow) -> None:
        self.stream_seq = row.stream_seq
        self.totals = Totals(usage=row.usage, pending_questions=row.pending_questions)
        self.known = True


@dataclass
class _Batch:
    """A commit in the making: the state and the sums after each event, and all rows."""

    state: RunState | None
    stream_seq: int
    totals: Totals
    events: list[RunEvent] = field(default_factory=list)
    streams: list[StreamEvent] = field(default_factory=list)
    rows: Projection = field(default_factory=Projection)

    def add(self, event: RunEvent, projection: Projection, streams: list[StreamEvent]) -> None:
        self.events.append(event)
        self.streams += streams
        self.stream_seq += len(streams)
        self.rows.messages += projection.messages
        self.rows.executions += projection.executions
        self.rows.questions += projection.questions
        self.rows.tasks += projection.tasks
        self.rows.deleted_tasks += projection.deleted_tasks
        self.rows.workflow.update(projection.workflow)
        self.totals = Totals(
            usage=projection.workflow.get("usage", self.totals.usage),
            pending_questions=projection.workflow.get("pending_questions", self.totals.pending_questions),
        )


def stream_events(event: RunEvent, chunks: Sequence[Chunk], state: RunState | None) -> list[StreamEvent]:
    """The durable stream events of one run event, numbered from its ``stream_from``."""
    return [
        StreamEvent(
            seq=event.stream_from + index,
            time=event.time,
            workflow_id=event.workflow_id,
            run_id=event.run_id,
            parent_run_id=state.parent_run_id if state else None,
            correlation_id=state.correlation_id if state else "",
            agent_id=state.agent_id if state else "",
            agent_name=state.agent.name if state else "",
            depth=state.depth if state else 0,
            chunk_type=kind,
            data=data,
        )
        for index, (kind, data) in enumerate(chunks)
    ]


async def run_events(repos: Repositories, run_id: str) -> list[RunEvent]:
    """All events of a run, in order."""
    events: list[RunEvent] = []
    while True:
        page = await repos.journal.events(run_id, after=events[-1].seq if events else 0, limit=PAGE)
        events += page
        if len(page) < PAGE:
            return events


async def to_the_end(work: Coroutine[Any, Any, None]) -> bool:
    """Wait until ``work`` is done, however often the wait is cancelled meanwhile; returns whether it was. Raises what ``work`` raises."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    task.result()
    return cancelled


def _commit(batch: _Batch, row: Run | None, clear_partial: str | None = None) -> Commit:
    return Commit(
        events=tuple(batch.events),
        runs=(row,) if row else (),
        workflow={**batch.rows.workflow, "stream_seq": batch.stream_seq, "updated_at": batch.events[-1].time},
        messages=tuple(batch.rows.messages),
        executions=tuple(batch.rows.executions),
        questions=tuple(batch.rows.questions),
        tasks=tuple(batch.rows.tasks),
        deleted_tasks=tuple(batch.rows.deleted_tasks),
        clear_partial=(clear_partial,) if clear_partial else (),
    )


class Journal:
    """Appends events: numbers them, folds them, projects them, commits everything in one transaction and then publishes.

    A cancelled append has either not begun or is finished: the state in memory is always the state on the disk. ``fault`` is called with
    ``before_commit:TYPE`` and ``after_commit:TYPE`` around every write; the chaos tests kill the process in it.
    """

    def __init__(self, repos: Repositories, bus: EventBus, clock: Clock, fault: FaultPoint = no_fault) -> None:
        self._fault = fault
        self._repos = repos
        self._bus = bus
        self._clock = clock
        self._heads: dict[str, _Head] = {}

    async def append(self, handle: RunHandle, *bodies: EventBody, clear_partial: bool = False) -> RunState:
        """Commit events of a run and publish what they mean; returns the state after them.

        Raises:
            StorageError: nothing was committed and the state is as before.
            ConflictError: the run is over.
        """
        await self._write(handle, lambda: bodies, clear_partial=clear_partial)
        return handle.current

    async def append_if(self, handle: RunHandle, decide: Decide, *, clear_partial: bool = False) -> bool:
        """Commit what ``decide`` says of the state as it is when nothing else can come between; returns whether it said anything.

        Raises:
            StorageError, ConflictError: as ``append`` does; and whatever ``decide`` raises.
        """
        return await self._write(handle, lambda: decide(handle.current) or (), clear_partial=clear_partial)

    async def _write(self, handle: RunHandle, decide: Callable[[], Sequence[EventBody]], *, clear_partial: bool) -> bool:
        head = self._head(handle.workflow_id)
        async with head.lock:
            await self._refresh(handle)
            await self._know(head, handle.workflow_id)
            bodies = decide()
            if not bodies:
                return False
            batch = _Batch(state=handle.state, stream_seq=head.stream_seq, totals=head.totals)
            for body in bodies:
                self._add(batch, handle, body)
            state = batch.state
            assert state is not None
            row = self._row(handle, state)
            commit = _commit(batch, row, clear_partial=handle.run_id if clear_partial else None)
            point = bodies[-1].type
            self._fault(f"before_commit:{point}")
            try:
                cancelled = await to_the_end(self._repos.journal.commit(commit))
            except BaseException:
                handle.stale = handle.state is not None
                head.known = False
                raise
            self._fault(f"after_commit:{point}")
            handle.state, handle.row = state, row
            head.stream_seq, head.totals = batch.stream_seq, batch.totals
            self._announce(handle.workflow_id, batch)
        if cancelled:
            raise asyncio.CancelledError
        return True

    async def append_workflow_event(self, workflow_id: str, body: TaskChanged) -> None:
        """Commit an event that belongs to the workflow and to no run: a person changed a task."""
        head = self._head(workflow_id)
        async with head.lock:
            await self._know(head, workflow_id)
            batch = _Batch(state=None, stream_seq=head.stream_seq, totals=head.totals)
            event = RunEvent(workflow_id=workflow_id, stream_from=head.stream_seq + 1, time=self._clock.now(), body=body)
            projection = project_task(body)
            batch.add(event, projection, stream_events(event, projection.chunks, None))
            try:
                cancelled = await to_the_end(self._repos.journal.commit(_commit(batch, None)))
            except BaseException:
                head.known = False
                raise
            head.stream_seq = batch.stream_seq
            self._announce(workflow_id, batch)
        if cancelled:
            raise asyncio.CancelledError

    async def refresh(self, handle: RunHandle) -> None:
        """Read the run again when a commit of it failed; else nothing."""
        if handle.stale:
            async with self._head(handle.workflow_id).lock:
                await self._refresh(handle)

    async def _refresh(self, handle: RunHandle) -> None:
        if handle.stale:
            events = await run_events(self._repos, handle.run_id)
            handle.row = await self._repos.runs.get(handle.run_id)
            handle.state = fold(events, handle.history)
            handle.stale = False

    def learn(self, row: Workflow) -> None:
        """Take a workflow's row that was just read, so that its next commit need not read it again."""
        head = self._head(row.id)
        if not head.known and not head.lock.locked():
            head.learn(row)

    def now(self) -> datetime:
        """The time of the journal's clock."""
        return self._clock.now()

    def last_stream_seq(self, workflow_id: str) -> int:
        """Number of the workflow's last durable stream event, 0 when it is not loaded."""
        head = self._heads.get(workflow_id)
        return head.stream_seq if head else 0

    def forget(self, workflow_id: str) -> None:
        """Drop what is known of a workflow that was deleted or changed from outside the journal."""
        head = self._heads.get(workflow_id)
        if head is not None:
            # Whoever waits for the lock must still find it to be the one everybody takes.
            head.known = False
            if not head.lock.locked():
                del self._heads[workflow_id]

    def _add(self, batch: _Batch, handle: RunHandle, body: EventBody) -> None:
        before = batch.state
        body = mended(body)
        if before is not None and before.status.final and not (before.failed and isinstance(body, RunResumed)):
            raise ConflictError(N_("This run is over. Send a message to go on with the conversation."))
        event = RunEvent(
            workflow_id=handle.workflow_id,
            run_id=handle.run_id,
            seq=(before.last_seq if before else 0) + 1,
            stream_from=batch.stream_seq + 1,
            time=self._clock.now(),
            body=body,
        )
        after = reduce(before, event, handle.history)
        projection = project(event, before, after, batch.totals)
        batch.state = after
        batch.add(event, projection, stream_events(event, projection.chunks, after))

    def _row(self, handle: RunHandle, state: RunState) -> Run:
        now = self._clock.now()
        base = handle.row or Run(
            id=state.run_id,
            workflow_id=state.workflow_id,
            previous_run_id=state.previous_run_id,
            parent_run_id=state.parent_run_id,
            correlation_id=state.correlation_id,
            agent_id=state.agent_id,
            agent_name=state.agent.name,
            depth=state.depth,
            created_at=state.started_at or now,
        )
        changed = {
            "mode": state.mode,
            "status": state.status,
            "usage": state.usage,
            "last_seq": state.last_seq,
            "error": state.error,
            "updated_at": now,
        }
        return base.model_copy(update=changed)

    def _head(self, workflow_id: str) -> _Head:
        return self._heads.setdefault(workflow_id, _Head())

    async def _know(self, head: _Head, workflow_id: str) -> None:
        if not head.known:
            head.learn(await self._repos.workflows.get(workflow_id))

    def _announce(self, workflow_id: str, batch: _Batch) -> None:
        for stream_event in batch.streams:
            self._bus.publish(stream_event)
        if batch.rows.workflow or any(isinstance(event.body, RunFinished) for event in batch.events):
            self._bus.changed("workflow", workflow_id)
        for question in batch.rows.questions:
            self._bus.changed("question", question.id)
        for event in batch.events:
            if isinstance(event.body, TaskChanged):
                self._bus.changed("task", event.body.task.id)
