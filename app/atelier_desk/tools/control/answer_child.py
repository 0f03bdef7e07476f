"""answer_child: the parent's answer to a waiting sub-agent."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from atelier_desk.domain import limits
from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.sub_agent import ChildStatus
from atelier_desk.support.i18n import N_
from atelier_desk.tools.base import AnswerChild, Effect, Input, Outcome, ToolContext
from atelier_desk.tools.control.control_tool_base import ControlTool, OfferedTool
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.tools.teams.team_tool_base import ChildId, NotBlank, listed, team_of


class AnswerChildInput(Input):
    child_id: ChildId
    message: Annotated[str, NotBlank] = Field(min_length=1, max_length=limits.MESSAGE)


@builtin(order=7)
class AnswerChildTool(ControlTool):
    """Answer a sub-agent and wait for its report."""

    name = "answer_child"
    title = N_("Answer to a sub-agent")
    purpose = N_("Answers a sub-agent that is waiting")
    summaries = {"": N_("Answer the sub-agent: {message}")}
    done = {"": N_("Answered the sub-agent: {message}")}
    effect = Effect.INTERACT
    input = AnswerChildInput
    what = "Answer a sub-agent that waits for you; gives its report."

    def offered(self, offer: OfferedTool) -> bool:
        return offer.child_asks

    async def run(self, input: AnswerChildInput, context: ToolContext) -> Outcome:
        children = await team_of(context, starting=False).children()
        asking = [child for child in children if child.status is ChildStatus.ASKING]
        if all(child.id != input.child_id for child in asking):
            known = any(child.id == input.child_id for child in children)
            raise ToolError(
                "{what} Sub-agents that wait for your answer: {names}.",
                code="not_asking" if known else "unknown_child",
                what=f"{input.child_id} does not wait for an answer."
                if known
                else f"{input.child_id} is no sub-agent of yours.",
                names=listed(asking),
            )
        return AnswerChild(input.child_id, input.message)
