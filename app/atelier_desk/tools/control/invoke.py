"""invoke_tool: call a registered tool by name, for agents that see their tools as text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from atelier_desk.domain.errors import ToolError
from atelier_desk.tools.base import Effect, Input, Outcome, ToolContext, ToolResult
from atelier_desk.tools.control.base import ControlTool
from atelier_desk.tools.modes import INVOKE
from atelier_desk.tools.registry import ToolRegistry
from atelier_desk.tools.validation import InvalidArgumentsError, validate


def _parsed(value: Any) -> Any:
    """Models often write the inner arguments as a JSON text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value) if value.strip() else {}
    except ValueError as error:
        raise ValueError("must be a JSON object, and this text is not valid JSON") from error


class InvokeToolInput(Input):
    tool_name: str = Field(min_length=1, max_length=128)
    arguments: Annotated[dict[str, Any], BeforeValidator(_parsed)] = Field(default={})


class InvokeTool(ControlTool):
    """Run another tool. The engine unwraps the call before it runs, so that the journal names the tool that really runs."""

    name: ClassVar[str] = INVOKE
    effect: ClassVar[Effect] = Effect.EXECUTE
    idempotent: ClassVar[bool] = False
    timeout_s: ClassVar[float] = 0.0
    input: ClassVar[Any] = InvokeToolInput
    what: ClassVar[str] = "Call a tool of the list by its name."

    async def run(self, input: Any, context: ToolContext) -> Outcome:
        if context.registry is None:
            raise ToolError("No tools are available in this run.", code="unknown_tool")
        target = unwrap(INVOKE, {"tool_name": input.tool_name, "arguments": input.arguments}, context.registry, context.enabled_tools)
        if isinstance(target, ToolResult):
            return target
        name, arguments = target
        return await context.registry.execute(name, arguments, context)


def unwrap(
    call_name: str, arguments: Mapping[str, Any], registry: ToolRegistry, own: Sequence[str] | None = None
) -> tuple[str, dict[str, Any]] | ToolResult:
    """The tool and arguments a call really means: those inside ``invoke_tool``, or the call's own.

    A ``ToolResult`` is the error for the model: arguments that do not fit, ``invoke_tool`` within itself, or an unknown name with the
    closest ones of ``own``, the names the run may call (None: all).
    """
    if call_name != INVOKE:
        return call_name, dict(arguments)
    try:
        checked = validate(_TOOL, arguments)
    except InvalidArgumentsError as error:
        return ToolResult.failure(str(error), error.code)
    if checked.tool_name == INVOKE:
        return ToolResult.failure("invoke_tool cannot call itself. Give the name of the tool to run as tool_name.", "invalid_arguments")
    if not registry.has(checked.tool_name):
        return registry.unknown(checked.tool_name, own)
    return checked.tool_name, checked.arguments


_TOOL = InvokeTool()
