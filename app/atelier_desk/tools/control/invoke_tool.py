"""invoke_tool: call a registered tool by name, for agents that see their tools as text."""

from __future__ import annotations

import json
from typing import Annotated

from pydantic import BeforeValidator, Field

from atelier_desk.domain.agent import ToolMode
from atelier_desk.domain.errors import ToolError
from atelier_desk.support.i18n import N_
from atelier_desk.tools.base import Effect, Input, Outcome, ToolContext, ToolResult
from atelier_desk.tools.control.control_tool_base import ControlTool, OfferedTool
from atelier_desk.tools.registry.builtin import builtin


def _parsed(value: object) -> object:
    """Parse nested arguments, which models often write as JSON text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value) if value.strip() else {}
    except ValueError as error:
        raise ValueError("must be a JSON object, and this text is not valid JSON") from error


class InvokeToolInput(Input):
    tool_name: str = Field(min_length=1, max_length=128)
    arguments: Annotated[dict[str, object], BeforeValidator(_parsed)] = Field(default={})


@builtin(order=6)
class InvokeTool(ControlTool):
    """Run another tool. The engine resolves the call first, so that the journal names the tool that really runs."""

    name = "invoke_tool"
    title = N_("Call a tool")
    purpose = N_("Calls a tool by name from the agent's tool list")
    icon = "terminal"
    effect = Effect.EXECUTE
    idempotent = False
    timeout_s = 0.0
    hands_on = True
    input = InvokeToolInput
    what = "Call a tool of the list by its name."

    def offered(self, offer: OfferedTool) -> bool:
        return offer.mode is ToolMode.INVOKE

    def stands_for(self, input: InvokeToolInput) -> tuple[str, dict[str, object]]:
        return input.tool_name, dict(input.arguments)

    async def run(self, input: InvokeToolInput, context: ToolContext) -> Outcome:
        registry = self.services.registry
        if registry is None:
            raise ToolError("No tools are available in this run.", code="unknown_tool")
        arguments = {"tool_name": input.tool_name, "arguments": input.arguments}
        target = registry.meant(self.name, arguments, context.enabled_tools)
        if isinstance(target, ToolResult):
            return target
        name, inner = target
        return await registry.execute(name, inner, context)
