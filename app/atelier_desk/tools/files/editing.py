"""``edit_file``: edit parts of files, in the forms that models know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import Field, model_validator

from atelier_desk.domain.call_presentation_and_subjects import CallText, Subjects
from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.model_messages import ToolSpec
from atelier_desk.domain.result_parts import FileChange
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.tools.base import Call, Input, ToolContext, ToolResult
from atelier_desk.tools.definition.tool_description import About
from atelier_desk.tools.files.file_tool_base import ChangingTool, author, changed, seen, warned
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.workspace.checkpoints.undo import all_or_none
from atelier_desk.workspace.diffs import file_change
from atelier_desk.workspace.format_checks_and_notebook_cells import with_cell
from atelier_desk.workspace.patch import FilePatch, applied, parse
from atelier_desk.workspace.path_resolution import PATH, WorkspacePath
from atelier_desk.workspace.text_edits import appended, replaced, with_lines
from atelier_desk.workspace.text_files import Text

TEXT = 200_000
EDITS = 50
FORMS = (
    "Give path and one of: old_string with new_string; edits; start_line, end_line, expected and new_string; cell "
    "with new_string; append. "
    "Or give patch alone."
)
PATCH = (
    "*** Begin Patch, then for each file *** Update File: PATH and its lines after a space (stays), - (goes) or + "
    "(comes), places apart by "
    "@@; or *** Add File: PATH, all lines after +; or *** Delete File: PATH; then *** End Patch."
)

_FIELDS = {
    "text": ("old_string", "edits", "replace_all"),
    "lines": ("start_line", "end_line", "expected"),
    "patch": ("patch",),
}
"""Fields by form."""
_PATCHES = {
    "add": (N_("Create {path}"), N_("Created {path}")),
    "update": (N_("Edit {path}"), N_("Edited {path}")),
    "delete": (N_("Delete {path}"), N_("Deleted {path}")),
}
"""Summaries of patches that do the same to all their files, before and after; ``update`` also of mixed ones."""
_WORDS = {"text": "old_string with new_string; edits", "lines": "start_line, end_line, expected and new_string"}


class Edit(Input):
    old_string: str = Field(min_length=1, max_length=TEXT)
    new_string: str = Field(max_length=TEXT)
    replace_all: bool = False


class EditInput(Input):
    path: str = Field(default="", max_length=PATH, description="The file; left out with patch.")
    old_string: str | None = Field(
        default=None,
        max_length=TEXT,
        description="Text to replace, exactly as in the file, spaces and line ends too; it must stand there once.",
    )
    new_string: str | None = Field(
        default=None,
        max_length=TEXT,
        description="What takes the place of old_string, the lines or the cell; empty deletes.",
    )
    replace_all: bool = Field(default=False, description="Replace old_string wherever it stands.")
    edits: list[Edit] | None = Field(
        default=None, max_length=EDITS, description="Several such replacements, one after the other; all or none."
    )
    start_line: int | None = Field(default=None, ge=1, description="First line to replace, from 1.")
    end_line: int | None = Field(default=None, ge=1, description="Last line to replace, itself included.")
    expected: str | None = Field(
        default=None, max_length=TEXT, description="These lines as they are now; the last line end may be left out."
    )
    cell: str | None = Field(
        default=None,
        max_length=200,
        description="A notebook's cell, by id or number from 0; new_string is its whole source.",
    )
    append: str | None = Field(
        default=None, max_length=TEXT, description="Lines for the end of the file, on a line of their own."
    )
    patch: str | None = Field(default=None, max_length=TEXT, description=PATCH)

    @model_validator(mode="after")
    def _one_form(self) -> EditInput:
        given = {
            "old_string": self.old_string is not None,
            "edits": bool(self.edits),
            "start_line": self.start_line is not None or self.end_line is not None or self.expected is not None,
            "cell": self.cell is not None,
            "append": self.append is not None,
            "patch": self.patch is not None,
        }
        forms = [name for name, there in given.items() if there]
        if len(forms) != 1:
            raise ValueError(
                f"{'no change is given' if not forms else ' and '.join(forms) + ' cannot be given together'}. {FORMS}"
            )
        if (forms[0] == "patch") == bool(self.path):
            raise ValueError("patch names its files itself: leave path away" if self.path else "path is missing")
        if forms[0] in ("old_string", "start_line", "cell") and self.new_string is None:
            raise ValueError("new_string is missing; an empty one deletes")
        if forms[0] == "start_line" and None in (self.start_line, self.end_line, self.expected):
            raise ValueError("start_line, end_line and expected belong together")
        return self


@builtin(order=302)
class EditFileTool(ChangingTool):
    """Change parts of files."""

    name = "edit_file"
    title = N_("Edit file")
    purpose = N_("Changes parts of files in the workspace")
    icon = "pencil"
    summaries = {"": N_("Edit {path}")}
    done = {"": N_("Edited {path}")}
    subjects = {"path": "paths"}
    input = EditInput
    rest_hint = "The whole change was made; read the file to see it."
    about = About(
        what=(
            "Changes parts of text files and gives back the diff. Nothing is guessed: give exactly what is to be "
            "replaced. Undoable."
        ),
        when="you change some lines of a file that you have read.",
        when_not="the file is new or most of it changes (write_file).",
        example={"path": "src/main.py", "old_string": "timeout = 10\n", "new_string": "timeout = 30\n"},
        limits=(
            FORMS.rstrip("."),
            "the number and tab before each line of read_file are no part of the text",
            f"{EDITS} edits at once",
        ),
    )

    def definition_with(self, edit_forms: Sequence[str]) -> ToolSpec:
        """Return the definition with only these edit forms."""
        whole = self.definition()
        left = [field for form, fields in _FIELDS.items() if form not in edit_forms for field in fields]
        if not left:
            return whole
        properties = {name: schema for name, schema in whole.parameters["properties"].items() if name not in left}
        forms = "; ".join(_WORDS[form] for form in _WORDS if form in edit_forms)
        told = f"Give path and one of: {forms}; cell with new_string; append."
        if "patch" in edit_forms:
            told += " Or give patch alone."
        parameters = {**whole.parameters, "properties": properties}
        description = whole.description.replace(FORMS.rstrip("."), told.rstrip("."))
        return whole.model_copy(update={"parameters": parameters, "description": description, "variants": ()})

    def describe(self, input: EditInput) -> Call:
        call = super().describe(input)
        if input.patch is None:
            return call
        try:
            files = parse(input.patch)
        except ToolError:
            return call
        paths = tuple(path for file in files for path in (file.path, file.moved_to) if path)
        actions = {file.action for file in files}
        summary, done = _PATCHES[actions.pop()] if len(actions) == 1 else _PATCHES["update"]
        named = replace(
            call,
            subjects=Subjects(paths=paths),
            summary=CallText(text=summary, params={"path": ", ".join(paths)[:200]}),
            done=done,
        )
        return replace(named, risk=self.risk_of(paths))

    async def run(self, input: EditInput, context: ToolContext) -> ToolResult:
        return await in_tool_thread(self._patch if input.patch is not None else self._edit, input, context)

    def preview(self, input: EditInput, context: ToolContext) -> list[FileChange]:
        if input.patch is None:
            where, before, after = self._worked_out(input, context)
            return [file_change(where.shown, before, after)]
        planned = [self._planned(each, context) for each in parse(input.patch)]
        return [
            file_change(where.shown, before, after, moved_to=target.shown if target is not None else "")
            for _patch, where, before, after, target in planned
        ]

    def _worked_out(self, input: EditInput, context: ToolContext) -> tuple[WorkspacePath, bytes, bytes]:
        """Return the file, its content, and its content after the edits."""
        where = self.place(input.path, context)
        data, text = self.content(where, context)
        return where, data, _edited(text, input, where.shown).encoded()

    def _edit(self, input: EditInput, context: ToolContext) -> ToolResult:
        where, data, after = self._worked_out(input, context)
        if after == data:
            raise ToolError("Nothing would change: the file is like that already.", code="no_change")
        self.files(context).write(author(context), where, after, expected=data)
        part = file_change(where.shown, data, after)
        facts = {
            "path": where.shown,
            "added": part.added,
            "removed": part.removed,
            "diff": part.diff,
            **warned((where.shown, data, after)),
        }
        return changed(facts, [part], seen(where, after))

    def _patch(self, input: EditInput, context: ToolContext) -> ToolResult:
        """Apply a patch. All files are checked before the first is changed; a failure midway reverts earlier ones."""
        planned = [self._planned(each, context) for each in parse(input.patch or "")]
        files, who = self.files(context), author(context)
        parts: list[FileChange] = []
        state: dict[str, str] = {}
        with all_or_none(files) as made:
            for _patch, where, before, after, target in planned:
                # Listed before the next one is tried, so that it can be reverted.
                if after is None:
                    made.append(files.delete(who, where))
                elif (
                    after != before
                    and (change := files.write(who, where, after, new=before is None, expected=before)) is not None
                ):
                    made.append(change)
                if target is not None:
                    made += files.move(who, where, target)
                parts.append(
                    file_change(where.shown, before, after, moved_to=target.shown if target is not None else "")
                )
                state |= seen(where, None if target is not None else after)
                state |= seen(target, after) if target is not None else {}
        rows = [
            {"path": part.moved_to or part.path, "action": part.action, "added": part.added, "removed": part.removed}
            for part in parts
        ]
        left = warned(
            *(
                (place.shown, before, after)
                for _patch, where, before, after, target in planned
                for place in (target or where,)
            )
        )
        return changed(
            {"files": rows, **left, "diff": "\n".join(part.diff for part in parts if part.diff)}, parts, state
        )

    def _planned(
        self, patch: FilePatch, context: ToolContext
    ) -> tuple[FilePatch, WorkspacePath, bytes | None, bytes | None, WorkspacePath | None]:
        where = self.place(patch.path, context)
        target = self.place(patch.moved_to, context) if patch.moved_to else None
        if patch.action == "add":
            if self.root(where, context).inspect(where.path) is not None:
                raise ToolError("{path} exists already: use Update File.", code="exists", path=where.shown)
            return patch, where, None, "".join(f"{line}\n" for line in patch.lines).encode(), None
        data, text = self.content(where, context)
        if patch.action == "delete":
            return patch, where, data, None, None
        if target is not None and self.root(target, context).inspect(target.path, follow=False) is not None:
            raise ToolError("{path} exists already: nothing is moved over it.", code="exists", path=target.shown)
        return patch, where, data, applied(text, patch).encoded(), target


def _edited(text: Text, input: EditInput, path: str) -> Text:
    if input.cell is not None:
        return with_cell(text, input.cell, input.new_string or "", path)
    if input.append is not None:
        return appended(text, input.append)
    if input.edits:
        for number, each in enumerate(input.edits, 1):
            prefix = f"Edit {number} of {len(input.edits)}, and none was made: " if len(input.edits) > 1 else ""
            text = replaced(text, each.old_string, each.new_string, every=each.replace_all, path=path, number=prefix)
        return text
    new = input.new_string or ""
    if input.old_string is not None:
        return replaced(text, input.old_string, new, every=input.replace_all, path=path)
    return with_lines(text, input.start_line or 0, input.end_line or 0, input.expected or "", new, path)
