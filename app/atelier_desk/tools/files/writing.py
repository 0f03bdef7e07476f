"""``write_file``: write a whole file."""

from __future__ import annotations

from pydantic import Field

from atelier_desk.domain import limits
from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.result_parts import FileChange
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.tools.base import Input, ToolContext, ToolResult
from atelier_desk.tools.definition.tool_description import About
from atelier_desk.tools.files.file_tool_base import ChangingTool, FilePath, author, changed, seen, warned
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.workspace.checkpoints.undoable_file_operations import FILE
from atelier_desk.workspace.diffs import file_change
from atelier_desk.workspace.path_resolution import WorkspacePath
from atelier_desk.workspace.text_edits import rewritten
from atelier_desk.workspace.text_files import Text, decode


class WriteInput(Input):
    path: FilePath
    content: str = Field(max_length=limits.RESULT_STORED, description="The whole file.")


@builtin(order=301)
class WriteFileTool(ChangingTool):
    """Write a whole file."""

    name = "write_file"
    title = N_("Write file")
    purpose = N_("Writes whole files in the workspace")
    icon = "save"
    summaries = {"": N_("Write {path}")}
    done = {"": N_("Wrote {path}")}
    subjects = {"path": "paths"}
    idempotent = True
    input = WriteInput
    about = About(
        what=(
            "Writes a whole text file, new or in place of the old content; folders above it are made. The user "
            "can undo it."
        ),
        when="a file is new, or most of it changes.",
        when_not="a part of a file changes: edit_file needs fewer words and leaves the rest alone.",
        example={"path": "notes/plan.md", "content": "# Plan\n"},
        limits=(f"content {limits.RESULT_STORED} characters",),
    )

    async def run(self, input: WriteInput, context: ToolContext) -> ToolResult:
        return await in_tool_thread(self._write, input, context)

    def summary_now(self, input: WriteInput, context: ToolContext) -> str:
        where = self.place(input.path, context)
        there = self.root(where, context).inspect(where.path)
        return N_("Create {path}") if there is None else N_("Replace the content of {path}")

    def preview(self, input: WriteInput, context: ToolContext) -> list[FileChange]:
        where, before, after = self._worked_out(input, context)
        return [file_change(where.shown, before, after)]

    def _worked_out(self, input: WriteInput, context: ToolContext) -> tuple[WorkspacePath, bytes | None, bytes]:
        """Return the file, its present content (None if new), and its new content."""
        where = self.place(input.path, context)
        before: bytes | None = None
        text = Text("")
        try:
            before = self.root(where, context).read(where.path, FILE)
        except ToolError as error:
            if error.code != "not_found":
                raise
        if before is not None:
            old = decode(before)
            if old is None:
                raise ToolError(
                    "{path} is a binary file: it is not overwritten with text.", code="binary", path=where.shown
                )
            text = old
        return where, before, rewritten(text, input.content).encoded()

    def _write(self, input: WriteInput, context: ToolContext) -> ToolResult:
        where, before, data = self._worked_out(input, context)
        if before == data:
            # Also when the call is repeated after a kill: nothing is left to do.
            return ToolResult(
                {"success": True, "path": where.shown, "message": "The file holds this already."},
                state=seen(where, data),
            )
        if before is not None:
            self.refuse_changed(where, before, context)
        self.files(context).write(author(context), where, data, expected=before, new=before is None)
        part = file_change(where.shown, before, data)
        what = "created" if before is None else "overwritten"
        facts = {"path": where.shown, "size": len(data), "message": f"{where.shown} {what}"}
        if before is not None:
            facts["diff"] = part.diff
        return changed({**facts, **warned((where.shown, before, data))}, [part], seen(where, data))
