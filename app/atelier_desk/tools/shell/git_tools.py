"""``git_status`` and ``git_diff``: run git so that no repository setting executes anything."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from typing import ClassVar

from pydantic import Field, field_validator

from atelier_desk.domain.call_presentation_and_subjects import CallText
from atelier_desk.domain.errors import ToolError
from atelier_desk.support.i18n import N_
from atelier_desk.support.visible_and_shortened_text import is_storable_name, name_on_disk, readable_name
from atelier_desk.tools.base import Input, ToolContext, ToolResult
from atelier_desk.tools.definition.call_description import Call
from atelier_desk.tools.definition.input_schema import PathText
from atelier_desk.tools.definition.tool_description import About, DescribedTool
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.tools.registry.sections import SHELL
from atelier_desk.tools.shell import command_execution
from atelier_desk.workspace.commands.judge import judge
from atelier_desk.workspace.processes.running_commands import KeptOutput

_TIMEOUT_S = 30.0


class _Git(DescribedTool):
    section = SHELL
    icon = "git-branch"
    idempotent = True
    needs_workspace = True

    async def ask(self, context: ToolContext, *arguments: str) -> KeptOutput:
        """Run a read-only git command; raises ``ToolError``."""
        location = command_execution.where(context)
        judgement = judge(shlex.join(("git", *arguments)))
        if not judgement.safe:
            raise ToolError(
                f"git cannot be asked that: {arguments[-1]!r} is no path below the workspace.", code="outside"
            )
        order = await command_execution.order_of(judgement, location, data=self.services.hidden, context=context)
        command = await command_execution.start(self.services, context, order, judgement.text)
        await command_execution.until_end(command, context, _TIMEOUT_S)
        return command


class StatusInput(Input):
    pass


@builtin(order=470)
class GitStatus(_Git):
    name = "git_status"
    title = N_("Git status")
    purpose = N_("Lists the changed files of the repository")
    input = StatusInput
    summaries: ClassVar = {"": N_("Check the state of the repository")}
    done: ClassVar = {"": N_("Checked the state of the repository")}
    about = About(
        what="Get the branch and the changed, staged and untracked files of the repository in the workspace.",
        when="you want to know what was changed before or after your work.",
        when_not="you want the changes themselves: use git_diff.",
        example={},
        limits=("submodules are not looked into", "nothing a repository names is run: filters and hooks are off"),
    )

    async def run(self, input: StatusInput, context: ToolContext) -> ToolResult:
        command = await self.ask(context, "status", "--porcelain=v1", "--branch", "-z", "--untracked-files=all")
        if command.process.status != 0 or command.process.ended_by:
            return command_execution.result(command)
        return ToolResult.ok(
            **_status([readable_name(os.fsdecode(each)) for each in command.process.output.raw(0, _MOST).split(b"\0")])
        )


_MOST = 1024 * 1024
"""Maximum bytes of git's answer."""


def _status(records: list[str]) -> dict[str, object]:
    branch, files = "", []
    waiting = list(reversed(records))
    while waiting:
        record = waiting.pop()
        if not record:
            continue
        if record.startswith("## "):
            branch = record[3:]
            continue
        state, path = record[:2], record[3:]
        file = {
            "path": path,
            "staged": state[0].strip(" ?"),
            "unstaged": state[1].strip(" ?"),
            "untracked": state == "??",
        }
        if state[0] in "RC" and waiting:
            file["from"] = waiting.pop()
        files.append(file)
    return {"branch": branch, "clean": not files, "files": files[:_FILES], "total": len(files)}


_FILES = 500


class DiffInput(Input):
    staged: bool = Field(default=False, description="What is staged, instead of what is not.")
    file: PathText = Field(default="", description="One file or folder, relative to the workspace.")

    @field_validator("file")
    @classmethod
    def _below(cls, value: str) -> str:
        if value.startswith(("/", "~", ":")) or ".." in value.split("/") or "\0" in value:
            raise ValueError("must be a path below the workspace, without '..'")
        return value


@builtin(order=480)
class GitDiff(_Git):
    name = "git_diff"
    title = N_("Git diff")
    purpose = N_("Shows the changes in the repository")
    input = DiffInput
    subjects = {"file": "paths"}
    summaries: ClassVar = {"": N_("View the changes in {file}")}
    done: ClassVar = {"": N_("Viewed the changes in {file}")}
    about = About(
        what="Get the changes of the repository in the workspace as a unified diff.",
        when="you want to see or check what was changed.",
        when_not="you only want the names: use git_status.",
        example={"file": "src/app.py"},
        limits=(
            "submodules are left out",
            "nothing a repository names is run: filters, text conversions and other diff programs are off",
        ),
    )

    def describe(self, input: DiffInput) -> Call:
        """Describe the call; without a file, its summary names the changes alone."""
        call = super().describe(input)
        return (
            call
            if input.file
            else replace(call, summary=CallText(text=N_("View the changes")), done=N_("Viewed the changes"))
        )

    async def run(self, input: DiffInput, context: ToolContext) -> ToolResult:
        if not is_storable_name(name_on_disk(input.file)):
            words = (
                "The name of {file} is not UTF-8, so git cannot be asked for it alone. Name its folder, or leave "
                "file out."
            )
            raise ToolError(words, code="bad_path", file=input.file)
        staged = ("--cached",) if input.staged else ()
        command = await self.ask(context, "diff", "--no-color", *staged, "--", *((input.file,) if input.file else ()))
        given = command_execution.result(command)
        if (
            not input.file
            or command.process.status != 0
            or command.process.output.size
            or (self._there(input.file, context))
        ):
            return given
        known = await self.ask(context, "ls-files", "--", input.file)
        if known.process.status == 0 and known.process.output.size:
            return given
        raise ToolError(
            "{file} is not in the folder and not known to git: see git_status.", code="not_found", file=input.file
        )

    @staticmethod
    def _there(file: str, context: ToolContext) -> bool:
        return context.workspace is not None and (context.workspace / file).exists()
