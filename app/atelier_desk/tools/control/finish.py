"""task_complete and task_abandon: the model says that the run is over."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from atelier_desk.domain import limits
from atelier_desk.tools.base import Input, ToolContext, ToolResult
from atelier_desk.tools.control.base import ControlTool
from atelier_desk.tools.describe import About
from atelier_desk.tools.results import as_json


def _as_text(value: Any) -> Any:
    return as_json(value) if isinstance(value, dict | list | int | float) else value


class TaskCompleteInput(Input):
    summary: str = Field(min_length=1, max_length=limits.MESSAGE, description="What was done, for the user.")
    result: Annotated[str, BeforeValidator(_as_text)] = Field(
        default="", max_length=limits.MESSAGE, description="The result itself, if any."
    )


class TaskAbandonInput(Input):
    reason: str = Field(min_length=1, max_length=limits.MESSAGE, description="Why it cannot be done, and what would be needed.")


class TaskComplete(ControlTool):
    """End the run as completed."""

    name: ClassVar[str] = "task_complete"
    input: ClassVar[Any] = TaskCompleteInput
    about: ClassVar[About] = About(
        what="Ends the run: the job is done.",
        when="everything that was asked is done and checked.",
        when_not="tasks are still open, or you are waiting for something. A final answer without a tool call ends the run too.",
        example={"summary": "The three files were compared; the report is in 'comparison'."},
        limits=(f"summary and result {limits.MESSAGE} characters each",),
    )

    async def run(self, input: Any, context: ToolContext) -> ToolResult:
        data = {"success": True, "summary": input.summary, "result": input.result}
        return ToolResult(data, end="completed", end_summary=input.summary)


class TaskAbandon(ControlTool):
    """End the run as abandoned."""

    name: ClassVar[str] = "task_abandon"
    input: ClassVar[Any] = TaskAbandonInput
    about: ClassVar[About] = About(
        what="Ends the run without a result.",
        when="the job cannot be done with the tools and knowledge there are, or must not be done.",
        when_not="another way, or an answer from the user, could still solve it.",
        example={"reason": "The file named in the request does not exist, and there is no tool to restore it."},
        limits=(f"reason {limits.MESSAGE} characters",),
    )

    async def run(self, input: Any, context: ToolContext) -> ToolResult:
        return ToolResult({"success": True, "reason": input.reason}, end="abandoned", end_summary=input.reason)
