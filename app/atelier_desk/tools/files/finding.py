"""Find files and content: ``list_directory``, ``glob_files`` and ``search_files``."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from pydantic import Field

from atelier_desk.domain.call_presentation_and_subjects import CallText
from atelier_desk.domain.errors import ToolError
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.tools.base import Call, Input, ToolContext, ToolResult
from atelier_desk.tools.definition.tool_description import About
from atelier_desk.tools.files.file_tool_base import FilePath, FileTool
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.workspace.gitignore_walk import DEPTH, Walk
from atelier_desk.workspace.globs import compiled, plain_start
from atelier_desk.workspace.path_resolution import WorkspacePath
from atelier_desk.workspace.search import FILE, FileHit, search

ENTRIES = 1_000
"""Maximum entries of a listing."""
FOUND = 500
"""Maximum files returned by a glob."""
PATTERN = 1_000
SECONDS = 20.0
CHARACTERS = 24_000
"""Maximum characters of search results, so that a page with its JSON stays below the limit of results."""


class ListInput(Input):
    path: FilePath = "."
    recursive: bool = Field(default=False, description="Also what the folders in it hold.")
    show_hidden: bool = Field(default=False, description="Also hidden files and those .gitignore leaves out.")


@builtin(order=303)
class ListDirectoryTool(FileTool):
    """What a folder holds."""

    name = "list_directory"
    title = N_("List folder")
    purpose = N_("Lists the contents of a folder")
    icon = "folder-open"
    summaries = {"": N_("List {path}")}
    done = {"": N_("Listed {path}")}
    subjects = {"path": "paths"}
    idempotent = True
    input = ListInput
    rest_hint = "List a folder further down, or use glob_files."
    about = About(
        what=(
            "Lists the files and folders in a folder of the workspace; what .gitignore leaves out and hidden "
            "files only with show_hidden."
        ),
        when="you want to know what there is: begin with the path '.'.",
        when_not="you know a part of the name (glob_files) or of the content (search_files).",
        example={"path": "src", "recursive": True},
        limits=(f"{ENTRIES} entries",),
    )

    def describe(self, input: ListInput) -> Call:
        """Describe the call; the folder ``.`` itself is not shown."""
        call = super().describe(input)
        return (
            replace(call, summary=CallText(text=N_("List the folder")), done=N_("Listed the folder"))
            if input.path == "."
            else call
        )

    async def run(self, input: ListInput, context: ToolContext) -> ToolResult:
        return await in_tool_thread(self._list, input, context)

    def _list(self, input: ListInput, context: ToolContext) -> ToolResult:
        where = self.place(input.path, context)
        root = self.root(where, context)
        there = root.inspect(where.path)
        if there is None:
            raise self.missing(where, context)
        if there.kind != "folder":
            raise ToolError("{path} is no folder: use read_file.", code="not_a_folder", path=where.shown)
        walk = Walk(root, everything=input.show_hidden, seconds=SECONDS, stopped=lambda: context.cancelled)
        rows: list[dict[str, object]] = []
        cut = ""
        for entry in walk.files(where.path, folders=True, depth=DEPTH if input.recursive else 1):
            if len(rows) == ENTRIES:
                cut = f"only the first {ENTRIES} entries are listed"
                break
            name = entry.path[len(where.path) :].lstrip("/")
            row: dict[str, object] = {
                "name": f"{name}/" if entry.found.kind == "folder" else name,
                "type": entry.found.kind,
            }
            rows.append({**row, "size": entry.found.size} if entry.found.kind == "file" else row)
        rows.sort(
            key=lambda row: (row["type"] != "folder", row["name"]) if not input.recursive else (False, row["name"])
        )
        cut = cut or walk.cut
        return ToolResult.ok(path=where.shown, count=len(rows), entries=rows, **({"note": cut} if cut else {}))


class GlobInput(Input):
    pattern: str = Field(
        min_length=1,
        max_length=PATTERN,
        description="*.md: in cwd alone; **/*.md: below it too; src/**/*.{ts,tsx}; "
        "an absolute one inside the workspace.",
    )
    cwd: FilePath = Field(
        default=".", description="Folder where the pattern begins; the whole workspace when left out."
    )
    ignore: list[str] = Field(
        default=[],
        max_length=50,
        description='Names or patterns of files and folders to leave out, such as ["node_modules", "**/test_*"].',
    )


@builtin(order=304)
class GlobFilesTool(FileTool):
    """Find files by name."""

    name = "glob_files"
    title = N_("Find files")
    purpose = N_("Finds files by name")
    icon = "search"
    summaries = {"": N_("Find {pattern}")}
    done = {"": N_("Looked for {pattern}")}
    subjects = {"cwd": "paths"}
    idempotent = True
    input = GlobInput
    rest_hint = "Use a narrower pattern."
    about = About(
        what=(
            "Finds files by a pattern of their paths, newest first: * and ? within a name, ** for any folders, "
            "{a,b} for choices."
        ),
        when="you know how a file is called, or which kind of files you want.",
        when_not="you look for what stands in files (search_files).",
        example={"pattern": "**/*_test.py", "cwd": "src"},
        limits=(
            f"{FOUND} files",
            (
                "no folders; no files that .gitignore leaves out; hidden ones only when a part of the pattern begins "
                "with a dot"
            ),
        ),
    )

    def describe(self, input: GlobInput) -> Call:
        # Rules for the cwd also apply to the folder that a pattern names.
        call = super().describe(input)
        plain = plain_start(input.pattern)[0]
        if not plain:
            return call
        named = plain if plain.startswith(("/", "~/")) else f"{input.cwd.rstrip('/')}/{plain}"
        return replace(call, subjects=call.subjects.model_copy(update={"paths": (*call.subjects.paths, named)}))

    async def run(self, input: GlobInput, context: ToolContext) -> ToolResult:
        return await in_tool_thread(self._glob, input, context)

    def _glob(self, input: GlobInput, context: ToolContext) -> ToolResult:
        where = self.place(input.cwd, context)
        where, pattern = self.below(input.pattern, where, context, moves=True)
        root = self.root(where, context)
        plain, rest = plain_start(pattern)
        pattern = f"{plain}/{rest}" if plain else rest
        wanted = compiled(pattern)
        begins = where.below(plain) if plain else where
        named = root.inspect(begins.path)
        without = [compiled(each, anywhere=True) for each in input.ignore]
        hidden = any(part.startswith(".") for part in pattern.split("/"))
        walk = Walk(root, everything=hidden, seconds=SECONDS, stopped=lambda: context.cancelled)
        hits = []
        for entry in walk.files((begins if named is not None and named.kind == "folder" else where).path):
            below = entry.path[len(where.path) :].lstrip("/")
            if wanted.fullmatch(below) and not any(_leaves_out(each, below) for each in without):
                hits.append(entry)
        hits.sort(key=lambda entry: (-entry.found.modified, entry.path))
        rows = [
            {
                "path": _shown(where, entry.path),
                "size": entry.found.size,
                "modified": datetime.fromtimestamp(entry.found.modified, UTC).isoformat(timespec="seconds"),
            }
            for entry in hits[:FOUND]
        ]
        cut = walk.cut or (f"only the {FOUND} newest of {len(hits)} files are listed" if len(hits) > FOUND else "")
        return ToolResult.ok(count=len(hits), files=rows, **({"note": cut} if cut else {}))


class SearchInput(Input):
    pattern: str = Field(min_length=1, max_length=PATTERN, description="Regular expression, matched line by line.")
    path: FilePath = Field(default=".", description="File or folder to search in.")
    glob: str = Field(default="", max_length=PATTERN, description="Only in files whose path fits, for example *.py.")
    ignore_case: bool = False
    context_lines: int = Field(default=0, ge=0, le=10, description="Lines shown before and after each match.")
    max_results: int = Field(default=100, ge=1, le=1000)


@builtin(order=305)
class SearchFilesTool(FileTool):
    """Find what stands in files."""

    name = "search_files"
    title = N_("Search in files")
    purpose = N_("Searches the text of files")
    icon = "search"
    summaries = {"": N_("Search for {pattern}")}
    done = {"": N_("Searched for {pattern}")}
    subjects = {"path": "paths"}
    idempotent = True
    input = SearchInput
    rest_hint = "Use a narrower pattern, a glob, or a folder further down."
    about = About(
        what=(
            "Searches the lines of text files by a regular expression. Hidden, binary and ignored (.gitignore) "
            "files are left out."
        ),
        when="you look for a name, a call, a message or a setting and do not know where it is.",
        when_not="you know the file: read it (read_file).",
        example={"pattern": "def parse_\\w+", "glob": "*.py", "context_lines": 2},
        limits=(
            "100 matches unless max_results says more",
            f"files up to {FILE // 1024 // 1024} MB",
            f"{SECONDS:g} seconds",
        ),
    )

    async def run(self, input: SearchInput, context: ToolContext) -> ToolResult:
        return await in_tool_thread(self._search, input, context)

    def _search(self, input: SearchInput, context: ToolContext) -> ToolResult:
        where = self.place(input.path, context)
        root = self.root(where, context)
        if root.inspect(where.path) is None:
            raise self.missing(where, context)
        glob = self.below(input.glob, where, context)[1] if input.glob else ""
        results = search(
            root,
            input.pattern,
            start=where.path,
            glob=glob,
            ignore_case=input.ignore_case,
            context=input.context_lines,
            most=input.max_results,
            seconds=SECONDS,
            stopped=lambda: context.cancelled,
            tells=lambda path: context.may_disclose((where.root / path).as_posix()),
        )
        rows: list[dict[str, object]] = []
        used, cut = 0, results.cut
        for hit in results.hits:
            row = _row(where, hit)
            used += len(str(row))
            if used > CHARACTERS and rows:
                cut = f"only the first {len(rows)} of {len(results.hits)} matches fit here: narrow the search"
                break
            rows.append(row)
        notes = {"note": cut} if cut else {}
        if results.skipped:
            notes["too_large"] = ", ".join(results.skipped[:10])
        found = ToolResult.ok(
            count=len(results.hits), files=results.files, searched=results.searched, matches=rows, **notes
        )
        marks = self.files(context).marks
        paths = dict.fromkeys(hit.path for hit in results.hits) if marks else ()
        read = dict.fromkeys(name for path in paths for name in marks.of(str(where.root / path)))
        return replace(found, tainted=tuple(read))


def _row(where: WorkspacePath, hit: FileHit) -> dict[str, object]:
    row: dict[str, object] = {"path": _shown(where, hit.path), "line": hit.line, "text": hit.text}
    if hit.before or hit.after:
        around = [*hit.before, (hit.line, hit.text), *hit.after]
        row["text"] = "\n".join(f"{number:>6}\t{text}" for number, text in around)
    return row


def _shown(where: WorkspacePath, path: str) -> str:
    """Return a path of the same granted folder as ``where``, in a form the model can pass back."""
    below = path[len(where.path) :].lstrip("/")
    return where.below(below).shown if below else where.shown


def _leaves_out(pattern: Any, path: str) -> bool:
    parts = path.split("/")
    return any(pattern.fullmatch("/".join(parts[:end])) for end in range(1, len(parts) + 1))
