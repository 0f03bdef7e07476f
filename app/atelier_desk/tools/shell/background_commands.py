"""Background commands: ``list_commands``, ``command_output``, ``command_input`` and ``command_stop``."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field

from atelier_desk.domain import limits
from atelier_desk.domain.errors import ToolError
from atelier_desk.support.i18n import N_
from atelier_desk.tools.base import Call, Effect, Input, Risk, ToolContext, ToolResult
from atelier_desk.tools.definition.tool_description import About, DescribedTool
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.tools.registry.sections import SHELL
from atelier_desk.tools.shell import command_execution, command_result_notes
from atelier_desk.workspace.processes.running_commands import KeptOutput

PART = limits.COMMAND_PART
"""Maximum bytes of output read at once."""
CommandId = Annotated[str, Field(min_length=1, max_length=64, description="Id of the command, as run_command gave it.")]


class _OfCommands(DescribedTool):
    """A tool for background commands of the call's workflow."""

    section = SHELL
    icon = "terminal"
    needs_workspace = True

    def network(self, command_id: str) -> bool:
        """Whether input to the command may leave the machine."""
        command = next(
            (each for each in command_execution.commands_of(self.services).of("") if each.id == command_id), None
        )
        return command is not None and (command.process.order.sandbox or {}).get("kind") not in ("reading", "workspace")

    def found(self, command_id: str, context: ToolContext) -> KeptOutput:
        """Return the command; raises ``ToolError``."""
        commands = command_execution.commands_of(self.services)
        command = commands.get(context.workflow_id, command_id)
        if command is None:
            known = ", ".join(each.id for each in commands.of(context.workflow_id)) or "none"
            raise ToolError(
                (
                    f"There is no command {command_id!r}. Known: {known}. Commands end with the program; start it "
                    f"again "
                    f"if need be."
                ),
                code="not_found",
            )
        return command


class ListInput(Input):
    pass


@builtin(order=450)
class ListCommands(_OfCommands):
    name = "list_commands"
    title = N_("Commands")
    purpose = N_("Lists the commands that run in the background")
    input = ListInput
    idempotent = True
    summaries: ClassVar = {"": N_("List the commands")}
    about = About(
        what="List this workflow's commands: those that run, and those whose output can still be read.",
        when="you need the id of a command or want to know what runs.",
        when_not="you have the id already: use command_output.",
        example={},
    )

    async def run(self, input: ListInput, context: ToolContext) -> ToolResult:
        return ToolResult.ok(
            commands=[_row(each) for each in command_execution.commands_of(self.services).of(context.workflow_id)]
        )


def _row(kept: KeptOutput) -> dict[str, object]:
    process = kept.process
    return {
        "command_id": kept.id,
        "command": kept.line,
        "background": kept.background,
        "running": process.running,
        "exit_status": process.status,
        "output_bytes": process.output.size,
    }


class OutputInput(Input):
    command_id: CommandId
    offset: int | None = Field(
        default=None, ge=0, description="Byte to read from; where you stopped reading, when left out."
    )
    wait_ms: int = Field(
        default=0,
        ge=0,
        le=limits.COMMAND_WAIT_MS,
        description="Milliseconds to wait for more output when there is none, or for its end.",
    )


@builtin(order=420)
class CommandOutput(_OfCommands):
    name = "command_output"
    title = N_("Output of a command")
    purpose = N_("Reads what a command printed")
    input = OutputInput
    timeout_s = limits.COMMAND_WAIT_MS / 1000 + 10
    summaries: ClassVar = {"": N_("Read the output of {command_id}")}
    about = About(
        what="Read what a command printed: what is new since the last call, or from a byte on.",
        when="a command runs in the background, or its output was cut.",
        when_not="the command is over and its whole output came back.",
        example={"command_id": "cmd_1a2b3c4d", "wait_ms": 5000},
        limits=(f"{PART // 1024} KB at once; next_offset says where to go on",),
    )

    async def run(self, input: OutputInput, context: ToolContext) -> ToolResult:
        command = self.found(input.command_id, context)
        process = command.process
        offset = command.read if input.offset is None else input.offset
        if input.wait_ms and process.running and process.output.size <= offset:
            await process.wait(input.wait_ms / 1000)
        text, following = process.output.part(offset, PART)
        if input.offset is None:
            command.read = following
        return ToolResult.ok(
            output=text,
            offset=offset,
            next_offset=following,
            output_bytes=process.output.size,
            more=following < process.output.size,
            running=process.running,
            exit_status=process.status,
            **({"ended_by": process.ended_by} if process.ended_by else {}),
            **command_result_notes.of_repositories(process.so_far()),
        )


class InputInput(Input):
    command_id: CommandId
    text: str = Field(default="", max_length=limits.COMMAND_INPUT, description="What is written, with its line end.")
    close: bool = Field(default=False, description="Close its input afterwards.")


@builtin(order=430)
class CommandInput(_OfCommands):
    name = "command_input"
    title = N_("Input for a command")
    purpose = N_("Writes to the input of a background command")
    effect = Effect.EXECUTE
    risk = Risk.MEDIUM
    input = InputInput
    summaries: ClassVar = {"": N_("Write “{text}” to {command_id}")}
    done: ClassVar = {"": N_("Wrote “{text}” to {command_id}")}
    about = About(
        what="Write to the input of a command that runs in the background.",
        when="it waits for a line.",
        when_not="the command could be started so that it asks nothing.",
        example={"command_id": "cmd_1a2b3c4d", "text": "yes\n"},
        limits=(f"text {limits.COMMAND_INPUT} characters",),
    )

    def describe(self, input: InputInput) -> Call:
        # Network access was approved for the started command, not for everything written to it later.
        call = super().describe(input)
        command = next(
            (each for each in command_execution.commands_of(self.services).of("") if each.id == input.command_id), None
        )
        if command is not None and command.process.order.sandbox is None:
            # Writing to an unsandboxed shell runs commands without a sandbox.
            call = replace(call, subjects=call.subjects.model_copy(update={"sandbox": "none"}))
        return replace(call, effect=Effect.NETWORK) if self.network(input.command_id) else call

    async def run(self, input: InputInput, context: ToolContext) -> ToolResult:
        command = self.found(input.command_id, context)
        try:
            await command.process.write(input.text, close=input.close)
        except (BrokenPipeError, ConnectionResetError):
            raise ToolError(
                f"{command.id} takes no input: it is over, closed its input, or was not started in the background."
            ) from None
        return ToolResult.ok(command_id=command.id, running=command.process.running)


class StopInput(Input):
    command_id: CommandId


@builtin(order=440)
class CommandStop(_OfCommands):
    name = "command_stop"
    title = N_("Stop a command")
    purpose = N_("Stops a background command and everything it started")
    effect = Effect.EXECUTE
    input = StopInput
    idempotent = True
    summaries: ClassVar = {"": N_("Stop {command_id}")}
    done: ClassVar = {"": N_("Stopped {command_id}")}
    about = About(
        what="End a command and everything it started.",
        when="a command in the background is not needed any more.",
        when_not="the command ended by itself.",
        example={"command_id": "cmd_1a2b3c4d"},
    )

    async def run(self, input: StopInput, context: ToolContext) -> ToolResult:
        command = self.found(input.command_id, context)
        was_running = command.process.running
        await command.process.end()
        return ToolResult.ok(was_running=was_running, **command_execution.facts(command))
