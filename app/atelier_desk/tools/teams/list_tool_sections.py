"""list_tool_sections: list sections available for planning."""

from __future__ import annotations

from atelier_desk.support.i18n import N_
from atelier_desk.tools.base import Effect, Input, Risk, ToolContext, ToolResult
from atelier_desk.tools.definition.tool_description import About
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.tools.registry.tool_modes import always_available, section_list
from atelier_desk.tools.teams.team_tool_base import TeamTool


class ListToolSectionsInput(Input):
    pass


@builtin(order=240)
class ListToolSections(TeamTool):
    """The sections of the tools an agent may use."""

    name = "list_tool_sections"
    title = N_("Tool sections")
    purpose = N_("Lists the available tools by section")
    icon = "list"
    reaches_sections = True
    effect = Effect.READ
    risk = Risk.LOW
    input = ListToolSectionsInput
    about = About(
        what="Lists the sections your tools are sorted in: id, name, what they are for, and the names of their tools.",
        when="you plan actions and do not know which sections or tools there are.",
        when_not="the sections named in your instructions are enough.",
        example={},
    )

    def starts(self, input: ListToolSectionsInput) -> bool:
        return False

    async def run(self, input: ListToolSectionsInput, context: ToolContext) -> ToolResult:
        registry, enabled = self.own_tools(context)
        return ToolResult.ok(
            sections=section_list(registry, enabled), always_available=always_available(registry, enabled)
        )
