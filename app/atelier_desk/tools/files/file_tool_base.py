"""Base of the file tools: path resolution, files read in this run, and display of changes."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.result_parts import FileChange
from atelier_desk.policy.permissions.call_facts import Path as RulePath
from atelier_desk.policy.permissions.call_facts import protected
from atelier_desk.support.visible_and_shortened_text import is_storable_name, readable_name
from atelier_desk.tools.base import Call, Effect, Risk, ToolCategory, ToolContext, ToolResult
from atelier_desk.tools.calls.argument_validation import closest
from atelier_desk.tools.definition.input_schema import PathText
from atelier_desk.tools.definition.tool_description import DescribedTool
from atelier_desk.tools.registry.sections import FILES
from atelier_desk.workspace.checkpoints.undoable_file_operations import FILE, Author, WorkspaceFiles
from atelier_desk.workspace.confined_root import ConfinedRoot
from atelier_desk.workspace.diffs import digest
from atelier_desk.workspace.format_checks_and_notebook_cells import warning
from atelier_desk.workspace.globs import plain_start
from atelier_desk.workspace.path_resolution import NO_WORKSPACE, WorkspacePath, first_outside, place
from atelier_desk.workspace.text_files import Text, decode

SEEN = "file_ops.seen"
"""State key for the hashes of files that a run has read, shared by all tools of the section."""

FilePath = Annotated[PathText, Field(min_length=1, description="Relative to the workspace, or absolute inside it.")]


class FileTool(DescribedTool):
    """A tool that reads or changes workspace files."""

    category = ToolCategory.COMMON
    section = FILES
    needs_workspace = True
    state_of = SEEN
    icon = "file-text"

    def files(self, context: ToolContext) -> WorkspaceFiles:
        files = self.services.files
        if files is None:
            raise ToolError("Files cannot be used here.", code="no_workspace")
        return files

    def place(self, text: str, context: ToolContext) -> WorkspacePath:
        """Resolve a path relative to the first granted folder. Reading tools also reach folders of used skills."""
        roots = context.readable if self.effect is Effect.READ else context.roots
        if not roots:
            raise ToolError(NO_WORKSPACE, code="no_workspace")
        return place(text, roots)

    def below(
        self, pattern: str, where: WorkspacePath, context: ToolContext, *, moves: bool = False
    ) -> tuple[WorkspacePath, str]:
        """Return a pattern relative to a folder: absolute ones in the workspace are converted. With ``moves`` the
        folder may change.

        Raises:
            ToolError: ``outside``: it leads out of the workspace, or of the folder.
        """
        if not pattern.startswith(("/", "~/")):
            return where, pattern
        plain, rest = plain_start(pattern)
        there = self.place(plain or "/", context)
        inside = there.root == where.root and (not where.path or f"{there.path}/".startswith(f"{where.path}/"))
        if inside:
            return where, "/".join(filter(None, (there.path[len(where.path) :].strip("/"), rest)))
        if moves:
            return there, rest
        raise ToolError("The pattern {pattern} lies outside {path}.", code="outside", pattern=pattern, path=where.shown)

    def out_of_reach(self, call: Call, roots: Sequence[Path]) -> ToolError | None:
        """Return the error of the first path outside the workspace by its spelling.

        Links are checked when the call runs.
        """
        return first_outside(call.subjects.paths, roots)

    def root(self, where: WorkspacePath, context: ToolContext) -> ConfinedRoot:
        return self.files(context).root(where.root)

    def missing(self, where: WorkspacePath, context: ToolContext) -> ToolError:
        """Return the error for a missing file, with the nearest names."""
        near = near_names(self.root(where, context), where)
        hint = f" Closest: {', '.join(near)}." if near else " Use list_directory or glob_files to find it."
        return ToolError("{text}", code="not_found", text=f"{where.shown} does not exist.{hint}")


class ChangingTool(FileTool):
    """A tool that changes files: requires approval, and can be undone."""

    effect = Effect.WRITE
    changes = "file"
    risk = Risk.MEDIUM

    def describe(self, input: Any) -> Call:
        """Describe the call; the risk is higher if a program or agent would obey the file."""
        call = super().describe(input)
        return replace(call, risk=self.risk_of(call.subjects.paths))

    def place(self, text: str, context: ToolContext) -> WorkspacePath:
        """Resolve a path whose name can be stored: changes are recorded by path."""
        where = super().place(text, context)
        if not is_storable_name(where.path):
            raise ToolError(
                "{path} has a name that is not UTF-8: it can be read, not changed. Rename it with a command first.",
                code="bad_path",
                path=where.shown,
            )
        return where

    def risk_of(self, paths: Sequence[str]) -> Risk:
        spelled = [RulePath((posixpath.normpath(f"/{path.lstrip('/')}"),)) for path in paths]
        return Risk.HIGH if protected(spelled) else self.risk

    def content(self, where: WorkspacePath, context: ToolContext) -> tuple[bytes, Text]:
        """Return bytes and text of a file to change, which must be unchanged since this run read it.

        Raises:
            ToolError: ``changed`` if it differs; ``binary``; ``not_found`` with the nearest names.
        """
        try:
            data = self.root(where, context).read(where.path, FILE)
        except ToolError as error:
            raise self.missing(where, context) if error.code == "not_found" else error from error
        self.refuse_changed(where, data, context)
        text = decode(data)
        if text is None:
            raise ToolError("{path} is a binary file: it cannot be edited as text.", code="binary", path=where.shown)
        return data, text

    @staticmethod
    def refuse_changed(where: WorkspacePath, data: bytes, context: ToolContext) -> None:
        seen = context.state.get(key_of(where))
        if seen and seen != digest(data):
            raise ToolError(
                "{path} was changed by someone else since you read it. Read it again, then decide anew.",
                code="changed",
                path=where.shown,
            )


def author(context: ToolContext) -> Author:
    who = context.agent_name or context.agent_id
    return Author(context.workflow_id, context.run_id, context.call_id, who, tainted=context.tainted)


def key_of(where: WorkspacePath) -> str:
    """Return the key of a file's hash in the run's state."""
    return f"{where.root.as_posix().rstrip('/')}/{readable_name(where.path)}"


def seen(where: WorkspacePath, data: bytes | None) -> dict[str, str]:
    """Return the state update after this content was read or written."""
    return {key_of(where): digest(data) if data is not None else ""}


def changed(result: Mapping[str, object], parts: Sequence[FileChange], state: Mapping[str, str]) -> ToolResult:
    return ToolResult({"success": True, **result}, parts=tuple(parts), state=dict(state))


def warned(*files: tuple[str, bytes | None, bytes | None]) -> dict[str, str]:
    """Return the warning of a result if a file (path, content before and after) is no longer valid."""
    told = " ".join(filter(None, (warning(path, before, after) for path, before, after in files if after is not None)))
    return {"warning": told} if told else {}


def near_names(root: ConfinedRoot, where: WorkspacePath) -> list[str]:
    """Return paths similar to a missing one: names in its folder, or the same name elsewhere near the top."""
    folder, _slash, name = where.path.rpartition("/")
    shown = where.shown.rpartition("/")[0]
    try:
        names = [readable_name(each) for each, _found in root.names(folder)]
    except ToolError:
        return []
    return [f"{shown}/{each}" if shown else each for each in closest(name, names)]
