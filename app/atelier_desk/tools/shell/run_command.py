"""``run_command``: one command line in the workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from atelier_desk.domain import limits
from atelier_desk.domain.approval import ApprovalKind
from atelier_desk.domain.call_presentation_and_subjects import Subjects
from atelier_desk.support.i18n import N_
from atelier_desk.tools.base import Call, Effect, Input, Risk, ToolContext, ToolResult
from atelier_desk.tools.definition.call_description import summary_of
from atelier_desk.tools.definition.input_schema import PathText
from atelier_desk.tools.definition.tool_description import About, DescribedTool
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.tools.registry.sections import SHELL
from atelier_desk.tools.shell import change_capture, command_execution
from atelier_desk.tools.shell.command_risk import risk_of
from atelier_desk.workspace.commands.judge import File, Judgement, judge
from atelier_desk.workspace.commands.judge import Kind as Does
from atelier_desk.workspace.commands.parsing import LONGEST
from atelier_desk.workspace.processes.command_output import MOST_BYTES, MOST_LINES
from atelier_desk.workspace.processes.sandbox_contents import Kind


class RunCommandInput(Input):
    command: str = Field(
        min_length=1,
        max_length=LONGEST,
        description="The command line, as for bash. Parts with &&, ||, ;, | and redirections are judged one by one.",
    )
    description: str = Field(
        default="", max_length=200, description="What it is for, in a few words; the user reads it when asked."
    )
    cwd: PathText = Field(
        default="", description="Folder to run in, relative to the workspace; left out: its top. Use it instead of cd."
    )
    timeout_ms: int = Field(
        default=limits.COMMAND_TIMEOUT_MS, ge=limits.COMMAND_TIMEOUTS_MS[0], le=limits.COMMAND_TIMEOUTS_MS[1],
        description="Milliseconds after which it is ended; not in the background.",
    )  # fmt: skip
    modifies_files: bool = Field(
        description="true when it may create, change or delete files, false when it only reads."
    )
    background: bool = Field(
        default=False,
        description="For servers and watchers: returns a command_id at once, for command_output and command_stop.",
    )
    sandbox: Literal["workspace", "network", "none"] = Field(
        default="workspace",
        description="workspace: writes only in the workspace and $TMPDIR, no network. network: the same with the "
        "network, to install or "
        "download. none: no sandbox. The user is asked each time about the last two.",
    )


def call_of(judgement: Judgement, folder: str = "", *, box: Kind = "workspace", **more: Any) -> Call:
    """Describe the call of an assessed line; its risk is explained in ``risk``."""
    reads_below = judgement.safe and not _up(folder)
    effect = Effect.READ if reads_below else Effect.EXECUTE
    if effect is Effect.EXECUTE and not judgement.asks_always and judgement.kind is Does.WRITES:
        effect = Effect.WRITE
    return Call(
        effect=effect,
        risk=risk_of(judgement, command_execution.kind_of(box, safe=reads_below), reads_below=reads_below),
        subjects=Subjects(
            paths=_from(folder, judgement.files), writes=_from(folder, judgement.writes), command=judgement.text,
            folder=folder,
            sandbox=command_execution.kind_of(box, safe=effect is Effect.READ),
        ),
        details=_details(judgement, folder),
        **more,
    )  # fmt: skip


def _from(folder: str, files: tuple[File, ...]) -> tuple[str, ...]:
    """Return file names relative to the workspace."""
    return tuple(
        f"{folder.rstrip('/')}/{file.name}" if folder and not file.name.startswith(("/", "~")) else file.name
        for file in files
    )


def _up(folder: str) -> bool:
    return folder.startswith(("/", "~")) or ".." in folder.split("/")


def _details(judgement: Judgement, folder: str) -> dict[str, object]:
    """Return details for a card.

    Each command with why it asks, and the files it writes. Reasons are English ``N_`` texts.
    """
    return {
        "command": judgement.text,
        "cwd": folder,
        "reason": judgement.reason,
        "about": judgement.about,
        "commands": [
            {
                "text": one.command.rendered,
                "kind": one.kind.value,
                "reason": one.reason,
                "about": one.about,
                "safe": one.safe,
            }
            for one in judgement.commands
        ],
        "writes": [file.name for file in judgement.writes],
    }


@builtin(order=410)
class RunCommand(DescribedTool):
    name = "run_command"
    title = N_("Run a command")
    purpose = N_("Runs a command in the workflow's folder")
    icon = "terminal"
    section = SHELL
    effect = Effect.EXECUTE
    risk = Risk.MEDIUM
    needs_workspace = True
    changes = "file"
    input = RunCommandInput
    summaries: ClassVar = {"": N_("Run “{command}”")}
    done: ClassVar = {"": N_("Ran “{command}”")}
    rest_hint = "Read the rest with command_output {command_id, offset}."
    about = About(
        what="Run a command line in the workspace folder and get its output and exit status.",
        when="tests, builds, version control or a program is needed.",
        when_not="a file tool does it (read_file, search_files, edit_file), or the command would wait for input.",
        example={"command": "python -m pytest -q", "description": "Run the tests", "modifies_files": False},
        limits=(
            f"{limits.COMMAND_TIMEOUTS_MS[1] // 1000} seconds at most",
            f"output over {MOST_LINES} lines or {MOST_BYTES // 1024} KB is kept in a file, head and tail come back",
            (
                "the user can undo what it changes in the workspace, but not in the background, in .git, or in what "
                ".gitignore names"
            ),
            "commands that only read inside the workspace run at once, others may ask the user; substitutions, "
            "variables, loops and "
            "wrappers (sh -c, xargs, sudo) always ask: prefer several plain commands",
        ),
    )

    def describe(self, input: RunCommandInput) -> Call:
        judgement = judge(input.command, _home())
        template = self.summaries[""]
        return call_of(
            judgement,
            input.cwd,
            box=input.sandbox,
            kind=self.kind or ApprovalKind.FILE_OP,
            timeout_s=0.0 if input.background else input.timeout_ms / 1000 + limits.COMMAND_ENDS_S,
            summary=summary_of({"command": input.command}, template),
            done=self.done[""],
            alone=not judgement.safe,
        )

    async def run(self, input: RunCommandInput, context: ToolContext) -> ToolResult:
        location = command_execution.where(context, input.cwd)
        judgement = judge(input.command, _home())
        commands = command_execution.commands_of(self.services)
        order = await command_execution.order_of(
            judgement, location, data=self.services.hidden, interactive=input.background, context=context
        )
        kept_from, protected = command_execution.NOTHING, None
        if not judgement.safe:
            kept_from = await command_execution.hidden(context, judgement)
            protected = await change_capture.protecting(
                self.services, context, location, judgement, input.cwd, box=input.sandbox
            )
            order = command_execution.boxed(
                order, input.sandbox, location, commands, context.workflow_id, kept_from,
                read_only=protected.read_only,
                only=command_execution.named(judgement, location) if input.sandbox == "workspace" else None,
                changes_repositories=judgement.changes_repositories,
            )  # fmt: skip
        if not input.background:
            async with change_capture.capturing(
                self.services, context, location, writes=not judgement.safe, protected=protected
            ) as changes:
                changes.command = kept = await command_execution.start(self.services, context, order, input.command)
                await command_execution.until_end(kept, context, input.timeout_ms / 1000)
            return changes.into(command_execution.explained(command_execution.result(kept), kept_from))
        starting = command_execution.start(self.services, context, order, input.command, background=True)
        kept = await (
            starting if judgement.safe else change_capture.in_background(self.services, context, location, starting)
        )
        if protected is not None:
            change_capture.watch(self.services, context, kept, protected)
        await kept.process.wait(limits.COMMAND_BEGINS_S)
        if not kept.process.running:
            return command_execution.result(kept)
        return ToolResult.ok(
            command_id=kept.id,
            running=True,
            output=kept.process.output.shown().text,
            hint="It runs on. Read it with command_output, end it with command_stop; it ends with the program.",
        )


def _home() -> str:
    return str(Path.home())
