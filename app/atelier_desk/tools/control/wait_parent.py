"""wait_parent: a sub-agent's question to its parent."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from atelier_desk.domain import limits
from atelier_desk.domain.errors import ToolError
from atelier_desk.support.i18n import N_
from atelier_desk.tools.base import AskParent, Effect, Input, Outcome, ToolContext
from atelier_desk.tools.control.control_tool_base import ControlTool, OfferedTool
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.tools.teams.team_tool_base import NotBlank


class WaitParentInput(Input):
    message: Annotated[str, NotBlank] = Field(min_length=1, max_length=limits.QUESTION)


@builtin(order=5)
class WaitParent(ControlTool):
    """Ask the parent; a root run has none."""

    name = "wait_parent"
    title = N_("Question for the parent agent")
    purpose = N_("Asks the parent agent")
    summaries = {"": N_("Ask the parent agent: {message}")}
    done = {"": N_("Asked the parent agent: {message}")}
    effect = Effect.INTERACT
    input = WaitParentInput
    what = "Ask the agent that started you and wait."

    def offered(self, offer: OfferedTool) -> bool:
        return offer.has_parent

    async def run(self, input: WaitParentInput, context: ToolContext) -> Outcome:
        if context.depth == 0:
            raise ToolError(
                "This run was started by the user and has no parent. Ask the user with wait_user_response.",
                code="no_parent",
            )
        return AskParent(input.message)
