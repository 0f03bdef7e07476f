"""Inspect files: ``read_file``, ``file_exists`` and ``get_file_info``."""

from __future__ import annotations

import itertools
import os
import textwrap
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from pydantic import Field

from atelier_desk.domain.document_formats import PDF
from atelier_desk.domain.document_formats import kind_of as kind_of_document
from atelier_desk.domain.errors import ToolError
from atelier_desk.media.image_headers import kind_of
from atelier_desk.media.picture_preparation import UnusablePicture
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.tools.base import Input, ToolContext, ToolResult
from atelier_desk.tools.calls.result_images import UNFIT, ready_picture
from atelier_desk.tools.definition.tool_description import About
from atelier_desk.tools.files.document_text import PAGES, document_text, pdf_pages
from atelier_desk.tools.files.file_tool_base import FilePath, FileTool, near_names, seen
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.workspace.confined_root import ConfinedRoot
from atelier_desk.workspace.diffs import digest
from atelier_desk.workspace.path_resolution import WorkspacePath
from atelier_desk.workspace.text_files import Text, decode, is_binary

LINES = 2_000
LINE = 2_000
"""Maximum characters shown of a line."""
PAGE = 24_000
"""Characters per answer, so that a page with its JSON stays below the limit of results."""
MAX_FULL_READ = 20 * 1024 * 1024
"""Maximum bytes of a file that is read completely, with line count and change detection.

Of larger files only the page is read.
"""


class ReadInput(Input):
    path: FilePath
    offset: int = Field(default=1, ge=1, description="First line (PDF: page), from 1.")
    limit: int = Field(default=LINES, ge=1, le=LINES, description="Most lines (PDF: pages).")


@builtin(order=300)
class ReadFileTool(FileTool):
    """Read a file of the workspace."""

    name = "read_file"
    title = N_("Read file")
    purpose = N_("Reads files in the workspace")
    summaries = {"": N_("Read {path}")}
    done = {"": N_("Viewed {path}")}
    subjects = {"path": "paths"}
    idempotent = True
    input = ReadInput
    rest_hint = "Read on with offset, or search with search_files."
    about = About(
        what=(
            "Reads a file of the workspace: text with line numbers (a number, a tab, the line), PDF as text by page, "
            "office documents, "
            "books and mails as Markdown, pictures."
        ),
        when=(
            "you need what a file says, and always before you edit it. Several files can be read by several "
            "calls at once."
        ),
        when_not="you look for something in many files (search_files), or for files by name (glob_files).",
        example={"path": "src/main.py", "offset": 1, "limit": 200},
        limits=(
            f"{LINES} lines and {PAGE} characters at once; next_offset says where to go on",
            f"of a PDF offset and limit count pages, {PAGES} at once",
            f"longer lines are cut at {LINE} characters",
        ),
    )

    async def run(self, input: ReadInput, context: ToolContext) -> ToolResult:
        return await in_tool_thread(self._read, input, context)

    def _read(self, input: ReadInput, context: ToolContext) -> ToolResult:
        where = self.place(input.path, context)
        root = self.root(where, context)
        try:
            with root.file(where.path) as handle:
                size = os.fstat(handle).st_size
            if size > MAX_FULL_READ:
                return _streamed(root, where, input, size)
            data = root.read(where.path, MAX_FULL_READ)
        except ToolError as error:
            raise self.missing(where, context) if error.code == "not_found" else error from error
        if kind_of(data):
            return _picture(where, data, lambda: context.cancelled)
        if (kind := kind_of_document(where.shown, data[:1_024])) == PDF:
            return ToolResult(
                pdf_pages(where, data, input.offset, input.limit, PAGE, lambda: context.cancelled),
                state=seen(where, data),
            )
        text = Text(_in_lines(document_text(where, kind, data, lambda: context.cancelled))) if kind else decode(data)
        if text is None:
            raise ToolError(
                "{path} is a binary file of {size} bytes: it is not shown.",
                code="binary",
                path=where.shown,
                size=len(data),
            )
        return ToolResult({**_page(where, text, input), "size": len(data)}, state=seen(where, data))


def _page(where: WorkspacePath, text: Text, input: ReadInput) -> dict[str, object]:
    lines = text.lines
    if input.offset > max(1, len(lines)):
        raise ToolError(
            "{path} has {count} lines; offset {offset} is past its end.",
            path=where.shown,
            count=len(lines),
            offset=input.offset,
        )
    shown: list[str] = []
    used = 0
    for number, line in enumerate(lines[input.offset - 1 : input.offset - 1 + input.limit], input.offset):
        row = f"{number:>6}\t{_cut(line)}"
        if used + len(row) > PAGE and shown:
            break
        shown.append(row)
        used += len(row) + 1
    after = input.offset + len(shown)
    more = {"next_offset": after} if after <= len(lines) else {}
    encoding: dict[str, object] = {} if text.encoding == "utf-8" else {"encoding": text.encoding}
    if text.guessed:
        encoding["encoding_guessed"] = True
    empty = {} if lines else {"note": "The file is empty."}
    return {
        "success": True,
        "path": where.shown,
        "content": "\n".join(shown),
        "total_lines": len(lines),
        **more,
        **encoding,
        **empty,
    }


def _in_lines(text: str) -> str:
    """Wrap text so that lines are shown completely: paragraphs of documents have no line breaks."""
    return "\n".join(
        part
        for line in text.split("\n")
        for part in (textwrap.wrap(line, LINE, break_on_hyphens=False) if len(line) > LINE else [line])
    )


def _streamed(root: ConfinedRoot, where: WorkspacePath, input: ReadInput, size: int) -> ToolResult:
    """Read a page of a large file by scanning its lines."""
    with root.file(where.path) as handle, os.fdopen(os.dup(handle), "rb") as file:
        start = file.read(8_192)
        if kind_of_document(where.shown, start):
            raise ToolError(
                "{path} is a document of {size} bytes; up to {most} are read.",
                code="too_large",
                path=where.shown,
                size=size,
                most=MAX_FULL_READ,
            )
        if is_binary(start):
            raise ToolError(
                "{path} is a binary file of {size} bytes: it is not shown.", code="binary", path=where.shown, size=size
            )
        file.seek(0)
        shown: list[str] = []
        used = number = 0
        for line in itertools.islice(iter(lambda: _line(file), None), input.offset - 1 + input.limit):
            number += 1
            if number < input.offset:
                continue
            row = f"{number:>6}\t{_cut(line.decode('utf-8', 'replace'))}"
            if used + len(row) > PAGE:
                break
            shown.append(row)
            used += len(row) + 1
        more = {"next_offset": input.offset + len(shown)} if shown else {}
    note = "The file is large: its lines were not counted, and whether somebody changes it is not noticed."
    return ToolResult.ok(path=where.shown, content="\n".join(shown), size=size, note=note, **more)


def _line(file: Any) -> bytes | None:
    """Return the next line, cut to the shown length."""
    first: bytes = file.readline(LINE * 4)
    if not first:
        return None
    part = first
    while not part.endswith(b"\n") and (part := file.readline(1024 * 1024)):
        pass
    return first.rstrip(b"\r\n")


def _cut(line: str) -> str:
    return line if len(line) <= LINE else f"{line[:LINE]}… [{len(line) - LINE} characters more]"


def _picture(where: WorkspacePath, data: bytes, stopped: Callable[[], object]) -> ToolResult:
    try:
        part = ready_picture(where.shown, data, stopped)
    except UnusablePicture as unfit:
        code = (
            unfit.code if unfit.code in ("too_large", "timeout") else "too_large" if unfit.code == "bomb" else "broken"
        )
        raise ToolError(
            "{path} {reason}.", code=code, path=where.shown, reason=UNFIT.get(unfit.code, UNFIT["broken"])
        ) from None
    result = ToolResult.ok(
        path=where.shown, media_type=part.image.media_type, size=len(data), message="The picture is shown."
    )
    return ToolResult(result.data, parts=(part,), state=seen(where, data))


class ExistsInput(Input):
    path: FilePath


@builtin(order=306)
class FileExistsTool(FileTool):
    """Whether a file or folder exists."""

    name = "file_exists"
    title = N_("Check if file exists")
    purpose = N_("Checks whether a file or folder exists")
    icon = "circle-help"
    summaries = {"": N_("Check whether {path} exists")}
    done = {"": N_("Checked whether {path} exists")}
    subjects = {"path": "paths"}
    idempotent = True
    input = ExistsInput
    about = About(
        what="Says whether a path of the workspace exists, and whether it is a file or a folder.",
        when="all you need to know is whether something is there.",
        when_not="you are going to read it anyway: read_file says so too, and names what is like it.",
        example={"path": "pyproject.toml"},
    )

    async def run(self, input: ExistsInput, context: ToolContext) -> ToolResult:
        return await in_tool_thread(self._inspect, input, context)

    def _inspect(self, input: ExistsInput, context: ToolContext) -> ToolResult:
        where = self.place(input.path, context)
        root = self.root(where, context)
        try:
            there = root.inspect(where.path)
        except ToolError as error:
            if error.code != "not_a_folder":
                raise
            there = None
        if there is None:
            near = near_names(root, where)
            return ToolResult.ok(path=where.shown, exists=False, **({"closest": near} if near else {}))
        return ToolResult.ok(path=where.shown, exists=True, type=there.kind)


@builtin(order=307)
class FileInfoTool(FileTool):
    """Return metadata of a file without reading it."""

    name = "get_file_info"
    title = N_("File details")
    purpose = N_("Shows the size, timestamps and permissions of a file")
    icon = "info"
    summaries = {"": N_("View the details of {path}")}
    done = {"": N_("Viewed the details of {path}")}
    subjects = {"path": "paths"}
    idempotent = True
    input = ExistsInput
    about = About(
        what=(
            "Gives type, size in bytes, time of the last change, permissions, and for text the encoding, line "
            "ends and number of lines."
        ),
        when="you need these facts and not the content.",
        when_not="you need what the file says (read_file).",
        example={"path": "data/table.csv"},
    )

    async def run(self, input: ExistsInput, context: ToolContext) -> ToolResult:
        return await in_tool_thread(self._inspect, input, context)

    def _inspect(self, input: ExistsInput, context: ToolContext) -> ToolResult:
        where = self.place(input.path, context)
        root = self.root(where, context)
        there = root.inspect(where.path)
        if there is None:
            raise self.missing(where, context)
        facts: dict[str, object] = {
            "path": where.shown,
            "type": there.kind,
            "size": there.size,
            "modified": datetime.fromtimestamp(there.modified, UTC).isoformat(timespec="seconds"),
            "permissions": f"{there.mode:03o}",
        }
        if there.kind == "folder":
            facts["entries"] = len(root.names(where.path))
        elif there.kind == "file" and there.size <= MAX_FULL_READ:
            data = root.read(where.path, MAX_FULL_READ)
            text = decode(data)
            facts["sha256"] = digest(data)
            facts["binary"] = text is None
            if text is not None:
                ends = {"\n": "LF", "\r\n": "CRLF", "\r": "CR"}[text.newline]
                facts |= {"encoding": text.encoding, "line_ends": ends, "lines": len(text.lines)}
                if text.guessed:
                    facts["encoding_guessed"] = True
        return ToolResult.ok(**facts)
