"""The runs in memory: loading, driving, stopping and settling them. One object a run, so that two can never work on the
same journal.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from atelier_desk.domain.errors import AtelierError, NotFoundError, StorageError
from atelier_desk.domain.events.run import (
    CallStatus,
    ChildFinished,
    Ended,
    EventBody,
    PauseReason,
    ReplyCutOff,
    RunFinished,
    RunPaused,
)
from atelier_desk.domain.limits import RUNS_END_S
from atelier_desk.domain.stream.payloads import Failure
from atelier_desk.domain.sub_agent import ChildStatus
from atelier_desk.domain.workflow import Run, RunStatus
from atelier_desk.engine.journal import conversation_before_run
from atelier_desk.engine.journal.journal import RunHandle
from atelier_desk.engine.run.driver import CANCEL, CANCELLED, Driver, Stop, closing_events
from atelier_desk.engine.run.driver_dependencies import RunEnvironment
from atelier_desk.engine.run.mcp_server_requests import lost
from atelier_desk.engine.run.reducer.conversation_entries import complete
from atelier_desk.engine.run.reducer.next_step import Done, Wait, next_step
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.engine.runs.concurrent_team_slots import Slots
from atelier_desk.engine.runs.damaged_run_ending import end_unread, is_damage
from atelier_desk.engine.runs.live_run import LiveRun
from atelier_desk.engine.team.team_interface import TeamPort
from atelier_desk.llm.secrets import redact
from atelier_desk.storage.repositories import Repositories
from atelier_desk.support.i18n import _
from atelier_desk.support.logs import correlation

log = logging.getLogger(__name__)

MAX_FINISHED = 16
"""Runs that are over and stay in memory."""


def _begins_children(state: RunState) -> bool:
    """Whether a run that waits for its sub-agents has still to start some, or to take up what they said: driven, it
    works.
    """
    return state.status is RunStatus.AWAITING_CHILDREN and not isinstance(next_step(state), Wait | Done)


class LiveRuns:
    """The runs in memory.

    Attributes:
        slots: limit of concurrently running teams.
        conversations: inherited conversations of new runs.
        alive: by workflow, its unfinished root run.
        teams: interactions between runs of a team.
        narrow: applies present restrictions to a run; called before it is driven.
    """

    def __init__(self, env: RunEnvironment, slots: int, teams: Callable[[RunEnvironment, LiveRuns], TeamPort]) -> None:
        self._env = env
        self.slots = Slots(slots)
        self.conversations = conversation_before_run.Conversations(env.repos)
        self.alive: dict[str, str] = {}
        self.teams = teams(env, self)
        self.narrow: Callable[[LiveRun], Awaitable[None]] = _as_it_is
        self._runs: dict[str, LiveRun] = {}
        self._expected: dict[str, asyncio.Event] = {}
        self._finished: OrderedDict[str, None] = OrderedDict()
        self._loading = asyncio.Lock()
        self._beginning: dict[str, asyncio.Lock] = {}
        self.closes: Ended = "program"
        """How running runs are interrupted by ``close``."""
        self._closing = False

    def get(self, run_id: str) -> LiveRun | None:
        """Return the run if it is in memory."""
        return self._runs.get(run_id)

    @contextmanager
    def expect(self, *run_ids: str) -> Iterator[None]:
        """Announce runs while their start is being committed.

        Their rows may be visible on disk before the writer knows: loading one meanwhile waits for this, instead of
        reading a second instance from the journal.
        """
        known = asyncio.Event()
        self._expected.update(dict.fromkeys(run_ids, known))
        try:
            yield
        finally:
            for run_id in run_ids:
                del self._expected[run_id]
            known.set()

    def add(self, handle: RunHandle) -> LiveRun:
        """Add a run whose start was just committed."""
        live = self._runs[handle.run_id] = LiveRun(handle, narrowed=True)
        self.revived(live)
        return live

    def revived(self, live: LiveRun) -> None:
        """Register an unfinished, or resumed, run as its workflow's live one."""
        state = live.handle.current
        self._runs[state.run_id] = live
        self._finished.pop(state.run_id, None)
        if state.parent_run_id is None:
            self.alive[state.workflow_id] = state.run_id

    def add_unfinished(self, rows: Iterable[Run]) -> None:
        """Register stored runs that were not begun by this process, so that they can be continued and stopped."""
        for row in rows:
            if row.status.final:
                continue
            if row.parent_run_id is None:
                self.alive[row.workflow_id] = row.id
            else:
                self.teams.alive.setdefault(row.correlation_id, set()).add(row.id)

    async def load(self, run_id: str) -> LiveRun:
        """Return the run, loaded from its journal if not in memory or after a failed commit. Waits for one that is
        starting.

        Raises:
            NotFoundError: no such run.
        """
        live = self._runs.get(run_id)
        if live is not None and not live.handle.stale:
            return live
        while (known := self._expected.get(run_id)) is not None:
            await known.wait()
        async with self._loading:
            live = self._runs.get(run_id)
            if live is not None:
                await self._env.journal.refresh(live.handle)
                return live
            handle = await conversation_before_run.load(self._env.repos, self.conversations, run_id)
            live = self._runs[run_id] = LiveRun(handle)
            if handle.current.status.final:
                self._finished_with(live)
            return live

    async def with_all(self, live: LiveRun) -> None:
        """Make sure that summaries in a run's conversation have their replaced entries, so that they can be undone."""
        state = live.handle.current
        if not complete(state.conversation):
            # Like loading it, by the row: the journal of an imported workflow may name a run of another one.
            row = await self._env.repos.runs.get(state.run_id)
            before = await self.conversations.before(row.previous_run_id, whole=True)
            live.handle.history, live.handle.stale = before.history, True
            await self._env.journal.refresh(live.handle)

    def beginning(self, workflow_id: str) -> asyncio.Lock:
        """Lock held while a turn begins, so that a workflow never has two."""
        return self._beginning.setdefault(workflow_id, asyncio.Lock())

    async def until_begun(self, workflow_id: str = "") -> None:
        """Wait until turns that are just beginning are in ``alive``: of a workflow, or all."""
        for home, lock in list(self._beginning.items()):
            if workflow_id in ("", home) and lock.locked():
                async with lock:
                    pass

    def drive(self, live: LiveRun) -> None:
        """Drive the run if there is something to do; does nothing if it is already driven, closing or waiting."""
        state = live.handle.state
        if self._closing or live.at_work or live.stopping or state is None:
            return
        if isinstance(next_step(state), Wait | Done):
            self.settled(live)
            return
        live.driver = Driver(self._env, live.handle, self.teams, self.slots)
        live.task = asyncio.create_task(self._work(live, live.driver), name=f"run {state.run_id}")

    async def stop(
        self,
        live: LiveRun,
        kind: Literal["cancel", "message"],
        *then: EventBody,
        end: RunFinished = CANCEL,
        after: tuple[asyncio.Task[None], ...] = (),
    ) -> bool:
        """Stop the driver during its step; False if it is not running or the run ended first.

        The step is stopped at once; the effect is written when ``after`` is done.
        """
        while live.at_work and live.driver is not None and live.task is not None:
            driver, task = live.driver, live.task
            if driver.stop is not None:
                # Another caller's stop, which did not wait for its end.
                await _either(driver.stop.done, task)
                continue
            driver.stop = stop = Stop(kind, asyncio.get_running_loop().create_future(), then, end, after)
            task.cancel()
            # After a message the driver continues: it is only over when the run is.
            await (_either(stop.done, task) if kind == "message" else asyncio.wait({task}))
            return stop.done.done() and stop.done.result()
        return False

    async def cancel(self, run_id: str, end: RunFinished = CANCEL) -> None:
        """Stop a run and everything below it at once: requests are closed, tools cancelled, completed work is kept.

        An ended run is not changed. ``end`` is how the run itself ends; those below are cancelled. A run with
        unreadable events is ended too.
        """
        try:
            top = await self.load(run_id)
        except StorageError as error:
            if not is_damage(error):
                raise
            await self._end_unread(run_id)
            await self._notify_parent(run_id)
            return
        ended, unread = [top], list[str]()
        while True:
            # A sub-agent may just have begun below one of them.
            found = {live.handle.run_id: live for each in ended for live in (each, *await self.below(each, unread))}
            while unread:
                await self._end_unread(unread.pop())
            runs = ended = [live for live in found.values() if not live.handle.current.status.final]
            if not runs:
                return
            # First block all from starting, then stop them together: depth does not matter. Results are written
            # bottom-up, so that each end includes the usage below it.
            for live in runs:
                live.stopping = True
            ends: dict[str, asyncio.Task[None]] = {}
            for live in reversed(runs):
                state = live.handle.current
                below_it = tuple(ends[child.id] for child in state.children if child.id in ends)
                ends[state.run_id] = asyncio.create_task(self._end(live, end if live is top else CANCEL, below_it))
            try:
                await asyncio.gather(*ends.values())
            finally:
                for live in runs:
                    live.stopping = False
                    self.drive(live)

    async def below(self, live: LiveRun, unread: list[str] | None = None) -> list[LiveRun]:
        """Return the unfinished sub-agents below a run, top-down; unreadable ones are added to ``unread``."""
        found: list[LiveRun] = []
        for child in live.handle.current.working_children:
            try:
                loaded = await self.load(child.id)
            except StorageError as error:
                if not is_damage(error):
                    raise
                unread = [] if unread is None else unread
                unread.append(child.id)
                continue
            found += [loaded, *await self.below(loaded, unread)]
        return found

    async def _end_unread(self, run_id: str) -> None:
        """End a run with unreadable events, and everything below it, none of which is running."""
        row = await self._env.repos.runs.get(run_id)
        if row.status.final:
            return
        root = row.correlation_id or row.id
        lost = [each for each in self._runs.values() if each.handle.run_id == run_id or run_id in _lineage(each)]
        tasks = [each.task for each in lost if each.task is not None and each.at_work]
        for each in lost:
            each.stopping = True
            del self._runs[each.handle.run_id]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        ended = await end_unread(self._env, row)
        if self.alive.get(row.workflow_id) == run_id:
            del self.alive[row.workflow_id]
        if left := self.teams.alive.pop(root, set()) - ended:
            self.teams.alive[root] = left

    async def _notify_parent(self, run_id: str) -> None:
        """Resume the parent that waits for a sub-agent ended without its events, unless its own are unreadable."""
        row = await self._env.repos.runs.get(run_id)
        if row.parent_run_id is None:
            return
        try:
            parent = await self.load(row.parent_run_id)
        except StorageError as error:
            if not is_damage(error):
                raise
            return
        gone = ChildFinished(child_id=run_id, status=ChildStatus.CANCELLED, error=row.error)

        def decide(now: RunState) -> list[EventBody] | None:
            return [gone] if any(child.id == run_id for child in now.working_children) else None

        try:
            await self._env.journal.append_if(parent.handle, decide)
        finally:
            self.drive(parent)

    async def above(self, live: LiveRun) -> list[LiveRun]:
        """Return the runs above one, its parent first."""
        return [await self.load(ancestor.run_id) for ancestor in reversed(live.handle.current.lineage)]

    async def _end(self, live: LiveRun, end: RunFinished, after: tuple[asyncio.Task[None], ...]) -> None:
        if await self.stop(live, "cancel", end=end, after=after):
            return
        if after:
            await asyncio.wait(after)
        lost = [] if live.at_work else await lost_reply(self._env.repos, live.handle.run_id)
        text = end.error or CANCELLED

        def decide(now: RunState) -> list[EventBody] | None:
            if now.status.final:
                return None
            return [*lost, *closing_events(now, CallStatus.CANCELLED, text, lost=True), end]

        try:
            await self.teams.conclude(live.handle, decide, clear_partial=True)
        finally:
            self.settled(live)

    def settled(self, live: LiveRun) -> None:
        """Release what only a running run needs, once it waits or has ended."""
        state = live.handle.current
        if not state.status.final:
            return
        if self.alive.get(state.workflow_id) == state.run_id:
            del self.alive[state.workflow_id]
        self._finished_with(live)

    def _finished_with(self, live: LiveRun) -> None:
        state = live.handle.current
        if not state.failed and state.parent_run_id is None:
            self.conversations.finished(state)
        self._over(state.run_id)

    def forget(self, workflow_id: str) -> None:
        """Remove a deleted workflow's runs from memory."""
        for run_id in [run_id for run_id, live in self._runs.items() if live.handle.workflow_id == workflow_id]:
            del self._runs[run_id]
            self._finished.pop(run_id, None)
        self.alive.pop(workflow_id, None)
        self.conversations.clear()
        self._env.journal.forget(workflow_id)
        lock = self._beginning.get(workflow_id)
        if lock is not None and not lock.locked():
            del self._beginning[workflow_id]

    def at_work(self) -> list[str]:
        """Return the workflows with a running run, in loading order."""
        return list(dict.fromkeys(live.handle.workflow_id for live in self._runs.values() if live.at_work))

    async def interrupt(self, run_id: str, ended: Ended = "command") -> None:
        """Stop driving a run and everything below it until ``resume``; the received part of a reply is kept."""
        top = await self.load(run_id)
        await self._interrupt([top, *await self.below(top)], ended)

    async def close(self) -> None:
        """Stop driving.

        Running runs are interrupted: resumed explicitly, or by the next start of the window if so chosen.
        """
        self._closing = True
        await self._interrupt(list(self._runs.values()), self.closes, RUNS_END_S)
        await self.conversations.close()

    async def _interrupt(self, runs: Sequence[LiveRun], ended: Ended, timeout_s: float | None = None) -> None:
        tasks = {live.task: live for live in runs if live.task is not None and live.at_work}
        for task, live in tasks.items():
            # The end of one run must not start another.
            live.stopping = True
            task.cancel()
        if not tasks:
            return
        try:
            await asyncio.wait(tasks, timeout=timeout_s)
            await self.mark_interrupted(list(tasks.values()), ended)
        finally:
            for live in tasks.values():
                live.stopping = False

    async def mark_interrupted(self, runs: Sequence[LiveRun], ended: Ended) -> None:
        """Record that these runs, and those above waiting for them, are interrupted.

        Runs waiting for a person are left.
        """
        above: dict[str, LiveRun] = {}
        for live in runs:
            if await self._mark(live, ended, RunStatus.PROCESSING):
                for ancestor in live.handle.current.lineage:
                    above[ancestor.run_id] = await self.load(ancestor.run_id)
        for live in above.values():
            await self._mark(live, ended, RunStatus.AWAITING_CHILDREN)

    async def _mark(self, live: LiveRun, ended: Ended, status: RunStatus) -> bool:
        """Record a run as interrupted if it is in this state; return whether it was."""
        try:
            reply = (
                live.driver.cut_off()
                if live.driver is not None
                else await lost_reply(self._env.repos, live.handle.run_id)
            )

            def decide(now: RunState) -> list[EventBody] | None:
                gone = lost(now) if status is RunStatus.PROCESSING and now.status is RunStatus.AWAITING_USER else []
                held = now.status is status or bool(gone) or (status is RunStatus.PROCESSING and _begins_children(now))
                return [*reply, *gone, RunPaused(reason=PauseReason.INTERRUPTED, ended=ended)] if held else None

            return await self._env.journal.append_if(live.handle, decide, clear_partial=True)
        except AtelierError as error:
            # The disk is full, or the workflow was deleted: the next process checks again.
            log.warning("run %s could not be marked as interrupted: %s", live.handle.run_id, error)
            return False

    async def _work(self, live: LiveRun, driver: Driver) -> None:
        with correlation(live.handle.current.correlation_id):
            try:
                await self.narrow(live)
                await driver.drive()
            except Exception as error:
                self._broke(live, error)
                if isinstance(error, StorageError) and is_damage(error):
                    live.stopping = True  # until that is settled, only a person can start it
                    try:
                        await self.mark_interrupted([live], "damaged")
                    finally:
                        live.stopping = False
            else:
                self.settled(live)
                asyncio.get_running_loop().call_soon(self._again, live, live.handle.state)

    def _again(self, live: LiveRun, settled: RunState | None) -> None:
        """Drive again if something was said between the driver's last check and its end."""
        if self._runs.get(live.handle.run_id) is live and live.handle.state is not settled:
            self.drive(live)

    def _over(self, run_id: str) -> None:
        """Keep the newest ended runs in memory and release the others, which the journal has."""
        self._finished[run_id] = None
        self._finished.move_to_end(run_id)
        while len(self._finished) > MAX_FINISHED:
            old, _none = self._finished.popitem(last=False)
            live = self._runs.get(old)
            if live is not None and live.handle.current.status.final and not live.at_work:
                del self._runs[old]

    def _broke(self, live: LiveRun, error: Exception) -> None:
        """Handle a failed journal write: nothing uncommitted had effects. It is read again at the next attempt."""
        state = live.handle.current
        if isinstance(error, NotFoundError):
            log.info("run %s ends: its workflow is gone", state.run_id)
            self._runs.pop(state.run_id, None)
            if self.alive.get(state.workflow_id) == state.run_id:
                del self.alive[state.workflow_id]
            return
        log.error("run %s stopped: %s", state.run_id, error, exc_info=error)
        code = error.code if isinstance(error, AtelierError) else "internal_error"
        text = error.localized(_) if isinstance(error, AtelierError) else f"{type(error).__name__}: {error}"
        self._env.journal.publish(state, Failure(code=code, message=redact(text)))


async def _as_it_is(_live: LiveRun) -> None:
    """Do nothing: no restrictions."""


def _lineage(live: LiveRun) -> list[str]:
    return [ancestor.run_id for ancestor in live.handle.state.lineage] if live.handle.state is not None else []


async def _either(*futures: asyncio.Future[Any]) -> None:
    await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)


async def lost_reply(repos: Repositories, run_id: str) -> list[EventBody]:
    """Return the event that keeps the partial reply left by a kill, or what its request cost."""
    partial = await repos.journal.partial(run_id)
    if not partial or not (partial.get("content") or partial.get("reasoning") or partial["usage"].cost):
        return []
    return [
        ReplyCutOff(
            message_id=str(partial["message_id"]),
            content=str(partial.get("content") or ""),
            reasoning=str(partial.get("reasoning") or ""),
            reason="killed",
            usage=partial["usage"],
            in_conversation=True,
        )
    ]
