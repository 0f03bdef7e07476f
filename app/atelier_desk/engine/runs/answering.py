"""Deliver what runs wait for: answers to questions, and answers in a parent's place."""

from __future__ import annotations

from atelier_desk.domain.errors import ConflictError
from atelier_desk.domain.events.run import (
    EventBody,
    QuestionAnswered,
)
from atelier_desk.domain.question import QuestionStatus, UserQuestion
from atelier_desk.engine.run.driver_dependencies import RunEnvironment
from atelier_desk.engine.run.lone_surrogates import sanitized
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.engine.run.tool_result_events import call_finished
from atelier_desk.engine.runs.live_runs import LiveRuns
from atelier_desk.engine.runs.message_validation import check_text
from atelier_desk.support.i18n import N_
from atelier_desk.tools.core.user_question import answer_result


class Answering:
    """Answers to questions, and to sub-agents that asked their parent."""

    def __init__(self, env: RunEnvironment, runs: LiveRuns) -> None:
        self._env = env
        self._runs = runs

    async def answer_question(
        self,
        question_id: str,
        status: QuestionStatus,
        selected: tuple[str, ...] = (),
        text: str = "",
        *,
        go_on: bool = True,
    ) -> None:
        """Give a waiting call its result: an answer, a skip or a timeout.

        The run continues if nothing else is open; with ``go_on`` False only when resumed.

        Raises:
            NotFoundError: no such question.
            ConflictError: it was already answered.
        """
        question = await self._env.repos.questions.get(question_id)
        live = await self._runs.load(question.run_id)

        def decide(now: RunState) -> list[EventBody]:
            asked = next((q for q in now.questions if q.id == question_id), None)
            call = now.call(question.call_id)
            if asked is not None and asked.spec.asker is not None:
                return [_to_server(asked, status, selected, text)]
            if asked is None or call is None or call.status != "waiting":
                raise ConflictError(N_("This question was already answered."))
            answered = asked.model_copy(update={"status": status, "selected_options": selected, "text_response": text})
            tool = call.intent.tool if call.intent else call.call.name
            waited = round((self._env.clock.now() - asked.created_at).total_seconds() * 1000)
            answer = QuestionAnswered(
                question_id=question_id,
                call_id=asked.call_id,
                status=status,
                selected_options=selected,
                text_response=text,
            )
            return [answer, call_finished(asked.call_id, tool, answer_result(answered), duration_ms=max(0, waited))]

        try:
            await self._env.journal.append_if(live.handle, decide)
            self._env.record_answer(question.workflow_id, status)
        finally:
            if go_on:
                self._runs.drive(live)

    async def answer_child(self, child_run_id: str, text: str) -> None:
        """Answer a sub-agent that asked its parent, in the parent's place.

        Raises:
            UsageError, LimitError: the answer is blank or too long.
            ConflictError: it is not waiting for an answer.
        """
        check_text(text)
        live = await self._runs.load(child_run_id)
        parent = live.handle.current.parent_run_id
        if parent is None or not live.handle.current.asked_parent:
            raise ConflictError(N_("This agent is not waiting for an answer from its parent."))
        above = await self._runs.load(parent)
        if not await self._runs.teams.answer(above.handle, child_run_id, sanitized(text), by="user"):
            raise ConflictError(N_("This agent is not waiting for an answer from its parent."))
        self._runs.drive(above)


def _to_server(asked: UserQuestion, status: QuestionStatus, selected: tuple[str, ...], text: str) -> QuestionAnswered:
    """Build the answer for the asking server; the call's result comes from the server."""
    return QuestionAnswered(
        question_id=asked.id, call_id=asked.call_id, status=status, selected_options=selected, text_response=text
    )
