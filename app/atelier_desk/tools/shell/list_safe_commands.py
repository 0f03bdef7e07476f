"""``list_safe_commands``: the table of commands for agents."""

from __future__ import annotations

from typing import ClassVar

from atelier_desk.support.i18n import N_
from atelier_desk.tools.base import Input, ToolContext, ToolResult
from atelier_desk.tools.definition.tool_description import About, DescribedTool
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.tools.registry.sections import SHELL
from atelier_desk.workspace.commands.safe_command_descriptions import Does, safe_commands

_LIMITED = {"find": "find (no -exec, -delete)", "sed": "sed -n 1,20p"}
"""Programs that are only partly known."""


class SafeInput(Input):
    pass


@builtin(order=490)
class ListSafeCommands(DescribedTool):
    name = "list_safe_commands"
    title = N_("Safe commands")
    purpose = N_("Lists the commands that run without asking")
    icon = "shield"
    section = SHELL
    idempotent = True
    needs_workspace = True
    input = SafeInput
    summaries: ClassVar = {"": N_("List the safe commands")}
    about = About(
        what=(
            "List the programs that are known to only read. With plain options and paths below the workspace "
            "they need no approval."
        ),
        when="a command asks the user and you look for one that does not.",
        when_not="a file tool does it.",
        example={},
    )

    async def run(self, input: SafeInput, context: ToolContext) -> ToolResult:
        known = safe_commands()
        return ToolResult.ok(
            reads=[_LIMITED.get(each.name, each.name) for each in known if each.does is Does.READS],
            writes_only_what_it_names=[each.name for each in known if each.does is not Does.READS],
            always_asks="substitutions, variables, loops and wrappers that run other programs "
            "(sh -c, xargs, sudo, env)",
        )
