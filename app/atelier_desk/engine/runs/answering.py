"""Deliver what runs wait for: answers to questions, decisions about calls, and answers in a parent's place."""

from __future__ import annotations

from collections.abc import Collection, Set

from atelier_desk.domain.approval import (
    NOBODY_TO_ASK,
    ApprovalRequest,
    ApprovalScope,
    ApprovalStatus,
    Decision,
    same_arguments,
)
from atelier_desk.domain.errors import ConflictError
from atelier_desk.domain.events.run import (
    ApprovalAskedAgain,
    ApprovalDecided,
    CallStatus,
    EventBody,
    QuestionAnswered,
)
from atelier_desk.domain.question import QuestionStatus, UserQuestion
from atelier_desk.engine.run.driver_dependencies import RunEnvironment
from atelier_desk.engine.run.lone_surrogates import sanitized
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.engine.run.tool_results import call_finished, closed
from atelier_desk.engine.runs.live_runs import LiveRuns
from atelier_desk.engine.runs.message_validation import check_text
from atelier_desk.policy.approval_strictness_and_grouping import may_approve_together
from atelier_desk.support.i18n import N_
from atelier_desk.tools.core.user_question import answer_result


class Answering:
    """Answers to questions, approval requests, and sub-agents that asked their parent."""

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

    async def decide_approval(self, approval_id: str, decision: Decision) -> None:
        """Approve or reject a waiting call. A rejection is the call's result, with its note as the reason.

        Raises:
            NotFoundError: no such request.
            ConflictError: it was already decided.
        """
        request = await self._env.repos.approvals.get(approval_id)
        live = await self._runs.load(request.run_id)

        def decide(now: RunState) -> list[EventBody]:
            asked = next((each for each in now.requests if each.id == approval_id), None)
            call = now.call(request.call_id)
            if asked is None or call is None or call.status != "asked":
                raise ConflictError(N_("The decision was already made."))
            fields = dict(decision)
            if decision.arguments is not None and same_arguments(decision.arguments, asked.arguments):
                fields["arguments"] = None
            decided = ApprovalDecided(approval_id=approval_id, call_id=asked.call_id, seen_ms=request.seen_ms, **fields)
            if decision.status is ApprovalStatus.APPROVED:
                return [decided, *_covered(now, asked, decision)]
            why = rejection(asked, decision.note, decision.decided_by)
            return [decided, *closed(call, CallStatus.ERROR, why, code="rejected", asked=asked)]

        try:
            await self._env.journal.append_if(live.handle, decide)
        finally:
            self._runs.drive(live)

    async def allow_together(self, run_id: str, approval_ids: Collection[str]) -> None:
        """Approve these calls of one run once, in one step: those still waiting, and no others.

        Raises:
            NotFoundError: no such run.
            ConflictError: none of them is still waiting, or one may not be approved with others; then nothing is
                approved.
        """
        live = await self._runs.load(run_id)
        seen = {
            each.id: each.seen_ms for each in await self._env.repos.approvals.pending(live.handle.current.workflow_id)
        }

        def decide(now: RunState) -> list[EventBody]:
            asked = [each for each in now.requests if each.id in approval_ids]
            if not asked:
                raise ConflictError(N_("The decision was already made."))
            if not all(map(may_approve_together, asked)):
                raise ConflictError(N_("These calls cannot be allowed together. Decide on each of them."))
            allowed = ApprovalStatus.APPROVED
            return [
                ApprovalDecided(approval_id=each.id, call_id=each.call_id, status=allowed, seen_ms=seen.get(each.id, 0))
                for each in asked
            ]

        try:
            await self._env.journal.append_if(live.handle, decide)
        finally:
            self._runs.drive(live)

    async def ask_approval_again(self, asked: ApprovalRequest) -> None:
        """Restart the time to decide of ``asked``, unless it was decided or restarted by another screen meanwhile.

        Raises:
            NotFoundError: no such run.
        """
        live = await self._runs.load(asked.run_id)
        again = ApprovalAskedAgain(approval_id=asked.id, call_id=asked.call_id)

        def decide(now: RunState) -> list[EventBody] | None:
            waits = any(request.id == asked.id and request.round == asked.round for request in now.requests)
            return [again] if waits else None

        await self._env.journal.append_if(live.handle, decide)

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


def _covered(now: RunState, asked: ApprovalRequest, decision: Decision) -> list[EventBody]:
    """Return approvals of other waiting calls covered by a permission for the run or permanently.

    Covered are calls of the same tool, and of others those asked for the same reason.
    """
    if decision.scope is ApprovalScope.ONCE:
        return []
    texts = {rule.text for rule in decision.rules}
    return [
        ApprovalDecided(
            approval_id=other.id,
            call_id=other.call_id,
            status=ApprovalStatus.APPROVED,
            scope=decision.scope,
            decided_by=decision.decided_by,
        )
        for other in now.requests
        if other.id != asked.id and (other.tool == asked.tool or other.reason == asked.reason) and _covers(texts, other)
    ]


def _covers(texts: Set[str], other: ApprovalRequest) -> bool:
    """Whether rules certainly allow a waiting call. Calls that always ask have none, and keep waiting."""
    scopes = {other.tool, f"section:{other.section}", f"mcp__{other.server}"}
    return bool(other.always) and (bool(scopes & texts) or set(other.always) <= texts)


def rejection(request: ApprovalRequest, note: str, decided_by: str) -> str:
    """Return the text for the agent about a rejected call."""
    what = f"{request.tool} {request.operation}".strip()
    if decided_by == "timeout":
        return f"{what} was not allowed: nobody decided in time. Go on without it, or ask the user."
    if note == NOBODY_TO_ASK:
        return (
            f"{what} was not allowed: nobody is there to ask in this run. Do not try the same again; go on without it."
        )
    stop = "" if note.endswith((".", "!", "?", "…")) else "."
    reason = f" Reason: {note}{stop}" if note else ""
    return f"{what} was rejected by the user.{reason} Do not try the same again; go on without it or do it another way."
