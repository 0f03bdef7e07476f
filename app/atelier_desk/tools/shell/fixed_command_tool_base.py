"""A tool that runs one known command."""

from __future__ import annotations

import shlex

from atelier_desk.tools.base import ToolContext, ToolResult
from atelier_desk.tools.definition.tool_description import DescribedTool
from atelier_desk.tools.registry.sections import SHELL
from atelier_desk.tools.shell import change_capture, command_execution
from atelier_desk.workspace.commands.judge import judge
from atelier_desk.workspace.processes import command_environment
from atelier_desk.workspace.processes.command_process import Order
from atelier_desk.workspace.processes.sandbox_contents import Kind


class FixedCommand(DescribedTool):
    """A tool whose command is built from checked arguments, never from text parsed by a shell."""

    section = SHELL
    icon = "terminal"
    needs_workspace = True
    changes = "file"

    async def perform(
        self,
        program: str,
        arguments: tuple[str, ...],
        context: ToolContext,
        timeout_s: float,
        *,
        box: Kind = "workspace",
    ) -> ToolResult:
        """Run a program from outside the workspace in the workspace folder; raises ``ToolError``."""
        location = command_execution.where(context)
        file = command_environment.program(program, location.folder, location.root)
        if not file:
            raise command_execution.not_found(program)
        order = Order(file, (program, *arguments), location.folder, command_execution.environment_of(location))
        kept_from = await command_execution.hidden(context, None)
        protected = await change_capture.protecting(
            self.services, context, location, judge(shlex.join((program, *arguments))), box=box
        )
        commands = command_execution.commands_of(self.services)
        order = command_execution.boxed(
            order, box, location, commands, context.workflow_id, kept_from, read_only=protected.read_only
        )
        async with change_capture.capturing(
            self.services, context, location, writes=True, protected=protected
        ) as changes:
            changes.command = command = await command_execution.start(
                self.services, context, order, " ".join((program, *arguments))
            )
            await command_execution.until_end(command, context, timeout_s)
        return changes.into(command_execution.explained(command_execution.result(command), kept_from))
