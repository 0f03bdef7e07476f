"""The driver: performs what ``next_step`` says and commits what happened, until the run waits or is over."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Literal

from app.domain.errors import AtelierError, StorageError
from app.domain.events import (
    CallStatus,
    EventBody,
    LimitKind,
    LimitReached,
    PauseReason,
    QuestionAnswered,
    RunFailed,
    RunFinished,
    RunPaused,
)
from app.domain.question import QuestionStatus
from app.domain.workflow import RunStatus
from app.engine.journal import RunHandle
from app.engine.run.environment import RunEnvironment
from app.engine.run.model_call import ModelCall
from app.engine.run.state import RunState
from app.engine.run.steps import Append, CallModel, Done, ExecuteCalls, Finish, RecoverCalls, Step, Wait, next_step
from app.engine.run.tool_calls import ToolCalls, closed
from app.i18n import _
from app.policy import budget

log = logging.getLogger(__name__)

CANCELLED = "The user stopped this before it was done."
SUPERSEDED = "The user sent a new message instead of waiting for this."
OUT_OF_TIME = "The time allowed for this run was over before it was done."


@dataclass(frozen=True, slots=True)
class Stop:
    """Why the driver is stopped in the middle of a step: the run ends, or it goes on with ``then``."""

    kind: Literal["cancel", "interrupt"]
    then: tuple[EventBody, ...] = ()


class Driver:
    """Drives one run. One instance a stretch of work; the state is in the handle and, above all, in the journal.

    Attributes:
        pause_requested: the run pauses at the next step's border.
        stop: set before the driving task is cancelled on a person's behalf; without it a cancellation means that the program closes, and
            the journal is left as it is for the next start.
        stopped: done when the events of such a stop are committed.
    """

    def __init__(self, env: RunEnvironment, handle: RunHandle) -> None:
        self._env = env
        self._handle = handle
        self._calls = ToolCalls(env, handle)
        self._model_call: ModelCall | None = None
        self.pause_requested = False
        self.stop: Stop | None = None
        self.stopped: asyncio.Future[None] | None = None

    async def drive(self) -> None:
        """Work until the run waits or is over.

        Raises:
            StorageError: an event could not be committed; nothing after it was done.
            CancelledError: the program closes.
        """
        while True:
            try:
                while await self._advance():
                    pass
                return
            except asyncio.CancelledError:
                stop, task = self.stop, asyncio.current_task()
                if stop is None or task is None:
                    raise
                task.uncancel()
                self.stop = None
                await self._stopped(stop)
                if self.stopped is not None and not self.stopped.done():
                    self.stopped.set_result(None)

    async def _advance(self) -> bool:
        state = self._handle.current
        step = next_step(state)
        if isinstance(step, Wait | Done):
            return False
        if self.pause_requested and not isinstance(step, Append | Finish):
            self.pause_requested = False
            await self._env.journal.append(self._handle, RunPaused(reason=PauseReason.USER))
            return False
        await self._perform(step, state)
        return True

    async def _perform(self, step: Step, state: RunState) -> None:
        if isinstance(step, Append):
            await self._env.journal.append(self._handle, *step.bodies)
        elif isinstance(step, CallModel):
            self._model_call = ModelCall(self._env, self._handle)
            try:
                await self._in_time(state, self._model_call.perform(with_tools=step.with_tools))
            except Exception as error:
                await self._unexpected(error)
            self._model_call = None
        elif isinstance(step, ExecuteCalls):
            await self._in_time(state, self._calls.execute(step.calls))
        elif isinstance(step, RecoverCalls):
            await self._in_time(state, self._calls.recover(step.calls))
        elif isinstance(step, Finish):
            ending = step.ending
            await self._env.journal.append(self._handle, RunFinished(status=ending.status, summary=ending.summary, result=ending.result))

    async def _unexpected(self, error: Exception) -> None:
        """A fault of ours or of a provider's that no typed error covers: the run fails visibly and can be tried again."""
        if isinstance(error, StorageError):
            raise error
        code = error.code if isinstance(error, AtelierError) else "internal_error"
        if not isinstance(error, AtelierError):
            log.exception("the model call failed unexpectedly")
        message = error.localized(_) if isinstance(error, AtelierError) else f"{type(error).__name__}: {error}"
        interrupted = self._model_call.interrupted("error") if self._model_call else []
        await self._env.journal.append(self._handle, *interrupted, RunFailed(code=code, message=message), clear_partial=True)

    async def _in_time(self, state: RunState, work: Coroutine[Any, Any, None]) -> None:
        """Do a step within the time that is left of the budget; when it is over, close what is open and pause."""
        left = budget.seconds_left(state.agent, state.raised_limits, state.spent)
        if left is None or state.final_only:
            await work
            return
        doing = asyncio.ensure_future(work)
        timer = asyncio.ensure_future(self._env.clock.sleep(left))
        try:
            await asyncio.wait((doing, timer), return_when=asyncio.FIRST_COMPLETED)
            if doing.done():
                await doing
                return
        finally:
            timer.cancel()
            if not doing.done():
                doing.cancel()
                await asyncio.gather(doing, return_exceptions=True)
        cap = budget.caps(state.agent, state.raised_limits)[LimitKind.TIME]
        # The timer and the events' clock may differ by a little: the cap was reached, so the value is at least the cap.
        value = max(cap, self._handle.current.elapsed_ms / 1000)
        closing = self.closing(CallStatus.TIMEOUT, OUT_OF_TIME, "time", only_started=True)
        reached = LimitReached(limit=LimitKind.TIME, value=value, cap=cap)
        await self._env.journal.append(self._handle, *closing, reached, RunPaused(reason=PauseReason.LIMIT), clear_partial=True)

    async def _stopped(self, stop: Stop) -> None:
        reason, text = ("stopped", CANCELLED) if stop.kind == "cancel" else ("superseded", SUPERSEDED)
        closing = self.closing(CallStatus.CANCELLED, text, reason)
        end: tuple[EventBody, ...] = stop.then
        if stop.kind == "cancel":
            end = (*end, RunFinished(status=RunStatus.CANCELLED))
        await self._env.journal.append(self._handle, *closing, *end, clear_partial=True)

    def closing(self, status: CallStatus, text: str, reason: str, *, only_started: bool = False) -> list[EventBody]:
        """Events that close everything open: the partial reply, calls and questions."""
        events: list[EventBody] = self._model_call.interrupted(reason) if self._model_call else []
        self._model_call = None
        return events + closing_events(self._handle.current, status, text, only_started=only_started)


def closing_events(state: RunState, status: CallStatus, text: str, *, only_started: bool = False) -> list[EventBody]:
    """Events that close a run's open questions and calls."""
    events: list[EventBody] = []
    if not only_started:
        for question in state.questions:
            events.append(QuestionAnswered(question_id=question.id, call_id=question.call_id, status=QuestionStatus.SKIPPED))
    for call in state.open_calls:
        if not only_started or call.status == "started":
            events += closed(call, status, text)
    return events
