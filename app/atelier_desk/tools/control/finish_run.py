"""task_complete and task_abandon: the model ends the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from atelier_desk.domain import limits
from atelier_desk.support.i18n import N_
from atelier_desk.tools.base import Input, ToolContext, ToolResult
from atelier_desk.tools.calls.result_limits import as_json
from atelier_desk.tools.control.control_tool_base import ControlTool
from atelier_desk.tools.registry.builtin import builtin


def _as_text(value: Any) -> object:
    return as_json(value) if isinstance(value, dict | list | int | float) else value


class TaskCompleteInput(Input):
    summary: str = Field(min_length=1, max_length=limits.MESSAGE)
    result: Annotated[str, BeforeValidator(_as_text)] = Field(default="", max_length=limits.MESSAGE)


class TaskAbandonInput(Input):
    reason: str = Field(min_length=1, max_length=limits.MESSAGE)


@builtin(order=3)
class TaskComplete(ControlTool):
    """End the run as completed."""

    name: ClassVar[str] = "task_complete"
    title: ClassVar[str] = N_("Finish")
    purpose: ClassVar[str] = N_("Ends the run with a result")
    icon: ClassVar[str] = "check"
    summaries: ClassVar[Mapping[str, str]] = {"": N_("Ends the run")}
    input: ClassVar[object] = TaskCompleteInput
    what: ClassVar[str] = (
        "End the run: done. Your answer is summary, then result, in Markdown. Text without a call ends it too."
    )

    async def run(self, input: TaskCompleteInput, context: ToolContext) -> ToolResult:
        data = {"success": True, "summary": input.summary, "result": input.result}
        return ToolResult(data, end="completed", end_summary=input.summary)


@builtin(order=4)
class TaskAbandon(ControlTool):
    """End the run as abandoned."""

    name: ClassVar[str] = "task_abandon"
    title: ClassVar[str] = N_("Give up")
    purpose: ClassVar[str] = N_("Ends the run without a result")
    icon: ClassVar[str] = "x"
    summaries: ClassVar[Mapping[str, str]] = {"": N_("Gave up: {reason}")}
    input: ClassVar[object] = TaskAbandonInput
    what: ClassVar[str] = "End the run: it cannot or must not be done."

    async def run(self, input: TaskAbandonInput, context: ToolContext) -> ToolResult:
        return ToolResult({"success": True, "reason": input.reason}, end="abandoned", end_summary=input.reason)
