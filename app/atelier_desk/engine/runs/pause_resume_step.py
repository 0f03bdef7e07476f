"""Steer runs: pause, resume, step, message. Commands write what follows from the run's state at the time of writing."""

from __future__ import annotations

from collections.abc import Callable

from atelier_desk.domain.errors import ConflictError
from atelier_desk.domain.events.run import (
    CallStatus,
    EventBody,
    Injected,
    LimitKind,
    LimitsRaised,
    PauseReason,
    RunPaused,
    RunResumed,
    UserMessage,
)
from atelier_desk.domain.workflow import Dispatch, RunMode
from atelier_desk.engine.journal.journal import Part
from atelier_desk.engine.run.driver import CANCELLED, SUPERSEDED, closing_events
from atelier_desk.engine.run.driver_dependencies import RunEnvironment
from atelier_desk.engine.run.lone_surrogates import sanitized
from atelier_desk.engine.run.reducer.next_step import Done, Wait, next_step
from atelier_desk.engine.run.reducer.reduce import FINISH_NOW
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.engine.run.request.prompt_texts import FINISH_NOTE
from atelier_desk.engine.runs.live_run import LiveRun
from atelier_desk.engine.runs.live_runs import LiveRuns, lost_reply
from atelier_desk.engine.runs.message_validation import calling, check_text
from atelier_desk.engine.runs.rights_withdrawal import RightsWithdrawal
from atelier_desk.support.i18n import N_

EVERYTHING = frozenset({LimitKind.MONTH, LimitKind.UNPRICED})
"""Limits of all runs together: what a person allows there is a setting."""

ENDED = N_("This run has ended. Send a message to continue in the workflow.")


class Steering:
    """Operations on started runs for people and scripts."""

    def __init__(self, env: RunEnvironment, runs: LiveRuns) -> None:
        self._env = env
        self._runs = runs
        self._rights_withdrawal = RightsWithdrawal(env, runs)

    async def pause(self, run_id: str) -> None:
        """Finish the current step, then hold the run and everything below it until ``resume``.

        Raises:
            ConflictError: the run has ended.
        """
        live = await self._runs.load(run_id)
        await self._pause(live)
        for child in await self._runs.below(live):
            if not child.handle.current.status.final:
                await self._pause(child, late=True)

    async def _pause(self, live: LiveRun, *, late: bool = False) -> None:

        def decide(now: RunState) -> list[EventBody] | None:
            if now.status.final and late:
                return None
            if now.status.final:
                raise ConflictError(N_("This run has ended; there is nothing to pause."))
            return [RunPaused(reason=PauseReason.USER)] if now.pause is None else None

        if live.at_work and live.driver is not None and not live.handle.current.status.final:
            live.driver.pause_requested = True
        else:
            await self._env.journal.append_if(live.handle, decide)

    async def resume(
        self,
        run_id: str,
        *,
        raise_limits: dict[LimitKind, float] | None = None,
        mode: RunMode | None = None,
        steps: int | None = None,
        finish: bool = False,
        below: bool = True,
    ) -> None:
        """Continue a run that was paused, interrupted, stopped at a limit, or could not reach its model.

        Runs below it that a person paused continue too.

        Args:
            raise_limits: amounts to add to the limits that stopped it; a sub-agent's are added to the limits above it
                too. An unchanged limit stops it again.
            steps: in stepping mode, number of steps. Without it and ``mode``, a run that waits for a step takes all,
                and one that was paused for another reason those it had left.
            finish: give a final answer without tools, regardless of limits.
            below: False leaves runs below it unchanged.

        Raises:
            ConflictError: the run has ended, or is already running.
        """
        live = await self._runs.load(run_id)
        await self._rights_withdrawal.before(live)
        if live.at_work and live.driver is not None and live.driver.pause_requested:
            # The requested pause has not happened yet: withdraw it.
            live.driver.pause_requested = False
            if below:
                await self._resume_below(live, mode, steps)
            return
        if live.handle.current.failed:
            # No other turn may begin while checking that this is the newest one.
            async with self._runs.beginning(live.handle.workflow_id):
                if (await self._env.repos.workflows.get(live.handle.workflow_id)).head_run_id != run_id:
                    raise ConflictError(
                        N_(
                            "The workflow has continued since this turn, so this turn cannot be "
                            "continued. Send the message again."
                        )
                    )
                await self._resume_run(live, raise_limits=raise_limits or {}, mode=mode, steps=steps, finish=finish)
        else:
            await self._resume_run(live, raise_limits=raise_limits or {}, mode=mode, steps=steps, finish=finish)
        if below:
            await self._resume_below(live, mode, steps)

    async def _resume_run(
        self,
        live: LiveRun,
        *,
        raise_limits: dict[LimitKind, float],
        mode: RunMode | None,
        steps: int | None,
        finish: bool,
    ) -> None:
        failed = live.handle.current.failed
        _check_resumable(live, failed)  # before more may be spent
        if LimitKind.MONTH in raise_limits and self._env.month.raise_limit is not None:
            await self._env.month.raise_limit(raise_limits[LimitKind.MONTH])
        if LimitKind.UNPRICED in raise_limits and self._env.month.allow_unpriced is not None:
            await self._env.month.allow_unpriced()
        # Both hold for everything, not for the run.
        raise_limits = {kind: amount for kind, amount in raise_limits.items() if kind not in EVERYTHING}
        lost = [] if live.at_work else await lost_reply(self._env.repos, live.handle.run_id)

        def decide(now: RunState) -> list[EventBody] | None:
            _check_resumable(live, failed)
            if now.pause is None and not now.failed and not finish and isinstance(next_step(now), Wait):
                # Only the person or run it waits for can make it continue.
                return None
            same = mode is None and steps is None and not finish
            left = _steps_left(now) if same else steps
            resumed = RunResumed(raise_limits=raise_limits, mode=mode, steps=left)
            closing = (
                closing_events(now, CallStatus.CANCELLED, CANCELLED, lost=True, keep_reports=True) if finish else []
            )
            note = [Injected(reason=FINISH_NOW, content=FINISH_NOTE)] if finish else []
            return [resumed, *lost, *closing, *note]

        if finish:
            # Their reports so far are included in the final answer.
            await self._runs.teams.stop_below(live.handle)
        try:
            above = await self._runs.above(live) if raise_limits else []
            if await self._resume_with(live, decide, above, raise_limits):
                self._runs.revived(live)
        finally:
            self._runs.drive(live)

    async def _resume_with(
        self,
        live: LiveRun,
        decide: Callable[[RunState], list[EventBody] | None],
        above: list[LiveRun],
        raised: dict[LimitKind, float],
    ) -> bool:
        def parts() -> list[Part]:
            bodies = decide(live.handle.current)
            if not bodies:
                return []
            out = [Part(live.handle, bodies, clear_partial=True)]
            child = live
            for parent in above:
                if parent.handle.current.failed or not parent.handle.current.status.final:
                    out.append(Part(parent.handle, [LimitsRaised(child_id=child.handle.run_id, raise_limits=raised)]))
                child = parent
            return out

        return await self._env.journal.append_together([live.handle, *(parent.handle for parent in above)], parts)

    async def _resume_below(self, live: LiveRun, mode: RunMode | None, steps: int | None) -> None:
        """Resume runs below that were paused together with it, or interrupted by a kill.

        One that has not paused yet does not any more, except for stepping mode, which it can enter only then.
        """
        for child in await self._runs.below(live):
            if child.driver is not None and child.at_work:
                child.driver.pause_requested = child.driver.pause_requested and mode is RunMode.STEPPING
                continue
            lost = await lost_reply(self._env.repos, child.handle.run_id)

            def decide(now: RunState, lost: list[EventBody] = lost) -> list[EventBody] | None:
                unheld = now.pause is None and not isinstance(next_step(now), Wait | Done)
                cut_off = unheld or now.pause is PauseReason.INTERRUPTED
                return (
                    [RunResumed(mode=mode, steps=_steps_left(now) if mode is None else steps), *lost]
                    if cut_off or now.pause is PauseReason.USER
                    else None
                )

            await self._env.journal.append_if(child.handle, decide, clear_partial=True)
            self._runs.drive(child)

    async def step(self, run_id: str) -> int:
        """Take one step of a stepping run and of every waiting run below it; return how many did.

        Raises:
            ConflictError: none of them waits for a step.
        """
        live = await self._runs.load(run_id)
        taken = 0
        for each in [live, *await self._runs.below(live)]:
            if await self._resume_from(each, PauseReason.STEP, RunResumed(steps=1)):
                taken += 1
            self._runs.drive(each)
        if not taken:
            raise ConflictError(N_("No run is waiting for its next step."))
        return taken

    async def message(self, run_id: str, content: str, strategy: Dispatch = Dispatch.QUEUE) -> None:
        """Send a message to one agent of a team.

        Raises:
            UsageError, LimitError: the message is blank or too long.
            ConflictError: its run has ended.
        """
        check_text(content)
        live = await self._runs.load(run_id)
        event = UserMessage(content=sanitized(content), strategy=strategy)
        if not await self.send(run_id, await calling(self._env, event, live.handle.current.workspace)):
            raise ConflictError(N_("This agent has finished. Write to the agent that started it instead."))

    async def send(self, run_id: str, message: UserMessage) -> bool:
        """Send a message to a live run; False if it ended first."""
        live = await self._runs.load(run_id)
        redirects = message.strategy is Dispatch.REDIRECT
        if redirects and await self._runs.stop(live, "message", message):
            self._runs.drive(live)
            return True

        def decide(now: RunState) -> list[EventBody] | None:
            if now.status.final:
                return None
            closing = closing_events(now, CallStatus.CANCELLED, SUPERSEDED, lost=True) if redirects else []
            # Writing to a paused run resumes it; a limit that still applies stops it again and asks. A message is not a
            # step: in stepping mode the run still waits before the next one.
            goes_on = now.pause is not None and message.strategy is not Dispatch.SILENT
            return [*closing, message, *([RunResumed(steps=now.steps)] if goes_on else [])]

        try:
            return await self._runs.teams.conclude(live.handle, decide)
        finally:
            self._runs.drive(live)

    async def _resume_from(self, live: LiveRun, pause: PauseReason, resumed: RunResumed) -> bool:
        def decide(now: RunState) -> list[EventBody] | None:
            return [resumed] if now.pause is pause else None

        return await self._env.journal.append_if(live.handle, decide)


def _steps_left(state: RunState) -> int | None:
    """Return the steps a resumed run may take: after another pause than that of step mode it stays in that mode."""
    return None if state.pause is PauseReason.STEP else state.steps


def _check_resumable(live: LiveRun, failed: bool) -> None:
    """Raise ConflictError if a run is at work or has ended; one that could not reach its model has not.

    Args:
        failed: that was so when resuming began. One that fails meanwhile has ended: another turn may begin after it.
    """
    now = live.handle.current
    if live.at_work:
        raise ConflictError(N_("This run is already in progress."))
    if now.status.final and not (failed and now.failed):
        raise ConflictError(ENDED)
