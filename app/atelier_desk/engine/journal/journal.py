"""The journal: the only way to change a run.

An event is committed, with all its rows, before anything follows from it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from atelier_desk.domain.base_model import new_id
from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import ConflictError
from atelier_desk.domain.events.run import (
    ChildAnswered,
    ChildAsked,
    ChildFinished,
    CompactionUndone,
    EntryPinned,
    EventBody,
    LimitsRaised,
    MediaPaid,
    MemoryExtractionDone,
    PictureDescribed,
    QueueChanged,
    RequestLost,
    RightsNarrowed,
    RunEvent,
    RunFinished,
    RunResumed,
    RunStarted,
    SampledForServer,
    TaskChanged,
    TitleGenerated,
    event_id,
)
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.stream.event import StreamEvent
from atelier_desk.domain.stream.payloads import Payload
from atelier_desk.domain.system_prompt_and_tools import PromptFrame
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import Run, Workflow
from atelier_desk.domain.workflow_branches import branch_of
from atelier_desk.engine.costs.usage_totals import usage_of
from atelier_desk.engine.journal.branch_tasks import tasks_of
from atelier_desk.engine.journal.commit_builder import Batch, BatchHead, envelope, stream_events
from atelier_desk.engine.journal.event_bus import EventBus
from atelier_desk.engine.run.lone_surrogates import sanitized
from atelier_desk.engine.run.projection.event_projection import project, project_task
from atelier_desk.engine.run.reducer.conversation_entries import NO_HISTORY, History
from atelier_desk.engine.run.reducer.reduce import fold, reduce
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.engine.services.common.paging import all_rows
from atelier_desk.policy.permissions import taint_sources
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.search.index_changes import micros
from atelier_desk.storage.search.request_usage_tables import Request, of_commit
from atelier_desk.storage.writing.journal_commit import Commit, Rename
from atelier_desk.storage.writing.sent_request_keys import OWN, SentKey
from atelier_desk.support.background_tasks import to_the_end
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.engine.run.decided_call import Held

FaultPoint = Callable[[str], None]
Decide = Callable[[RunState], Sequence[EventBody] | None]
"""What to append, decided from the run's state at the time of writing; None or empty: nothing."""
Follow = Callable[[RunState], Sequence[EventBody]]
"""What follows from a run's state without further action: committed together with the events that led to it."""
MOST_FOLLOWING = 8
"""Maximum repetitions per commit: a faulty run that always adds something must not hold the lock forever."""
PAGE = 1000
"""Events read at once."""
TEAM_TOTALS = 4
"""Totals of earlier root runs that stay in memory for each workflow."""


def no_fault(point: str) -> None:
    """Fault hook that does nothing, outside the chaos tests."""


def _uncounted(cost: float, settled: Collection[SentKey]) -> None:
    """Count nothing: no budget."""


def nothing_follows(state: RunState) -> Sequence[EventBody]:
    """Return nothing: without a driver, its driver later decides what follows."""
    return ()


@dataclass
class RunHandle:
    """A run in memory.

    Attributes:
        history: the preceding conversation, needed for its first event.
        state: None until its start is committed.
        stale: a commit failed, so the journal is read again before the next one.
        prepared: by id, prepared calls of its newest reply.
    """

    run_id: str
    workflow_id: str
    history: History = NO_HISTORY
    state: RunState | None = None
    row: Run | None = None
    stale: bool = False
    prepared: dict[str, Held] = field(default_factory=dict)

    @property
    def current(self) -> RunState:
        """The state of a started run."""
        assert self.state is not None, "the run has not started"
        return self.state


async def run_events(repos: Repositories, run_id: str) -> list[RunEvent]:
    """Return all events of a run, in order."""
    events: list[RunEvent] = []
    while True:
        page = await repos.journal.events(run_id, after=events[-1].seq if events else 0, limit=PAGE)
        events += page
        if len(page) < PAGE:
            return events


@dataclass(frozen=True)
class Part:
    """Part of one run in a commit of several: its events and what follows, and whether its partial reply is obsolete.

    ``time`` is when they happened, None for now; ``settles`` the requests whose usage the events have.
    """

    handle: RunHandle
    bodies: Sequence[EventBody]
    clear_partial: bool = False
    follow: Follow = nothing_follows
    time: datetime | None = None
    settles: Sequence[SentKey] = ()


def _may_follow_the_end(state: RunState, body: EventBody) -> bool:
    """A failed run can be taken up again, and its sub-agents go on meanwhile; what a person changes of the context or
    of the messages that wait is not work, and neither is a title or what is to be remembered. What a stopped call paid
    for, or is given back, is counted."""
    if state.failed and isinstance(
        body, RunResumed | ChildFinished | ChildAsked | ChildAnswered | LimitsRaised | RightsNarrowed
    ):
        return True
    workflow_events = EntryPinned | CompactionUndone | TitleGenerated | MemoryExtractionDone | QueueChanged
    return isinstance(body, workflow_events | MediaPaid | PictureDescribed | SampledForServer | RequestLost)


class Journal:
    """Appends events: numbers, folds and projects them, commits everything in one transaction, then publishes.

    A cancelled append has either not begun or is complete: the state in memory always equals the state on disk.
    ``fault`` is called with ``before_commit:TYPE`` and ``after_commit:TYPE`` around every write, for each type in it;
    the chaos tests kill the process there. ``on_paid`` is called directly after a commit with what its requests cost,
    in US dollars, and which are settled.
    """

    def __init__(self, repos: Repositories, bus: EventBus, clock: Clock, fault: FaultPoint = no_fault) -> None:
        self._fault = fault
        self._repos = repos
        self._bus = bus
        self.clock = clock
        self._heads: dict[str, BatchHead] = {}
        self.on_paid: Callable[[float, Collection[SentKey]], None] = _uncounted

    async def append(
        self,
        handle: RunHandle,
        *bodies: EventBody,
        clear_partial: bool = False,
        frames: Sequence[PromptFrame] = (),
        follow: Follow = nothing_follows,
        rename: Rename | None = None,
        settles: Sequence[SentKey] = (),
    ) -> RunState:
        """Commit events of a run and publish them; return the state after them.

        ``frames`` and ``rename`` (``Commit.rename``) are stored in the same transaction, as is what ``follow`` returns
        for the state after the events, repeatedly until it returns nothing; nothing else can happen in between. A copy
        of the workflow can still be cut before these. ``settles`` are the requests whose usage the events have.

        Raises:
            StorageError: nothing was committed and the state is unchanged.
            ConflictError: the run has ended.
            Exception: raised by ``follow``; nothing was committed.
        """
        await self._write(
            handle.workflow_id,
            (handle,),
            lambda: [Part(handle, bodies, clear_partial, follow, settles=settles)],
            frames,
            rename,
        )
        return handle.current

    async def append_if(
        self, handle: RunHandle, decide: Decide, *, clear_partial: bool = False, follow: Follow = nothing_follows
    ) -> bool:
        """Commit what ``decide`` returns for the state at the time of writing; return whether it returned anything.

        Raises:
            StorageError, ConflictError: as ``append``; also what ``decide`` raises.
        """
        return await self._write(
            handle.workflow_id, (handle,), lambda: [Part(handle, decide(handle.current) or (), clear_partial, follow)]
        )

    async def append_together(
        self, handles: Sequence[RunHandle], decide: Callable[[], Sequence[Part]], *, live: bool = True
    ) -> bool:
        """Commit events of several runs of one workflow in one transaction, in the order of ``decide``.

        ``decide`` is called at the time of writing, so it may read the states of ``handles``; a run that begins with
        this commit has none yet. Returns whether there was anything to commit. ``live`` is False for past events from
        elsewhere: subscribers are not notified of each.

        Raises:
            StorageError, ConflictError: as ``append``; also what ``decide`` raises.
        """
        return await self._write(handles[0].workflow_id, handles, decide, live=live)

    async def _write(
        self,
        workflow_id: str,
        handles: Sequence[RunHandle],
        decide: Callable[[], Sequence[Part]],
        frames: Sequence[PromptFrame] = (),
        rename: Rename | None = None,
        *,
        live: bool = True,
    ) -> bool:
        head = self._head(workflow_id)
        async with head.lock:
            for handle in handles:
                await self._refresh(handle)
            await self._know(head, workflow_id)
            await self._know_teams(head, handles)
            parts = [part for part in decide() if part.bodies]
            if not parts:
                return False
            batch = Batch(stream_seq=head.stream_seq, totals=head.totals)
            await self._leave_branch(head, parts, batch)
            touched = {part.handle.run_id: part.handle for part in parts}
            for part in parts:
                for body in part.bodies:
                    self._add(batch, part.handle, body, part.time)
            for part in parts:
                self._append_following(batch, part)
            rows = {run_id: self._row(handle, batch.state(run_id)) for run_id, handle in touched.items()}
            partial = [part.handle.run_id for part in parts if part.clear_partial]
            settled = [SentKey(each, OWN) for each in partial]
            settled += [key for part in parts for key in part.settles]
            commit = replace(batch.commit(list(rows.values()), partial, frames, settled), rename=rename)
            try:
                cancelled = await self._commit(head, batch, commit)
            except BaseException:
                for handle in touched.values():
                    handle.stale = handle.state is not None
                raise
            for run_id, handle in touched.items():
                handle.state, handle.row = batch.states[run_id], rows[run_id]
            # Past events, of a copy or from elsewhere, cost nothing now.
            now = batch.events if all(part.time is None for part in parts) else ()
            paid = [each.usage.cost for each in of_commit(now, (), micros) if isinstance(each, Request)]
            self.on_paid(sum(paid), settled)
            if not live:
                batch.streams.clear()
                head.totals = replace(head.totals, teams={})  # totals needed again are read again
            self._announce(workflow_id, batch)
        if cancelled:
            raise asyncio.CancelledError
        return True

    def task_version(self, workflow_id: str) -> int:
        """Return a number that changes with each commit that changes tasks, so that readers can detect changes."""
        return self._head(workflow_id).task_version

    async def change_tasks(
        self, workflow_id: str, decide: Callable[[dict[str, Task]], Sequence[TaskChanged]], time: datetime | None = None
    ) -> Sequence[TaskChanged]:
        """Commit a person's changes of tasks in one transaction, and return them; these events belong to no run.

        ``decide`` is called with the tasks at the time of writing, and may raise. ``time`` as in ``Part``.
        """
        head = self._head(workflow_id)
        async with head.lock:
            await self._know(head, workflow_id)
            bodies = decide(await self._repos.tasks.by_id(workflow_id))
            if not bodies:
                return ()
            batch = Batch(stream_seq=head.stream_seq, totals=head.totals)
            for body in bodies:
                event = RunEvent(
                    id=event_id(batch.unit, len(batch.events)),
                    workflow_id=workflow_id,
                    stream_from=batch.stream_seq + 1,
                    time=time or self.clock.now(),
                    body=body,
                )
                projection = project_task(body)
                batch.add(event, projection, stream_events(event, projection.payloads, None))
            cancelled = await self._commit(head, batch, batch.commit())
            self._announce(workflow_id, batch)
        if cancelled:
            raise asyncio.CancelledError
        return bodies

    async def write_rows(self, workflow_id: str, rows: Callable[[], Coroutine[Any, Any, Commit]]) -> Commit:
        """Write rows without events, for runs whose events cannot be read; ``rows`` is called at the time of writing.

        Raises:
            StorageError: nothing was written.
        """
        head = self._head(workflow_id)
        async with head.lock:
            commit, head.known = await rows(), False
            cancelled = await to_the_end(self._repos.journal.commit(commit))
        if cancelled:
            raise asyncio.CancelledError
        return commit

    async def show_branch(
        self, workflow_id: str, head_run_id: str | None, deleted_runs: dict[str, datetime | None] | None = None
    ) -> None:
        """Display the branch that ends with a turn, with its tasks, in one transaction; ``deleted_runs`` as in
        ``Commit``.

        Raises:
            NotFoundError: no such workflow.
        """
        head = self._head(workflow_id)
        async with head.lock:
            await self._know(head, workflow_id)
            batch = Batch(stream_seq=head.stream_seq, totals=head.totals)
            batch.rows.workflow["head_run_id"] = head_run_id
            await self._add_branch_tasks(workflow_id, head_run_id, batch)
            rows = batch.rows
            commit = Commit(
                workflow=rows.workflow,
                tasks=tuple(rows.tasks),
                deleted_tasks=tuple(rows.deleted_tasks),
                deleted_runs=deleted_runs or {},
                of=workflow_id,
            )
            cancelled = await self._commit(head, batch, commit)
            self._announce(workflow_id, batch)
        if cancelled:
            raise asyncio.CancelledError

    async def purge_branches(self, workflow_id: str, oldest: datetime) -> None:
        """Permanently delete the branches of a workflow deleted at or before ``oldest``.

        Their usage stays in its totals.
        """
        head = self._head(workflow_id)
        async with head.lock:
            runs = await self._repos.runs.list(workflow_id)
            gone = [run.id for run in runs if run.deleted_at is not None and run.deleted_at <= oldest]
            usage = await usage_of(self._repos, gone, self.clock.now())
            head.known = False
            await to_the_end(self._repos.runs.purge(gone, usage))
            await self._repos.snapshots.remove(workflow_id)

    async def _leave_branch(self, head: BatchHead, parts: Sequence[Part], batch: Batch) -> None:
        """Switch tasks if a turn begins that does not follow the displayed one. The last of several counts."""
        for part in reversed(parts):
            first = part.bodies[0]
            if isinstance(first, RunStarted) and first.parent_run_id is None:
                if head.head_run_id not in (None, first.previous_run_id):
                    await self._add_branch_tasks(part.handle.workflow_id, first.previous_run_id, batch)
                return

    async def _add_branch_tasks(self, workflow_id: str, head_run_id: str | None, batch: Batch) -> None:
        """Add the tasks of the branch that ends with a turn to a batch."""
        head = self._head(workflow_id)
        if head.without_tasks:
            return
        of_type = self._repos.journal.of_type
        events = await all_rows(lambda offset, limit: of_type(workflow_id, "task_changed", offset=offset, limit=limit))
        if not events:
            head.without_tasks = True
            return
        links = await self._repos.runs.links(workflow_id)
        wanted = tasks_of(events, branch_of(links, head_run_id))
        there = await self._repos.tasks.by_id(workflow_id)
        batch.rows.tasks += [task for task in wanted.values() if there.get(task.id) != task]
        batch.rows.deleted_tasks += [task_id for task_id in there if task_id not in wanted]
        batch.other_tasks = True

    async def _commit(self, head: BatchHead, batch: Batch, commit: Commit) -> bool:
        """Write a batch even if the wait is cancelled, and update the workflow's state.

        Return whether it was cancelled.
        """
        self._reach("before_commit", batch)
        try:
            cancelled = await to_the_end(self._repos.journal.commit(commit))
        except BaseException:
            head.known = False
            raise
        self._reach("after_commit", batch)
        head.stream_seq, head.totals = batch.stream_seq, batch.totals
        if head.tainted is not None:
            head.tainted = taint_sources.merged(head.tainted, *(run.tainted for run in commit.runs))
        head.head_run_id = batch.rows.workflow.get("head_run_id", head.head_run_id)
        if batch.rows.tasks or batch.rows.deleted_tasks:
            head.task_version += 1
            head.without_tasks = False
        return cancelled

    async def refresh(self, handle: RunHandle) -> None:
        """Read the run again if a commit of it failed."""
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
        """Use a workflow's row that was just read, so that its next commit need not read it."""
        head = self._head(row.id)
        if not head.known and not head.lock.locked():
            head.learn(row)

    async def tainted(self, workflow_id: str) -> tuple[str, ...]:
        """Return the outside sources of a workflow's runs on all branches: the first few names, read once."""
        head = self._head(workflow_id)
        async with head.lock:
            await self._know(head, workflow_id)
            if head.tainted is None:
                head.tainted = taint_sources.merged((), await self._repos.runs.tainted(workflow_id))
            return head.tainted

    def publish(self, state: RunState, said: Payload) -> None:
        """Publish a stream event that is not stored, such as a token or progress.

        It is not validated, because there is one per token.
        """
        self._bus.publish(
            StreamEvent.model_construct(
                seq=self.last_stream_seq(state.workflow_id),
                time=self.clock.now(),
                workflow_id=state.workflow_id,
                run_id=state.run_id,
                durable=False,
                **envelope(state, said),
            )
        )

    def last_stream_seq(self, workflow_id: str) -> int:
        """Number of the workflow's last durable stream event, 0 if not loaded."""
        head = self._heads.get(workflow_id)
        return head.stream_seq if head else 0

    def forget(self, workflow_id: str) -> None:
        """Forget a workflow that was deleted or changed outside the journal."""
        head = self._heads.get(workflow_id)
        if head is not None:
            # Keep the lock itself: waiters must still find the one that everybody uses.
            head.known = False
            if not head.lock.locked():
                del self._heads[workflow_id]

    def _reach(self, point: str, batch: Batch) -> None:
        for kind in dict.fromkeys(event.body.type for event in batch.events):
            self._fault(f"{point}:{kind}")

    def _append_following(self, batch: Batch, part: Part) -> None:
        """Add what follows from a part, each time as a separate unit."""
        for _time in range(MOST_FOLLOWING):
            bodies = part.follow(batch.state(part.handle.run_id))
            if not bodies:
                return
            batch.unit = new_id()
            for body in bodies:
                self._add(batch, part.handle, body)

    def _add(self, batch: Batch, handle: RunHandle, body: EventBody, time: datetime | None = None) -> None:
        before = batch.states.get(handle.run_id, handle.state)
        body = sanitized(body)
        if before is not None and before.status.final and not _may_follow_the_end(before, body):
            raise ConflictError(N_("This run has ended. Send a message to continue in the workflow."))
        event = RunEvent(
            id=event_id(batch.unit, len(batch.events)),
            workflow_id=handle.workflow_id,
            run_id=handle.run_id,
            seq=(before.last_seq if before else 0) + 1,
            stream_from=batch.stream_seq + 1,
            time=time or self.clock.now(),
            body=body,
        )
        after = reduce(before, event, handle.history)
        projection = project(event, before, after, batch.totals)
        batch.states[handle.run_id] = after
        batch.add(event, projection, stream_events(event, projection.payloads, after))

    def _row(self, handle: RunHandle, state: RunState) -> Run:
        now = self.clock.now()
        base = handle.row or Run(
            id=state.run_id,
            workflow_id=state.workflow_id,
            previous_run_id=state.previous_run_id,
            parent_run_id=state.parent_run_id,
            parent_call_id=state.parent_call_id,
            title=state.title,
            correlation_id=state.correlation_id,
            agent_id=state.agent_id,
            agent_name=state.agent.name,
            depth=state.depth,
            created_at=state.started_at or now,
        )
        changed = {
            "agent_id": state.agent_id,
            "agent_name": state.agent.name,
            "mode": state.mode,
            "status": state.status,
            "usage": state.usage,
            "tool_calls": state.tool_calls,
            "elapsed_ms": state.elapsed_ms,
            "last_seq": state.last_seq,
            "tainted": state.tainted,
            "error": state.error,
            "updated_at": now,
        }
        return base.model_copy(update=changed)

    def _head(self, workflow_id: str) -> BatchHead:
        return self._heads.setdefault(workflow_id, BatchHead())

    async def _know(self, head: BatchHead, workflow_id: str) -> None:
        if not head.known:
            head.learn(await self._repos.workflows.get(workflow_id))

    async def _know_teams(self, head: BatchHead, handles: Sequence[RunHandle]) -> None:
        """Make sure that the totals of the root runs are known: they must be read for old runs."""
        new = [handle.run_id for handle in handles if handle.state is None]
        if new:
            # Only the newest totals stay in memory: others are read again if their runs continue.
            newest = dict(list(head.totals.teams.items())[-TEAM_TOTALS:])
            # A new run has used nothing: there is nothing to read.
            head.totals = replace(head.totals, teams=newest | {run_id: newest.get(run_id, Usage()) for run_id in new})
        roots = {handle.state.root_run_id for handle in handles if handle.state is not None}
        missing = {root for root in roots if root not in head.totals.teams}
        if missing:
            sums = dict(head.totals.teams)
            for row in await self._repos.runs.list(handles[0].workflow_id):
                root = row.correlation_id or row.id
                if root in missing:
                    sums[root] = sums.get(root, Usage()) + row.usage
            head.totals = replace(head.totals, teams=sums)

    def _announce(self, workflow_id: str, batch: Batch) -> None:
        for stream_event in batch.streams:
            self._bus.publish(stream_event)
        if batch.rows.workflow or any(isinstance(event.body, RunFinished) for event in batch.events):
            self._bus.changed("workflow", workflow_id)
        for question in batch.rows.questions:
            self._bus.changed("question", question.id)
        for approval in batch.rows.approvals:
            self._bus.changed("approval", approval.id)
        for event in batch.events:
            if isinstance(event.body, TaskChanged):
                self._bus.changed("task", event.body.task.id)
        if batch.rows.rules:
            self._bus.changed("settings", "approvals")
        if batch.other_tasks:
            self._bus.changed("task", workflow_id)
