"""UserQuestionTool: ask the person and wait without blocking anything else."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from atelier_desk.domain import limits
from atelier_desk.domain.question import QuestionOption, QuestionSpec, QuestionStatus, QuestionType, UserQuestion
from atelier_desk.support.i18n import N_
from atelier_desk.support.visible_and_shortened_text import shorten
from atelier_desk.tools.base import AskUser, Effect, Input, Outcome, ToolCategory, ToolContext, ToolResult
from atelier_desk.tools.definition.tool_description import About, DescribedTool
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.tools.registry.sections import CORE
from atelier_desk.tools.registry.tool_services import QuestionGate


def _cut_placeholder(text: str) -> str:
    return shorten(text, limits.QUESTION_OPTION_LABEL)


Placeholder = Annotated[str, AfterValidator(_cut_placeholder)]
"""Placeholder text; too long ones are cut instead of refused."""


class Ask(Input):
    operation: Literal["ask"] = "ask"
    question: str = Field(min_length=1, max_length=limits.QUESTION, description="The question, in the user's language.")
    question_type: Literal["checkbox", "text", "mixed"] = Field(
        alias="questionType",
        description=(
            "checkbox: the user chooses one or more options; text: writes freely; mixed: chooses, and may write too."
        ),
    )
    options: list[QuestionOption] = Field(
        default=[],
        max_length=limits.QUESTION_OPTIONS,
        description=(
            "For checkbox and mixed, and needed there: each {id, label}; the label is shown, the id (unique) "
            "comes back."
        ),
    )
    text_placeholder: Placeholder = Field(
        default="", alias="textPlaceholder", description="Hint shown in the empty text field."
    )
    text_required: bool = Field(
        default=False, alias="textRequired", description="For mixed: choosing is not enough, text must be written too."
    )
    context: str = Field(
        default="", max_length=limits.QUESTION_CONTEXT, description="What the user must know to decide."
    )


@builtin(order=140)
class UserQuestionTool(DescribedTool):
    """Ask the user a question; the run continues when it is answered or skipped."""

    name = "UserQuestionTool"
    title = N_("Question for you")
    purpose = N_("Asks you when something essential is unclear")
    icon = "circle-help"
    summaries = {"ask": N_("Question for you: {question}")}
    done = {"ask": N_("Asked you: {question}")}
    category = ToolCategory.COMMON
    section = CORE
    effect = Effect.INTERACT
    idempotent = True
    awaits_external_response = True
    input = Ask
    about = About(
        what="Asks the user one question in a dialog and gives you the answer.",
        when="a decision is the user's, or something only the user knows is missing and would change the result.",
        when_not=(
            "you can find it out with another tool, a sensible default exists, or only to say something (answer "
            "instead)."
        ),
        operations={
            "ask": (
                "show it and wait, without a time limit unless the agent has one; gives selectedOptions (ids) "
                "and textResponse"
            )
        },
        example={
            "operation": "ask",
            "question": "Which database shall I use?",
            "questionType": "mixed",
            "options": [{"id": "sqlite", "label": "SQLite"}, {"id": "postgres", "label": "PostgreSQL"}],
            "textPlaceholder": "Anything to add?",
        },
        limits=(
            f"question {limits.QUESTION} characters",
            (
                f"{limits.QUESTION_OPTIONS} options, id {limits.QUESTION_OPTION_ID} and label "
                f"{limits.QUESTION_OPTION_LABEL} characters"
            ),
            f"context {limits.QUESTION_CONTEXT} characters",
            f"answer {limits.QUESTION_TEXT_RESPONSE} characters",
            f"{limits.QUESTION_PENDING} questions waiting at once",
        ),
    )
    abilities = {"ask": "ask"}

    async def run(self, input: Ask, context: ToolContext) -> Outcome:
        spec = QuestionSpec(
            question=input.question,
            question_type=QuestionType(input.question_type),
            options=tuple(input.options),
            text_placeholder=input.text_placeholder,
            text_required=input.text_required,
            context=input.context,
        )
        return await ask(spec, self.services.questions, context)


async def ask(spec: QuestionSpec, gate: QuestionGate | None, context: ToolContext) -> Outcome:
    """Return the question to wait for, or the refusal of the workflow's gate (queue full, user unresponsive)."""
    refusal = await gate.refusal(context.workflow_id) if gate is not None else None
    if refusal is not None:
        return ToolResult.failure(refusal, "question_refused")
    return AskUser(spec)


def answer_result(question: UserQuestion) -> ToolResult:
    """Return the result of the waiting call after the question was answered, skipped or timed out.

    Raises:
        ValueError: the question is still pending.
    """
    match question.status:
        case QuestionStatus.ANSWERED:
            return ToolResult.ok(
                selectedOptions=list(question.selected_options),
                textResponse=question.text_response,
                message="User response received",
            )
        case QuestionStatus.SKIPPED:
            return ToolResult.failure("Question skipped by user", "skipped")
        case QuestionStatus.TIMEOUT:
            return ToolResult.failure(
                (
                    f"The user did not answer within {question.timeout_s:g} seconds. Go on with a sensible assumption "
                    f"and say which."
                ),
                "timeout",
            )
        case _:
            raise ValueError(f"question {question.id} is still {question.status}")
