"""The driver: executes what ``next_step`` returns and commits the outcome, until the run waits or ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from atelier_desk.domain.approval import ApprovalStatus
from atelier_desk.domain.errors import AtelierError, StorageError
from atelier_desk.domain.events.run import (
    ApprovalDecided,
    CallStatus,
    EventBody,
    LimitKind,
    LimitReached,
    PauseReason,
    QuestionAnswered,
    RunFailed,
    RunFinished,
    RunPaused,
    RunResumed,
)
from atelier_desk.domain.question import QuestionStatus
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine.journal.journal import RunHandle
from atelier_desk.engine.run import mcp_server_requests, sub_agent_state
from atelier_desk.engine.run.driver_dependencies import RunEnvironment
from atelier_desk.engine.run.mcp_problem_notices import server_news
from atelier_desk.engine.run.reducer.next_step import (
    AnswerChildren,
    Append,
    BeginCalls,
    CallModel,
    Done,
    Finish,
    RecoverCalls,
    RunCalls,
    SampleForServer,
    StartChildren,
    Step,
    StopChildren,
    Wait,
    next_step,
)
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.engine.run.request.model_call import ModelCall
from atelier_desk.engine.run.tool_calls import EFFECT_UNKNOWN, ToolCalls
from atelier_desk.engine.run.tool_result_events import BY_USER, closed
from atelier_desk.engine.runs.concurrent_team_slots import Slots
from atelier_desk.engine.team.team_interface import NO_ANSWER, TeamPort
from atelier_desk.llm.secrets import redact
from atelier_desk.policy import budget
from atelier_desk.support.i18n import _, spoken

log = logging.getLogger(__name__)

CANCELLED = "The user stopped this before it was done."
SUPERSEDED = "The user sent a new message instead of waiting for this."
OUT_OF_TIME = "The time allowed for this run was over before it was done."


CANCEL = RunFinished(status=RunStatus.CANCELLED)


ABOUT_S = 0.05
"""Seconds by which the timer and the clock of events may differ."""


@dataclass(eq=False, slots=True)
class Stop:
    """Why the driver is stopped during a step: the run ends, or continues with ``then``.

    Attributes:
        done: whether it took effect, once known; False if the run ended first.
        end: how the run ends, if it does not continue.
        after: the ends of the runs below it; its own is written after theirs.
    """

    kind: Literal["cancel", "message"]
    done: asyncio.Future[bool]
    then: tuple[EventBody, ...] = ()
    end: RunFinished = CANCEL
    after: tuple[asyncio.Task[None], ...] = ()


class Driver:
    """Drives one run. One instance per stretch of work; the state is in the handle and, authoritatively, in the
    journal.

    Attributes:
        pause_requested: the run pauses before the next step.
        waits_for_slot: it has not begun, because the maximum of teams is running.
        stop: set before the driving task is cancelled for a person; without it, cancellation means an interruption:
            nothing is written here, and ``cut_off`` is the received part of a reply.
    """

    def __init__(self, env: RunEnvironment, handle: RunHandle, teams: TeamPort, slots: Slots) -> None:
        self._env = env
        self._handle = handle
        self._teams = teams
        self._slots = slots
        self._calls = ToolCalls(env, handle, teams, self._follow)
        self._model_call: ModelCall | None = None
        self._next: tuple[RunState, Step] | None = None
        self.pause_requested = False
        self.waits_for_slot = False
        self.stop: Stop | None = None

    def cut_off(self) -> list[EventBody]:
        """Return events that keep the reply being received when the task was cancelled."""
        return self._model_call.cut_off("interrupted") if self._model_call else []

    async def drive(self) -> None:
        """Work until the run waits or ends.

        Raises:
            StorageError: an event could not be committed; nothing after it was done.
            CancelledError: the run is interrupted.
        """
        has_slot = False
        try:
            while True:
                try:
                    if not has_slot:
                        waited = await self._slot()
                        has_slot = True
                        await self._recover(waited)
                    while await self._advance():
                        pass
                    return
                except asyncio.CancelledError:
                    task = asyncio.current_task()
                    if self.stop is None or task is None:
                        raise
                    task.uncancel()
                    await self._stopped(self.stop)
                    if task.cancelling():
                        raise
                    if self._handle.current.status.final:
                        return
        finally:
            if has_slot:
                self._slots.free(self._handle.current.root_run_id)

    async def _slot(self) -> bool:
        self.waits_for_slot = True
        try:
            return await self._slots.acquire(self._handle.current.root_run_id)
        finally:
            self.waits_for_slot = False

    async def _recover(self, waited: bool) -> None:
        """Prepare to continue.

        Open calls were begun by a driver that failed: they are cut off. Waiting for a slot is not working time: where
        that is limited, the clock restarts.
        """
        state = self._handle.current
        left = any(call.status == "started" and not call.cut_off for call in state.calls)
        if left or (waited and state.agent.budget.max_seconds is not None):
            await self._env.journal.append_if(
                self._handle, lambda now: None if _held(now) else [RunResumed(steps=now.steps)]
            )

    async def _advance(self) -> bool:
        if self.stop is not None:
            # The step ended instead of being cancelled.
            await self._stopped(self.stop)
            return True
        state = self._handle.current
        step = self._step(state)
        if self.pause_requested and self._can_pause_before(step):
            if await self._if_still(state, RunPaused(reason=PauseReason.USER)):
                self.pause_requested = False
            return True
        if isinstance(step, Wait | Done):
            return False
        try:
            await self._perform(step, state)
        except Exception as error:
            await self._unexpected(_worst(error) if isinstance(error, ExceptionGroup) else error)
        self._model_call = None
        return True

    def _step(self, state: RunState) -> Step:
        """Return the cached ``next_step``, needed when a state is written and when it is acted upon."""
        if self._next is None or self._next[0] is not state:
            self._next = (state, next_step(state))
        return self._next[1]

    def _can_pause_before(self, step: Step) -> bool:
        if isinstance(step, Wait):
            # A waiting run can be paused too: the answer alone then does not resume it.
            return step.reason in ("user", "approval", "children", "parent")
        # Started calls run first: after a pause they could not be distinguished from calls cut off by a kill.
        return not isinstance(step, Append | Finish | Done | RunCalls)

    def _follow(self, state: RunState) -> Sequence[EventBody]:
        """Return what to commit with the events that lead to ``state``, without further action.

        Events that follow from the state only, the end of a run without a parent, and the intents of the calls that run
        next.
        """
        if self.stop is not None:
            return ()
        step = self._step(state)
        if isinstance(step, Append):
            return step.bodies
        if isinstance(step, Finish) and state.parent_run_id is None:
            return (_end(step),)
        if isinstance(step, BeginCalls) and not self.pause_requested:
            try:
                return self._calls.beginning(state, step.calls)
            except Exception as error:
                # A faulty tool: the step itself will encounter it, and must find the preceding events committed.
                log.debug("calls were not begun: %s", error)
        return ()

    async def _if_still(self, state: RunState, *bodies: EventBody) -> bool:
        """Append what follows from a state, unless the state has changed meanwhile.

        Then the next step is determined again.
        """
        return await self._env.journal.append_if(
            self._handle, lambda now: bodies if now is state else None, follow=self._follow
        )

    async def _perform(self, step: Step, state: RunState) -> None:
        if isinstance(step, Append):
            await self._if_still(state, *step.bodies)
        elif isinstance(step, CallModel):
            if await self._servers_lacking(state):
                return
            self._model_call = ModelCall(self._env, self._handle, self._teams, self._follow)
            await self._in_time(state, self._model_call.perform(with_tools=step.with_tools))
        elif isinstance(step, BeginCalls):
            await self._in_time(state, self._calls.begin(step.calls))
        elif isinstance(step, RunCalls):
            await self._in_time(state, self._calls.run(step.calls))
        elif isinstance(step, SampleForServer):
            call = state.call(step.call_id)
            assert call is not None
            await self._in_time(
                state, mcp_server_requests.sample_for_call(self._env, self._handle, call, step.key, self._follow)
            )
        elif isinstance(step, RecoverCalls):
            await self._in_time(state, self._calls.recover(step.calls))
        elif isinstance(step, Finish):
            end = _end(step)
            await self._teams.conclude(self._handle, lambda now: [end] if now is state else None)
        elif isinstance(step, StartChildren):
            await self._teams.start(self._handle, step.child_ids)
        elif isinstance(step, AnswerChildren):
            for child_id in step.child_ids:
                await self._teams.answer(self._handle, child_id, NO_ANSWER, by="engine")
        elif isinstance(step, StopChildren):
            await self._teams.stop_below(self._handle)

    async def _servers_lacking(self, state: RunState) -> bool:
        """Report, before the first reply, incomplete MCP servers of the agent not yet reported in the workflow.

        Return whether any.
        """
        servers = state.agent.mcp_servers
        if not servers or state.servers_lacking or state.spent.iterations:
            return False
        with spoken(state.language):
            problems = await self._env.server_problems(servers)
        async with self._env.announcing:  # the sub-agents of a team begin together
            news = await server_news(self._env.repos, state.workflow_id, servers, problems)
            return news is not None and await self._if_still(state, news)

    async def _unexpected(self, error: Exception) -> None:
        """Handle an unexpected exception of ours or a provider's: the run fails visibly and can be retried.

        Raises:
            StorageError: nothing can be written at all.
        """
        if isinstance(error, StorageError) and error.code != "query":
            raise error
        code = error.code if isinstance(error, AtelierError) else "internal_error"
        if not isinstance(error, AtelierError) or isinstance(error, StorageError):
            log.error("a step failed unexpectedly", exc_info=error)
        message = redact(error.localized(_) if isinstance(error, AtelierError) else f"{type(error).__name__}: {error}")
        words = (
            _("Internal error in Atelier. Everything up to this point is saved.")
            if code == "internal_error"
            else message
        )
        failed: EventBody = RunFailed(
            code=code,
            message=message,
            words=words,
            detail=message if words != message else "",
            provider=str(error.params.get("provider") or "") if isinstance(error, AtelierError) else "",
        )
        partial = self._model_call.cut_off("error") if self._model_call and not isinstance(error, StorageError) else []
        child = self._handle.current.parent_run_id is not None
        if child:
            # Nobody would retry a sub-agent: tell its parent, and leave nothing open below it.
            failed = RunFinished(status=RunStatus.ERROR, error=message)
            await self._teams.stop_below(self._handle)

        def decide(now: RunState) -> list[EventBody] | None:
            if now.status.final:
                return None
            closing = closing_events(now, CallStatus.CANCELLED, message, lost=True) if child else []
            return [*partial, *closing, failed]

        await self._teams.conclude(self._handle, decide, clear_partial=True)

    async def _in_time(self, state: RunState, work: Coroutine[object, None, None]) -> None:
        """Execute a step within the remaining time budget; on timeout, close what is open and pause."""
        left = budget.seconds_left(state.agent, state.raised_limits, state.spent)
        if left is None or state.final_only:
            await work
            return
        doing = asyncio.ensure_future(work)
        timer = asyncio.ensure_future(self._env.clock.sleep(left))
        try:
            while True:
                await asyncio.wait((doing, timer), return_when=asyncio.FIRST_COMPLETED)
                if doing.done():
                    await doing
                    return
                # Meanwhile a call's server may have waited for a person, which is not working time.
                left = self._left()
                if left <= ABOUT_S:
                    break
                timer = asyncio.ensure_future(self._env.clock.sleep(left))
        finally:
            timer.cancel()
            if not doing.done():
                doing.cancel()
                await asyncio.gather(doing, return_exceptions=True)
        await self._env.journal.append_if(self._handle, self._out_of_time, clear_partial=True)

    def _left(self) -> float:
        """Return the remaining working seconds."""
        now = self._handle.current
        left = budget.seconds_left(now.agent, now.raised_limits, now.spent) or 0.0
        if now.status is RunStatus.PROCESSING and now.last_time is not None:
            left -= max(0.0, (self._env.clock.now() - now.last_time).total_seconds())
        return left

    def _out_of_time(self, now: RunState) -> list[EventBody] | None:
        if _held(now):
            return None
        cap = budget.caps(now.agent, now.raised_limits)[LimitKind.TIME]
        # Timer and event clock may differ slightly: the limit was reached, so report at least the limit.
        value = max(cap, now.elapsed_ms / 1000)
        closing = self._closing(now, CallStatus.TIMEOUT, OUT_OF_TIME, "time", only_started=True)
        return [*closing, LimitReached(limit=LimitKind.TIME, value=value, cap=cap), RunPaused(reason=PauseReason.LIMIT)]

    async def _stopped(self, stop: Stop) -> None:
        """Commit the effect of a stop. A run that ended at the same moment stays as it ended."""
        reason, text = ("stopped", stop.end.error or CANCELLED) if stop.kind == "cancel" else ("superseded", SUPERSEDED)
        end = (stop.end,) if stop.kind == "cancel" else ()

        done = False

        def decide(now: RunState) -> list[EventBody] | None:
            nonlocal done
            if now.status.final:
                return None
            done = True
            if now.pause is not None:
                # It was reached at the same moment, and the wait for it aborted: it is no longer requested.
                self.pause_requested = False
            # The sender of a message wants the run to continue.
            resumed = [RunResumed(steps=now.steps)] if now.pause is not None and stop.kind == "message" else []
            return [*self._closing(now, CallStatus.CANCELLED, text, reason), *stop.then, *resumed, *end]

        try:
            if stop.after:
                await asyncio.wait(stop.after)
            await self._teams.conclude(self._handle, decide, clear_partial=True)
        except Exception:
            done = False
            raise
        finally:
            # The decision is committed even if the wait for it was aborted.
            self._model_call = None
            self.stop = None
            if not stop.done.done():
                stop.done.set_result(done)

    def _closing(
        self, now: RunState, status: CallStatus, text: str, reason: str, *, only_started: bool = False
    ) -> list[EventBody]:
        """Return events that close everything open: the partial reply, calls and questions."""
        events: list[EventBody] = self._model_call.cut_off(reason) if self._model_call else []
        return events + closing_events(now, status, text, only_started=only_started, at=self._env.clock.now())


def _end(step: Finish) -> RunFinished:
    return RunFinished(
        status=step.ending.status, summary=step.ending.summary, result=step.ending.result, misfit=step.ending.misfit
    )


def _held(now: RunState) -> bool:
    return now.status.final or now.pause is not None


def _worst(group: ExceptionGroup[Exception]) -> Exception:
    """Return the most important error of a group: a storage error, else the first."""
    flat = [
        one for each in group.exceptions for one in ([_worst(each)] if isinstance(each, ExceptionGroup) else [each])
    ]
    return next((error for error in flat if isinstance(error, StorageError)), flat[0])


def closing_events(
    state: RunState,
    status: CallStatus,
    text: str,
    *,
    only_started: bool = False,
    lost: bool = False,
    keep_reports: bool = False,
    at: datetime | None = None,
) -> list[EventBody]:
    """Return events that close a run's open questions and calls.

    Args:
        lost: the process of the started calls died, so their effect is unknown.
        keep_reports: calls whose sub-agents have all ended stay open for their reports.
        at: the present time, for the duration of running calls.
    """
    by = BY_USER if text == CANCELLED else ""
    events: list[EventBody] = []
    for question in state.questions:
        if not only_started or (question.spec.asker is not None and question.spec.asker.live):
            events.append(
                QuestionAnswered(question_id=question.id, call_id=question.call_id, status=QuestionStatus.SKIPPED)
            )
    for request in () if only_started else state.requests:
        events.append(
            ApprovalDecided(
                approval_id=request.id,
                call_id=request.call_id,
                status=ApprovalStatus.CANCELLED,
                note=text,
                decided_by="stop",
            )
        )
    for call in state.open_calls:
        if (
            keep_reports
            and call.waits_for == "children"
            and all(child.status.over for child in sub_agent_state.awaited(state, call))
        ):
            # Its result follows as soon as the run continues.
            continue
        if lost and call.status == "started":
            events += closed(call, CallStatus.UNKNOWN, EFFECT_UNKNOWN)
        elif not only_started or call.status == "started":
            asked = next((request for request in state.requests if request.call_id == call.call.id), None)
            events += closed(call, status, text, asked=asked, by=by, at=at)
    return events
