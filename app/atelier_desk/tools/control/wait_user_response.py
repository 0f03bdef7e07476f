"""wait_user_response: a question to the user, in the same queue and card as UserQuestionTool."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from atelier_desk.domain import limits
from atelier_desk.domain.question import QuestionOption, QuestionSpec, QuestionType
from atelier_desk.support.i18n import N_
from atelier_desk.tools.base import Effect, Input, Outcome, ToolContext
from atelier_desk.tools.control.control_tool_base import ControlTool
from atelier_desk.tools.core.user_question import Placeholder, ask
from atelier_desk.tools.registry.builtin import builtin

Label = Annotated[str, Field(min_length=1, max_length=limits.QUESTION_OPTION_LABEL)]


class WaitUserResponseInput(Input):
    question: str = Field(min_length=1, max_length=limits.QUESTION)
    options: list[Label] = Field(
        default=[],
        max_length=limits.QUESTION_OPTIONS,
    )
    placeholder: Placeholder = ""


@builtin(order=1)
class WaitUserResponse(ControlTool):
    """Ask the user and wait."""

    name = "wait_user_response"
    title = N_("Question for you")
    purpose = N_("Asks you for information that the agent cannot find itself")
    icon = "circle-help"
    summaries = {"": N_("Question for you: {question}")}
    done = {"": N_("Asked you: {question}")}
    effect = Effect.INTERACT
    input = WaitUserResponseInput
    what = "Ask the user what you cannot find out, and wait."

    async def run(self, input: WaitUserResponseInput, context: ToolContext) -> Outcome:
        options = _options(input.options)
        spec = QuestionSpec(
            question=input.question,
            question_type=QuestionType.MIXED if options else QuestionType.TEXT,
            options=options,
            text_placeholder=input.placeholder,
        )
        return await ask(spec, self.services.questions, context)


def _options(labels: list[str]) -> tuple[QuestionOption, ...]:
    """Return options whose ids are their labels, so that the model recognises the answer.

    Duplicates and long ones get a number.
    """
    options: dict[str, QuestionOption] = {}
    for number, label in enumerate(labels, 1):
        name = label[: limits.QUESTION_OPTION_ID]
        if name in options:
            name = f"{label[: limits.QUESTION_OPTION_ID - 4]}#{number}"
        options[name] = QuestionOption(id=name, label=label)
    return tuple(options.values())
