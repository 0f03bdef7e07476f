"""wait_user_response: a question to the user, in the same queue and card as UserQuestionTool."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from atelier_desk.domain import limits
from atelier_desk.domain.question import QuestionOption, QuestionSpec, QuestionType
from atelier_desk.tools.base import Effect, Input, Outcome, ToolContext
from atelier_desk.tools.control.base import ControlTool
from atelier_desk.tools.core.user_question import ask
from atelier_desk.tools.describe import About

Label = Annotated[str, Field(min_length=1, max_length=limits.QUESTION_OPTION_LABEL)]


class WaitUserResponseInput(Input):
    question: str = Field(min_length=1, max_length=limits.QUESTION, description="The question, in the user's language.")
    options: list[Label] = Field(
        default=[],
        max_length=limits.QUESTION_OPTIONS,
        description="Answers to choose from; the user may add text. Free text when left out.",
    )
    placeholder: str = Field(default="", max_length=limits.QUESTION_OPTION_LABEL, description="Hint shown in the empty text field.")


class WaitUserResponse(ControlTool):
    """Ask the user and wait."""

    name: ClassVar[str] = "wait_user_response"
    effect: ClassVar[Effect] = Effect.INTERACT
    input: ClassVar[Any] = WaitUserResponseInput
    about: ClassVar[About] = About(
        what="Asks the user a question and waits for the answer.",
        when="you cannot go on without the user's decision or knowledge.",
        when_not="you can find it out yourself, or only want to tell something (output).",
        example={"question": "Which format do you want?", "options": ["PDF", "HTML"]},
        limits=(
            f"question {limits.QUESTION} characters",
            f"{limits.QUESTION_OPTIONS} options of {limits.QUESTION_OPTION_LABEL} characters",
        ),
    )

    async def run(self, input: Any, context: ToolContext) -> Outcome:
        options = _options(input.options)
        spec = QuestionSpec(
            question=input.question,
            question_type=QuestionType.MIXED if options else QuestionType.TEXT,
            options=options,
            text_placeholder=input.placeholder,
        )
        return await ask(spec, context)


def _options(labels: list[str]) -> tuple[QuestionOption, ...]:
    """Options whose ids are their labels, so that the model recognises the answer; a repeated or overlong one gets a number."""
    options: dict[str, QuestionOption] = {}
    for number, label in enumerate(labels, 1):
        name = label[: limits.QUESTION_OPTION_ID]
        if name in options:
            name = f"{label[: limits.QUESTION_OPTION_ID - 4]}#{number}"
        options[name] = QuestionOption(id=name, label=label)
    return tuple(options.values())
