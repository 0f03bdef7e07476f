"""Move, copy and delete: ``delete_path``, ``move_file``, ``copy_file`` and ``create_directory``."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from pydantic import Field

from atelier_desk.domain import limits
from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.file_change import Change
from atelier_desk.domain.result_parts import FileAction, FileChange
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.tools.base import Call, Input, Risk, ToolContext, ToolResult
from atelier_desk.tools.definition.tool_description import About
from atelier_desk.tools.files.file_tool_base import ChangingTool, FilePath, author, changed, seen
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.workspace.checkpoints.move_copy_checks import copyable, movable
from atelier_desk.workspace.confined_root import ConfinedRoot, FoundFile
from atelier_desk.workspace.diffs import file_change
from atelier_desk.workspace.path_resolution import WorkspacePath

_DIFFED = 1024 * 1024
"""Maximum bytes of a deleted file whose text is shown."""


class DeleteInput(Input):
    path: FilePath
    recursive: bool = Field(default=False, description="Needed for a folder that is not empty.")


@builtin(order=308)
class DeletePathTool(ChangingTool):
    """Move a file or folder to the trash."""

    name = "delete_path"
    title = N_("Delete")
    purpose = N_("Moves files and folders to the trash")
    icon = "trash-2"
    summaries = {"": N_("Delete {path}")}
    done = {"": N_("Deleted {path}")}
    risk = Risk.HIGH
    subjects = {"path": "paths"}
    input = DeleteInput
    about = About(
        what="Deletes a file, a link itself, or a folder. It goes to a trash from which the user can bring it back.",
        when="something is no longer needed and the task asks for it.",
        when_not="you only want another name or place (move_file).",
        example={"path": "build", "recursive": True},
    )

    def describe(self, input: DeleteInput) -> Call:
        return replace(super().describe(input), details={"undo": "trash"})

    async def run(self, input: DeleteInput, context: ToolContext) -> ToolResult:
        return await in_tool_thread(self._delete, input, context)

    def preview(self, input: DeleteInput, context: ToolContext) -> list[FileChange]:
        where, there, before = self._inspect(input, context)
        return [
            file_change(where.shown, before, None)
            if before is not None
            else _path_moved("deleted", self.root(where, context), where, there)
        ]

    def _delete(self, input: DeleteInput, context: ToolContext) -> ToolResult:
        where, _there, before = self._inspect(input, context)
        change = self.files(context).delete(author(context), where)
        part = file_change(where.shown, before, None) if before is not None else _part("deleted", where, change)
        return changed({"path": where.shown, "message": f"{where.shown} is in the trash"}, [part], seen(where, None))

    def _inspect(self, input: DeleteInput, context: ToolContext) -> tuple[WorkspacePath, FoundFile, bytes | None]:
        """Return the place, what exists there, and the bytes of a small file for display."""
        where = self.place(input.path, context)
        root = self.root(where, context)
        there = root.inspect(where.path, follow=False)
        if there is None:
            raise self.missing(where, context)
        before: bytes | None = None
        if there.kind == "folder":
            root.refuse_root(where.path)
            if not input.recursive and (names := root.names(where.path)):
                raise ToolError(
                    "{path} holds {count} entries: set recursive.", code="not_empty", path=where.shown, count=len(names)
                )
        elif there.kind == "special":
            raise ToolError(
                "{path} is a device, pipe or socket: it is left alone.", code="not_a_file", path=where.shown
            )
        elif there.kind == "file" and there.size <= _DIFFED:
            before = root.read(where.path, _DIFFED)
            self.refuse_changed(where, before, context)
        return where, there, before


class MoveInput(Input):
    source: FilePath
    destination: FilePath
    overwrite: bool = Field(default=False, description="Replace a file at the destination.")


@builtin(order=309)
class MoveFileTool(ChangingTool):
    """Rename or move a file or folder."""

    name = "move_file"
    title = N_("Move or rename")
    purpose = N_("Moves and renames files and folders")
    icon = "folder"
    summaries = {"": N_("Move {source} to {destination}")}
    done = {"": N_("Moved {source} to {destination}")}
    subjects = {"source": "paths", "destination": "paths"}
    input = MoveInput
    about = About(
        what="Moves or renames a file or folder; an existing folder as destination takes it in under its own name.",
        when="something belongs elsewhere or is to be called otherwise.",
        when_not="the original is to stay (copy_file).",
        example={"source": "src/util.py", "destination": "src/tools/util.py"},
    )

    async def run(self, input: MoveInput, context: ToolContext) -> ToolResult:
        return await in_tool_thread(self._move, input, context)

    def summary_now(self, input: MoveInput, context: ToolContext) -> str:
        replaced = N_("Move {source} to {destination}, replacing the file there")
        return replaced if _replaces(self, input, context) else ""

    def preview(self, input: MoveInput, context: ToolContext) -> list[FileChange]:
        source, target = _ends(self, input, context)
        here, there = movable(self.files(context).root, source, target, overwrite=input.overwrite)
        moved = _path_moved("moved", self.root(source, context), source, here).model_copy(
            update={"moved_to": target.shown}
        )
        return [*_replaced(self.root(target, context), target, there), moved]

    def _move(self, input: MoveInput, context: ToolContext) -> ToolResult:
        source, target = _ends(self, input, context)
        changes = self.files(context).move(author(context), source, target, overwrite=input.overwrite)
        part = FileChange(
            action="moved", path=source.shown, moved_to=target.shown, before=changes[-1].before, after=changes[-1].after
        )
        state = {**seen(source, None), **({} if changes[-1].folder else _known(target, changes[-1]))}
        return changed({"source": source.shown, "destination": target.shown, "message": "moved"}, [part], state)


@builtin(order=310)
class CopyFileTool(ChangingTool):
    """Copy a file or folder."""

    name = "copy_file"
    title = N_("Copy")
    purpose = N_("Copies files and folders")
    icon = "copy"
    summaries = {"": N_("Copy {source} to {destination}")}
    done = {"": N_("Copied {source} to {destination}")}
    subjects = {"source": "paths", "destination": "paths"}
    input = MoveInput
    about = About(
        what=(
            "Copies a file or a folder with all it holds; an existing folder as destination takes it in under "
            "its own name."
        ),
        when="the original is to stay.",
        when_not="it is only to be elsewhere (move_file).",
        example={"source": "config.toml", "destination": "config.example.toml"},
    )

    async def run(self, input: MoveInput, context: ToolContext) -> ToolResult:
        return await in_tool_thread(self._copy, input, context)

    def summary_now(self, input: MoveInput, context: ToolContext) -> str:
        replaced = N_("Copy {source} to {destination}, replacing the file there")
        return replaced if _replaces(self, input, context) else ""

    def preview(self, input: MoveInput, context: ToolContext) -> list[FileChange]:
        source, target = _ends(self, input, context)
        here, there = copyable(self.files(context).root, source, target, overwrite=input.overwrite)
        copied = _path_moved("created", self.root(source, context), source, here)
        path = f"{target.shown}/" if here.kind == "folder" else target.shown
        return [*_replaced(self.root(target, context), target, there), copied.model_copy(update={"path": path})]

    def _copy(self, input: MoveInput, context: ToolContext) -> ToolResult:
        source, target = _ends(self, input, context)
        changes = self.files(context).copy(author(context), source, target, overwrite=input.overwrite)
        state = {} if changes[-1].folder else _known(target, changes[-1])
        facts = {"source": source.shown, "destination": target.shown, "message": "copied"}
        return changed(facts, [_part("created", target, changes[-1])], state)


class CreateInput(Input):
    path: FilePath


@builtin(order=311)
class CreateDirectoryTool(ChangingTool):
    """Make a folder."""

    name = "create_directory"
    title = N_("New folder")
    purpose = N_("Creates folders")
    icon = "folder"
    summaries = {"": N_("Create the folder {path}")}
    done = {"": N_("Created the folder {path}")}
    subjects = {"path": "paths"}
    idempotent = True
    input = CreateInput
    about = About(
        what="Makes a folder, and those above it that are missing; one that exists is no error.",
        when="an empty folder is wanted.",
        when_not="you write a file into it anyway: write_file makes the folders it needs.",
        example={"path": "docs/images"},
    )

    async def run(self, input: CreateInput, context: ToolContext) -> ToolResult:
        return await in_tool_thread(self._make, input, context)

    def _make(self, input: CreateInput, context: ToolContext) -> ToolResult:
        where = self.place(input.path, context)
        change = self.files(context).make_folder(author(context), where)
        if change is None:
            return ToolResult.ok(path=where.shown, message="The folder exists already.")
        return changed(
            {"path": where.shown, "message": f"{where.shown} created"}, [_part("created", where, change)], {}
        )


def _ends(tool: ChangingTool, input: MoveInput, context: ToolContext) -> tuple[WorkspacePath, WorkspacePath]:
    """Return both ends of a move or copy; into a folder, the source keeps its name."""
    source, target = tool.place(input.source, context), tool.place(input.destination, context)
    if tool.root(source, context).inspect(source.path, follow=False) is None:
        raise tool.missing(source, context)
    there = tool.root(target, context).inspect(target.path)
    if there is not None and there.kind == "folder" and source.path:
        target = target.below(source.path.rpartition("/")[2])
    return source, target


def _replaces(tool: ChangingTool, input: MoveInput, context: ToolContext) -> bool:
    """Return whether a move or copy replaces a file."""
    _source, target = _ends(tool, input, context)
    return input.overwrite and tool.root(target, context).inspect(target.path, follow=False) is not None


def _part(action: FileAction, where: WorkspacePath, change: Change) -> FileChange:
    path = f"{where.shown}/" if change.folder else where.shown
    return FileChange(action=action, path=path, before=change.before, after=change.after)


def _path_moved(
    action: Literal["created", "deleted", "moved"], root: ConfinedRoot, where: WorkspacePath, there: FoundFile
) -> FileChange:
    """Return the change of a call, with the number of affected files."""
    if there.kind != "folder":
        return FileChange(action=action, path=where.shown, files=1, size=there.size)
    files, size, folders = 0, 0, [where.path]
    while folders and files < limits.COUNTED_FILES:
        folder = folders.pop()
        for name, found in root.names(folder):
            if found.kind == "folder":
                folders.append(f"{folder}/{name}".lstrip("/"))
            else:
                files, size = files + 1, size + found.size
    return FileChange(action=action, path=f"{where.shown}/", files=min(files, limits.COUNTED_FILES), size=size)


def _replaced(root: ConfinedRoot, where: WorkspacePath, there: FoundFile | None) -> list[FileChange]:
    """Return what would be replaced."""
    return [_path_moved("deleted", root, where, there)] if there is not None else []


def _known(where: WorkspacePath, change: Change) -> dict[str, str]:
    return {next(iter(seen(where, None))): change.after}
