"""task_complete and task_abandon: the model ends the run."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from atelier_desk.domain import limits
from atelier_desk.support.i18n import N_
from atelier_desk.tools.base import Input, ToolContext, ToolResult
from atelier_desk.tools.calls.result_limits import as_json
from atelier_desk.tools.control.control_tool_base import ControlTool
from atelier_desk.tools.registry.builtin import builtin


def _as_text(value: object) -> object:
    return as_json(value) if isinstance(value, dict | list | int | float) else value


class TaskCompleteInput(Input):
    summary: str = Field(min_length=1, max_length=limits.MESSAGE)
    result: Annotated[str, BeforeValidator(_as_text)] = Field(default="", max_length=limits.MESSAGE)


class TaskAbandonInput(Input):
    reason: str = Field(min_length=1, max_length=limits.MESSAGE)


@builtin(order=3)
class TaskComplete(ControlTool):
    """End the run as completed."""

    name = "task_complete"
    title = N_("Finish")
    purpose = N_("Ends the run with a result")
    icon = "check"
    summaries = {"": N_("Ends the run")}
    input = TaskCompleteInput
    what = "End the run: done. Your answer is summary, then result, in Markdown. Text without a call ends it too."

    async def run(self, input: TaskCompleteInput, context: ToolContext) -> ToolResult:
        data = {"success": True, "summary": input.summary, "result": input.result}
        return ToolResult(data, end="completed", end_summary=input.summary)


@builtin(order=4)
class TaskAbandon(ControlTool):
    """End the run as abandoned."""

    name = "task_abandon"
    title = N_("Give up")
    purpose = N_("Ends the run without a result")
    icon = "x"
    summaries = {"": N_("Gave up: {reason}")}
    input = TaskAbandonInput
    what = "End the run: it cannot or must not be done."

    async def run(self, input: TaskAbandonInput, context: ToolContext) -> ToolResult:
        return ToolResult({"success": True, "reason": input.reason}, end="abandoned", end_summary=input.reason)
