"""Steering runs: pause, resume, cancel, answer. What a command writes is decided from the run's state at the moment of writing."""

from __future__ import annotations

from app.domain.errors import ConflictError
from app.domain.events import (
    CallStatus,
    EventBody,
    Injected,
    LimitKind,
    PauseReason,
    QuestionAnswered,
    ReplyInterrupted,
    RunFinished,
    RunPaused,
    RunResumed,
)
from app.domain.question import QuestionStatus
from app.domain.workflow import RunMode, RunStatus
from app.engine.live import LiveRuns
from app.engine.run.driver import CANCELLED, closing_events
from app.engine.run.environment import RunEnvironment
from app.engine.run.prompt import FINISH_NOTE
from app.engine.run.reduce import FINISH_NOW
from app.engine.run.state import RunState
from app.engine.run.steps import Wait, next_step
from app.engine.run.tool_calls import finished
from app.i18n import N_
from app.tools.core.user_question import answer_result


class Steering:
    """What a person or script can do to a run that was started."""

    def __init__(self, env: RunEnvironment, live: LiveRuns) -> None:
        self._env = env
        self._runs = live

    async def pause(self, run_id: str) -> None:
        """Let the current step end, then hold the run until ``resume``.

        Raises:
            ConflictError: the run is over.
        """
        live = await self._runs.load(run_id)

        def decide(now: RunState) -> list[EventBody] | None:
            if now.status.final:
                raise ConflictError(N_("This run is over; there is nothing to pause."))
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
    ) -> None:
        """Go on with a run that was paused, cut off by a kill, stopped at a limit, or failed to reach its model.

        Args:
            raise_limits: what to add to the caps that stopped it. A limit that stays stops it again.
            steps: in stepping mode, how many steps to take; None takes them all.
            finish: give one last answer without tools, whatever the limit says.

        Raises:
            ConflictError: the run is over, or at work already.
        """
        live = await self._runs.load(run_id)
        if live.at_work and live.driver is not None and live.driver.pause_requested:
            # The pause that was asked for has not come yet: take it back.
            live.driver.pause_requested = False
            return
        state = live.handle.current
        if state.failed and (await self._env.repos.workflows.get(state.workflow_id)).head_run_id != run_id:
            raise ConflictError(N_("The conversation went on after this turn. Send the message again instead."))
        lost = [] if live.at_work else await self._lost_reply(run_id)
        resumed = RunResumed(raise_limits=raise_limits or {}, mode=mode, steps=steps)

        def decide(now: RunState) -> list[EventBody] | None:
            if live.at_work:
                raise ConflictError(N_("This run is at work already."))
            if now.status.final and not now.failed:
                raise ConflictError(N_("This run is over. Send a message to go on with the conversation."))
            if now.status is RunStatus.AWAITING_USER and isinstance(next_step(now), Wait):
                return None
            closing = closing_events(now, CallStatus.CANCELLED, CANCELLED, lost=True) if finish else []
            note = [Injected(reason=FINISH_NOW, content=FINISH_NOTE)] if finish else []
            return [resumed, *lost, *closing, *note]

        try:
            if await self._env.journal.append_if(live.handle, decide, clear_partial=True):
                self._runs.revived(live)
        finally:
            self._runs.drive(live)

    async def _lost_reply(self, run_id: str) -> list[EventBody]:
        """What a kill left of a streamed reply, as the event that keeps it."""
        partial = await self._env.repos.journal.partial(run_id)
        if not partial or not (partial.get("content") or partial.get("reasoning")):
            return []
        return [
            ReplyInterrupted(
                message_id=str(partial["message_id"]),
                content=str(partial.get("content") or ""),
                reasoning=str(partial.get("reasoning") or ""),
                reason="killed",
            )
        ]

    async def cancel(self, run_id: str) -> None:
        """Stop at once: the model's request is closed, the tool cancelled, what was done is kept. A run that is over stays as it is."""
        live = await self._runs.load(run_id)
        if await self._runs.stop(live, "cancel"):
            return
        lost = await self._lost_reply(run_id)

        def decide(now: RunState) -> list[EventBody] | None:
            if now.status.final:
                return None
            closing = closing_events(now, CallStatus.CANCELLED, CANCELLED, lost=True)
            return [*lost, *closing, RunFinished(status=RunStatus.CANCELLED)]

        try:
            await self._env.journal.append_if(live.handle, decide, clear_partial=True)
        finally:
            self._runs.settled(live)

    async def answer_question(self, question_id: str, status: QuestionStatus, selected: tuple[str, ...] = (), text: str = "") -> None:
        """Give a waiting call its result: an answer, a skip or a timeout. The run goes on when nothing else is open.

        Raises:
            NotFoundError: no such question.
            ConflictError: it was answered already.
        """
        question = await self._env.repos.questions.get(question_id)
        live = await self._runs.load(question.run_id)

        def decide(now: RunState) -> list[EventBody]:
            asked = next((q for q in now.questions if q.id == question_id), None)
            call = now.call(question.call_id)
            if asked is None or call is None or call.status != "waiting":
                raise ConflictError(N_("This question was answered already."))
            answered = asked.model_copy(update={"status": status, "selected_options": selected, "text_response": text})
            tool = call.intent.tool if call.intent else call.call.name
            waited = round((self._env.clock.now() - asked.created_at).total_seconds() * 1000)
            answer = QuestionAnswered(
                question_id=question_id, call_id=asked.call_id, status=status, selected_options=selected, text_response=text
            )
            return [answer, finished(asked.call_id, tool, answer_result(answered), duration_ms=max(0, waited))]

        try:
            await self._env.journal.append_if(live.handle, decide)
            self._env.record_answer(question.workflow_id, status)
        finally:
            self._runs.drive(live)
