"""The pure decision: ``next_step(state)`` says what is to be done next, from the state alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from app.domain.events import EventBody, Injected, LimitReached, LoopDetected, PauseReason, RunPaused
from app.domain.task import TaskStatus
from app.domain.workflow import RunMode, RunStatus
from app.engine.run.reduce import ARE_YOU_DONE
from app.engine.run.state import CallState, Ending, EntryKind, RunState
from app.policy import budget, loop_guard


@dataclass(frozen=True, slots=True)
class CallModel:
    """Send the conversation to the model."""

    with_tools: bool = True


@dataclass(frozen=True, slots=True)
class ExecuteCalls:
    """Run these planned calls."""

    calls: tuple[CallState, ...]


@dataclass(frozen=True, slots=True)
class RecoverCalls:
    """These calls were started and have no result: the program died meanwhile. Run the idempotent ones again, close the others."""

    calls: tuple[CallState, ...]


@dataclass(frozen=True, slots=True)
class Append:
    """Commit these events, which follow from the state alone."""

    bodies: tuple[EventBody, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do until someone acts; costs nothing and survives a restart."""

    reason: Literal["user", "paused", "failed"]


@dataclass(frozen=True, slots=True)
class Finish:
    """End the run."""

    ending: Ending


@dataclass(frozen=True, slots=True)
class Done:
    """The run is over."""


Step = CallModel | ExecuteCalls | RecoverCalls | Append | Wait | Finish | Done


def next_step(state: RunState) -> Step:
    """What the driver must do now. Total: every state has exactly one next step."""
    if state.failed:
        return Wait("failed")
    if state.status.final:
        return Done()
    if state.pause is not None:
        return Wait("paused")
    started = tuple(call for call in state.calls if call.status == "started")
    if started:
        return RecoverCalls(started)
    planned = tuple(call for call in state.calls if call.status == "planned")
    if planned and state.ending is None:
        return _gate(state, ExecuteCalls(planned))
    if any(call.status == "waiting" for call in state.calls):
        return Wait("user")
    if state.ending is not None:
        return Finish(state.ending)
    loop = _loop_step(state)
    if loop is not None:
        return loop
    if state.needs_model:
        return _gate(state, CallModel(with_tools=not state.final_only))
    open_tasks = [mark.name for mark in state.tasks if mark.status in (TaskStatus.PENDING, TaskStatus.IN_PROGRESS)]
    # A guided model cannot reason about its plan, and its user made the tasks on purpose: asking it would only confuse.
    if open_tasks and not state.asked_done and state.dialect != "guided":
        return Append((Injected(reason=ARE_YOU_DONE, content=_are_you_done(open_tasks)),))
    return Finish(Ending(status=RunStatus.COMPLETED, result=_last_reply(state)))


def _gate(state: RunState, step: CallModel | ExecuteCalls) -> Step:
    """A step that costs something goes ahead only within the caps, and in stepping mode only when it was asked for."""
    if state.mode is RunMode.STEPPING and state.steps is not None and state.steps <= 0:
        return Append((RunPaused(reason=PauseReason.STEP),))
    if isinstance(step, CallModel):
        if state.final_only:
            return step
        reached = budget.before_model(state.agent, state.raised_limits, state.spent)
    else:
        reached = budget.before_calls(state.agent, state.raised_limits, state.spent)
    if reached is None:
        return step
    return Append((LimitReached(limit=reached.limit, value=reached.value, cap=reached.cap), RunPaused(reason=PauseReason.LIMIT)))


def _loop_step(state: RunState) -> Append | None:
    if not state.entries or state.entries[-1].kind is not EntryKind.RESULT or len(state.entries) == state.loop_checked:
        return None
    verdict = loop_guard.verdict(state.recent, state.loop_warned, newest=len(state.calls))
    if verdict is None:
        return None
    results = [entry for entry in state.entries if entry.kind is EntryKind.RESULT]
    tool = results[-1 - verdict.index].tool if verdict.index < len(results) else results[-1].tool
    detected = LoopDetected(tool=tool, count=verdict.count, action=verdict.action, digest=verdict.digest)
    if verdict.action == "pause":
        return Append((detected, RunPaused(reason=PauseReason.LOOP)))
    warning = (
        f"You have called {tool} {verdict.count} times with the same arguments and got the same result. Calling it again will not change "
        "anything. Try something else, or answer with what you have."
    )
    return Append((detected, Injected(reason="loop_warning", content=warning)))


def _are_you_done(names: list[str]) -> str:
    listed = "; ".join(names[:10])
    return f"These tasks of yours are still open: {listed}. Are you done? If so, close or delete them and give your final reply."


def _last_reply(state: RunState) -> str:
    return next((entry.text for entry in reversed(state.entries) if entry.kind is EntryKind.REPLY), "")
