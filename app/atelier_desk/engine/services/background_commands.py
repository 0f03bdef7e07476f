"""Commands of agents: background commands, and ending one of these or one that a call waits for."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from atelier_desk.domain import limits
from atelier_desk.domain.background_command import OutputPart, RunningCommand
from atelier_desk.domain.errors import LimitError, NotFoundError
from atelier_desk.engine.services.common.service import Service
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.workspace.processes.running_commands import KeptOutput

_LINES, _CHARACTERS = 12, 2_000
"""Limits of the output shown."""


class CommandService(Service):
    """Background commands. Their start and end are announced as ``command`` with the workflow's id."""

    async def list(self, workflow_id: str = "") -> list[RunningCommand]:
        """Return the running ones of a workflow, or all, oldest first."""
        return [_shown(each) for each in self._running(workflow_id)]

    async def stop(self, workflow_id: str, command_id: str) -> RunningCommand:
        """End a command and everything it started; returns when it is gone.

        Raises:
            NotFoundError: it is not running.
        """
        for each in self._running(workflow_id):
            if each.id == command_id:
                await each.process.end("user")
                return _shown(each)
        raise NotFoundError(N_("This command is no longer running."))

    async def output(self, command_id: str, offset: int = 0) -> OutputPart:
        """Return output of a background command from a byte offset on, even after its end while it is stored.

        Raises:
            NotFoundError: there is none with this id.
        """
        commands = self._context.tool_services.commands
        for each in commands.of("") if commands is not None else ():
            if each.background and each.id == command_id:
                text, following = each.process.output.part(max(0, offset), limits.COMMAND_PART)
                return OutputPart(
                    text=text, next_offset=following, size=each.process.output.size, status=each.process.status
                )
        raise NotFoundError(N_("There is no command {id}. Commands stop when Atelier exits."), id=command_id)

    async def input(self, workflow_id: str, command_id: str, text: str) -> None:
        """Write to a command's input as typed by a person, including the line end.

        Raises:
            LimitError: the text is longer than ``limits.COMMAND_INPUT``.
            NotFoundError: it is not running, or takes no input.
        """
        if len(text) > limits.COMMAND_INPUT:
            raise LimitError(
                N_("The text has {length} characters; at most {most} are allowed."),
                length=len(text),
                most=limits.COMMAND_INPUT,
            )
        for each in self._running(workflow_id):
            if each.id == command_id:
                try:
                    await each.process.write(text)
                except (BrokenPipeError, ConnectionResetError):
                    raise NotFoundError(N_("This command no longer accepts input.")) from None
                return
        raise NotFoundError(N_("This command is no longer running."))

    async def stop_call(self, workflow_id: str, run_id: str, call_id: str) -> None:
        """End the command that a call waits for; the run continues, and its agent is told who ended it.

        Raises:
            NotFoundError: the call does not wait for a command.
        """
        commands = self._context.tool_services.commands
        for each in commands.of(workflow_id) if commands is not None else ():
            if (each.run_id, each.call_id) == (run_id, call_id) and not each.background and each.process.running:
                await each.process.end("user")
                return
        raise NotFoundError(N_("This command is no longer running."))

    def _running(self, workflow_id: str) -> builtins.list[KeptOutput]:
        if "tool_services" not in vars(self._context):  # created on first use: without them no command can run
            return []
        commands = self._context.tool_services.commands
        return (
            [each for each in commands.of(workflow_id) if each.background and each.process.running]
            if commands is not None
            else []
        )


def _shown(kept: KeptOutput) -> RunningCommand:
    box = kept.process.order.sandbox
    return RunningCommand(
        id=kept.id,
        workflow_id=kept.workflow_id,
        line=kept.line,
        output=kept.process.output.last(_LINES, _CHARACTERS),
        sandbox=str(box["kind"]) if box is not None else "none",
    )
