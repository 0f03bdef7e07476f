"""output: show something to the user, or pass it to the parent, without ending the run."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from atelier_desk.domain import limits
from atelier_desk.domain.errors import LimitError
from atelier_desk.support.i18n import N_
from atelier_desk.tools.base import Effect, Input, ToolContext, ToolResult
from atelier_desk.tools.control.control_tool_base import ControlTool
from atelier_desk.tools.core.workflow_reports import store_output
from atelier_desk.tools.registry.builtin import builtin

MAX_UNSPLIT = 8_000
"""Maximum characters of a sub-agent's result that is passed without also being stored as a report."""


class OutputInput(Input):
    content: str = Field(min_length=1, max_length=limits.REPORT)
    type: Literal["message", "report", "result", "progress"] = Field(
        default="message",
    )


@builtin(order=2)
class OutputTool(ControlTool):
    """Show content; a report is also stored."""

    name = "output"
    title = N_("Output")
    purpose = N_("Shows you text while the agent keeps working")
    summaries = {"": N_("Show: {content}")}
    done = {"": N_("Shown: {content}")}
    effect = Effect.INTERACT
    input = OutputInput
    what = "Show text and go on. report: kept too. A sub-agent's result and report go to its parent."

    async def run(self, input: OutputInput, context: ToolContext) -> ToolResult:
        if input.type != "report" and len(input.content) > limits.MESSAGE:
            raise LimitError(
                "content has {length} characters; the limit is {limit}, or {report} with type report.",
                length=len(input.content),
                limit=limits.MESSAGE,
                report=limits.REPORT,
            )
        shown = (input.content, input.type)
        handed = context.depth > 0 and input.type in ("report", "result")
        done = "Handed over: your parent reads it with your report" if handed else "Shown"
        # Long results are stored too: the reports of many sub-agents share what their parent can read at once.
        stored = input.type == "report" or (handed and len(input.content) > MAX_UNSPLIT)
        if not stored or self.services.reports is None:
            return ToolResult({"success": True, "message": done}, output=shown)
        report = await store_output(self.services.reports, context, input.content)
        return ToolResult(
            {"success": True, "message": f"{done}. Stored as report {report.name!r}", "report": report.name},
            output=shown,
        )
