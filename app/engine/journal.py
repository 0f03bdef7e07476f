"""The journal: the only way a run changes. An event is committed, with every row it implies, before anything follows from it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from app.domain.clock import Clock
from app.domain.events import EventBody, RunEvent, RunFinished, TaskChanged
from app.domain.stream import StreamEvent
from app.domain.workflow import Run, Workflow
from app.engine.bus import EventBus
from app.engine.run.project import Chunk, Projection, Totals, project, project_task
from app.engine.run.reduce import reduce
from app.engine.run.state import Entry, RunState
from app.storage.commit import Commit
from app.storage.repositories import Repositories

FaultPoint = Callable[[str], None]


def no_fault(point: str) -> None:
    """Nothing happens at a fault point outside the chaos tests."""


@dataclass
class RunHandle:
    """A run in memory.

    Attributes:
        history: the conversation before it, needed to fold its first event.
        state: None until its start is committed.
    """

    run_id: str
    workflow_id: str
    history: tuple[Entry, ...] = ()
    state: RunState | None = None
    row: Run | None = None

    @property
    def current(self) -> RunState:
        """The state of a run that has started."""
        assert self.state is not None, "the run has not started"
        return self.state


@dataclass
class _Head:
    """What the journal knows of a workflow, so that a commit needs no read: this process is the only writer."""

    stream_seq: int
    totals: Totals
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


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


class Journal:
    """Appends events: numbers them, folds them, projects them, commits everything in one transaction and then publishes.

    ``fault`` is called with ``before_commit:TYPE`` and ``after_commit:TYPE`` around every write; the chaos tests kill the process in it.
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
        """
        head = await self._head(handle.workflow_id)
        async with head.lock:
            batch = _Batch(state=handle.state, stream_seq=head.stream_seq, totals=head.totals)
            for body in bodies:
                self._add(batch, handle, body)
            state = batch.state
            assert state is not None
            row = self._row(handle, state)
            point = bodies[-1].type
            self._fault(f"before_commit:{point}")
            await self._repos.journal.commit(
                Commit(
                    events=tuple(batch.events),
                    run=row,
                    workflow={**batch.rows.workflow, "stream_seq": batch.stream_seq},
                    messages=tuple(batch.rows.messages),
                    executions=tuple(batch.rows.executions),
                    questions=tuple(batch.rows.questions),
                    tasks=tuple(batch.rows.tasks),
                    deleted_tasks=tuple(batch.rows.deleted_tasks),
                    clear_partial=handle.run_id if clear_partial else None,
                )
            )
            self._fault(f"after_commit:{point}")
            handle.state, handle.row = state, row
            head.stream_seq, head.totals = batch.stream_seq, batch.totals
        self._announce(handle.workflow_id, batch)
        return state

    async def append_workflow_event(self, workflow_id: str, body: TaskChanged) -> None:
        """Commit an event that belongs to the workflow and to no run: a person changed a task."""
        head = await self._head(workflow_id)
        async with head.lock:
            batch = _Batch(state=None, stream_seq=head.stream_seq, totals=head.totals)
            event = RunEvent(workflow_id=workflow_id, stream_from=head.stream_seq + 1, time=self._clock.now(), body=body)
            projection = project_task(body)
            batch.add(event, projection, stream_events(event, projection.chunks, None))
            await self._repos.journal.commit(
                Commit(
                    events=(event,),
                    workflow={"stream_seq": batch.stream_seq},
                    tasks=tuple(batch.rows.tasks),
                    deleted_tasks=tuple(batch.rows.deleted_tasks),
                )
            )
            head.stream_seq = batch.stream_seq
        self._announce(workflow_id, batch)

    def now(self) -> datetime:
        """The time of the journal's clock."""
        return self._clock.now()

    def last_stream_seq(self, workflow_id: str) -> int:
        """Number of the workflow's last durable stream event, 0 when it is not loaded."""
        head = self._heads.get(workflow_id)
        return head.stream_seq if head else 0

    def forget(self, workflow_id: str) -> None:
        """Drop what is known of a workflow that was deleted or changed from outside the journal."""
        self._heads.pop(workflow_id, None)

    def _add(self, batch: _Batch, handle: RunHandle, body: EventBody) -> None:
        before = batch.state
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

    async def _head(self, workflow_id: str) -> _Head:
        head = self._heads.get(workflow_id)
        if head is None:
            row: Workflow = await self._repos.workflows.get(workflow_id)
            totals = Totals(usage=row.usage, pending_questions=row.pending_questions)
            head = self._heads.setdefault(workflow_id, _Head(stream_seq=row.stream_seq, totals=totals))
        return head

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
