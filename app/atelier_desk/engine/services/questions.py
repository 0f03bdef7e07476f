"""Questions of agents: the queue, answers, and visibility."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from atelier_desk.domain import limits
from atelier_desk.domain.errors import ConflictError, LimitError, UsageError
from atelier_desk.domain.question import QuestionAnswer, QuestionStatus, UserQuestion, values_of
from atelier_desk.engine.services.common.service import Service
from atelier_desk.llm.secrets import redact
from atelier_desk.presentation import elicitation_form_text
from atelier_desk.presentation.validation_problems import explain
from atelier_desk.support.i18n import N_

SEEN_STEP_MS = 60_000
"""Maximum milliseconds counted per ``seen`` report: screens report about once a second, so more means suspension."""
ENDS = {
    QuestionStatus.ANSWERED: N_("answered"),
    QuestionStatus.SKIPPED: N_("skipped"),
    QuestionStatus.TIMEOUT: N_("timed out"),
}
"""How a closed question ended, for people."""


PROBLEMS = {
    "option": N_("Choose at least one option: {options}."),
    "unknown_option": N_("The question has no such option; its options are {options}."),
    "no_text": N_("This question takes options only, no text."),
    "text": N_("This question needs a text answer."),
    "one": N_("Either accept or decline, not both."),
}
"""The sentence for each result of ``QuestionAnswer.problem``."""


class QuestionService(Service):
    """Questions. Changes are announced as ``question`` with the question's id."""

    async def pending(self, workflow_id: str | None = None) -> list[UserQuestion]:
        """Return unanswered questions in order, of all workflows or one."""
        return await self._context.repos.questions.pending(workflow_id)

    async def list(self, workflow_id: str) -> list[UserQuestion]:
        """Return all questions of a workflow, including answered ones."""
        return await self._context.repos.questions.list(workflow_id)

    async def get(self, question_id: str) -> UserQuestion:
        return await self._context.repos.questions.get(question_id)

    async def answer(self, question_id: str, answer: QuestionAnswer, *, go_on: bool = True) -> UserQuestion:
        """Answer a pending question; its run continues unless ``go_on`` is False. The text is stripped.

        Raises:
            UsageError: the answer is invalid (code ``option``, ``unknown_option``, ``no_text`` or ``text``).
            ConflictError: it was answered, skipped or timed out meanwhile.
        """
        asked = await self._open(question_id)
        answer = answer.model_copy(update={"text_response": answer.text_response.strip()})
        code = answer.problem(asked.spec)
        if code is not None:
            raise self._refusal(code, asked, answer)
        if asked.spec.form is not None and redact(answer.text_response) != answer.text_response:
            raise UsageError(
                N_(
                    "An answer contains one of your keys. Forms must not contain secrets, so nothing was sent to "
                    "the server {server}."
                ),
                code="secret", server=asked.spec.asker.server if asked.spec.asker is not None else "",
            )  # fmt: skip
        return await self._finish(
            asked, QuestionStatus.ANSWERED, answer.selected_options, answer.text_response, go_on=go_on
        )

    async def answer_with(
        self, question_id: str, options: Sequence[str] = (), text: str = "", *, go_on: bool = True
    ) -> UserQuestion:
        """Like ``answer`` with plain values: options by id, label or number from 1."""
        asked = await self._open(question_id)
        if len(text) > limits.QUESTION_TEXT_RESPONSE:
            raise LimitError(
                N_("A text answer can have at most {most} characters; this one has {length}."),
                most=limits.QUESTION_TEXT_RESPONSE,
                length=len(text),
            )
        try:
            answer = QuestionAnswer(selected_options=resolve_options(asked, options), text_response=text)
        except ValidationError as error:
            raise UsageError(N_("The answer is not valid: {problems}"), problems=explain(error)) from None
        return await self.answer(question_id, answer, go_on=go_on)

    async def skip(self, question_id: str, *, go_on: bool = True) -> UserQuestion:
        """Skip a pending question; the agent is told and continues, unless ``go_on`` is False."""
        return await self._finish(await self._open(question_id), QuestionStatus.SKIPPED, go_on=go_on)

    async def seen(self, question_id: str, ms: int) -> float | None:
        """Count ``ms`` milliseconds in which the question was visible; time it out when its timeout is used up.

        Returns:
            Seconds left, 0.0 if it just timed out, None if it waits forever or is no longer pending.
        """
        if ms < 0:
            raise LimitError(N_("The viewing time cannot be negative ({ms} ms)."), ms=ms)
        asked = await self.get(question_id)
        if asked.status is not QuestionStatus.PENDING:
            return None
        counted = min(ms, SEEN_STEP_MS)
        if counted:
            await self._context.repos.questions.add_seen(question_id, counted)
        if asked.timeout_s == 0:
            return None
        left = asked.timeout_s - (asked.seen_ms + counted) / 1000
        if left > 0:
            return left
        try:
            await self._finish(asked, QuestionStatus.TIMEOUT)
        except ConflictError:
            # A person was faster.
            return None
        return 0.0

    async def _open(self, question_id: str) -> UserQuestion:
        asked = await self.get(question_id)
        if asked.status is not QuestionStatus.PENDING:
            raise ConflictError(
                N_("The question is no longer open: {status}."),
                code="not_pending",
                status=UsageError(ENDS[asked.status]),
            )
        return asked

    async def _finish(
        self,
        asked: UserQuestion,
        status: QuestionStatus,
        selected: tuple[str, ...] = (),
        text: str = "",
        *,
        go_on: bool = True,
    ) -> UserQuestion:
        await self._context.runs.answering.answer_question(asked.id, status, selected, text, go_on=go_on)
        self._context.bus.changed("question", asked.id)
        return await self.get(asked.id)

    @staticmethod
    def _refusal(code: str, asked: UserQuestion, answer: QuestionAnswer) -> UsageError:
        form = asked.spec.form
        if code == "form" and form is not None:
            wrong = form.problems(values_of(answer.text_response))
            return elicitation_form_text.problem(form, *next(iter(wrong.items())))
        options = ", ".join(f"{option.id} ({option.label})" for option in asked.spec.options)
        return UsageError(PROBLEMS[code], code=code, options=options)


def resolve_options(asked: UserQuestion, given: Sequence[str]) -> tuple[str, ...]:
    """Return option ids from ids, labels (any case) or numbers from 1.

    Unknown values are kept for the answer's validation.
    """
    options = asked.spec.options
    ids = {option.id: option.id for option in options}
    labels = {option.label.casefold(): option.id for option in options}
    numbers = {str(number): option.id for number, option in enumerate(options, 1)}
    chosen = [
        ids.get(one) or labels.get(one.casefold()) or numbers.get(one) or one
        for one in (each.strip() for each in given)
        if one
    ]
    return tuple(dict.fromkeys(chosen))
