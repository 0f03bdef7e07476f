"""answer_child: the parent's answer to a sub-agent that waits for it."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from atelier_desk.domain import limits
from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.team import ChildStatus
from atelier_desk.tools.base import AnswerChild, Effect, Input, Outcome, ToolContext
from atelier_desk.tools.control.base import ControlTool
from atelier_desk.tools.describe import About
from atelier_desk.tools.teams.base import ChildId, NotBlank, listed, team_of


class AnswerChildInput(Input):
    child_id: ChildId
    message: Annotated[str, NotBlank] = Field(min_length=1, max_length=limits.MESSAGE, description="Your answer to its question.")


class AnswerChildTool(ControlTool):
    """Answer a sub-agent and wait for its report."""

    name: ClassVar[str] = "answer_child"
    effect: ClassVar[Effect] = Effect.INTERACT
    input: ClassVar[Any] = AnswerChildInput
    about: ClassVar[About] = About(
        what="Answers the question of a sub-agent that waits for you, and gives you its report when it is done.",
        when="a result says that a sub-agent is waiting for you.",
        when_not="only the user knows the answer: ask first (wait_user_response), then answer.",
        example={"child_id": "<child_id of the question>", "message": "Yes, include the archived files."},
        limits=(f"message {limits.MESSAGE} characters",),
    )

    async def run(self, input: Any, context: ToolContext) -> Outcome:
        children = await team_of(context, starting=False).children()
        asking = [child for child in children if child.status is ChildStatus.ASKING]
        if all(child.id != input.child_id for child in asking):
            known = any(child.id == input.child_id for child in children)
            raise ToolError(
                "{what} Sub-agents that wait for your answer: {names}.",
                code="not_asking" if known else "unknown_child",
                what=f"{input.child_id} does not wait for an answer." if known else f"{input.child_id} is no sub-agent of yours.",
                names=listed(asking),
            )
        return AnswerChild(input.child_id, input.message)
