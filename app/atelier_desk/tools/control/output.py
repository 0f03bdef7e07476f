"""output: show something to the user, or hand it to the parent, while the work goes on."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from atelier_desk.domain import limits
from atelier_desk.domain.errors import LimitError
from atelier_desk.tools.base import Effect, Input, ToolContext, ToolResult
from atelier_desk.tools.control.base import ControlTool
from atelier_desk.tools.core.report import store_output
from atelier_desk.tools.describe import About


class OutputInput(Input):
    content: str = Field(min_length=1, max_length=limits.REPORT, description="What to show, Markdown.")
    type: Literal["message", "report", "result", "progress"] = Field(
        default="message",
        description="message: say something; report: also kept as a report; result: what was asked for; progress: how far you are.",
    )


class OutputTool(ControlTool):
    """Show content; a report is also stored."""

    name: ClassVar[str] = "output"
    effect: ClassVar[Effect] = Effect.INTERACT
    input: ClassVar[Any] = OutputInput
    about: ClassVar[About] = About(
        what="Shows content to the user (a sub-agent hands it to its parent) and lets you go on working.",
        when="you have an intermediate result, a report to keep, or progress to tell during long work.",
        when_not="it is your final answer (just answer, or task_complete), or a question (wait_user_response).",
        example={"content": "# Survey\n\nThree findings …", "type": "report"},
        limits=(f"content {limits.MESSAGE} characters", f"report {limits.REPORT} characters"),
    )

    async def run(self, input: Any, context: ToolContext) -> ToolResult:
        if input.type != "report" and len(input.content) > limits.MESSAGE:
            raise LimitError(
                "content has {length} characters; the limit is {limit}, or {report} with type report.",
                length=len(input.content),
                limit=limits.MESSAGE,
                report=limits.REPORT,
            )
        shown = (input.content, input.type)
        if input.type != "report" or context.reports is None:
            return ToolResult({"success": True, "message": "Shown"}, output=shown)
        report = await store_output(context, input.content)
        return ToolResult({"success": True, "message": f"Shown and stored as report {report.name!r}", "report": report.name}, output=shown)
