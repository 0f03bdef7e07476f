"""``read_image`` and ``list_images``: recognise text in images, and list images."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from typing import Any

from pydantic import Field

from atelier_desk.domain.errors import ToolError
from atelier_desk.media.image_headers import size_of
from atelier_desk.media.ocr import PAGES, PIXELS
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.support.worker.errors import Ended, Failed
from atelier_desk.support.worker.requests_to_child import ask_once
from atelier_desk.tools.base import Input, ToolContext, ToolResult
from atelier_desk.tools.definition.tool_description import About
from atelier_desk.tools.files.file_tool_base import FilePath
from atelier_desk.tools.media.media_tool_base import PICTURE, MediaTool
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.workspace.gitignore_walk import Walk
from atelier_desk.workspace.globs import compiled
from atelier_desk.workspace.path_resolution import WorkspacePath

OCR_S = 75.0
FOUND = 200
KINDS = re.compile(r".*\.(png|jpe?g|gif|webp|bmp|tiff?|svg|ico|avif|heic)", re.IGNORECASE)
_PROBLEM_TEXTS = {
    "not_a_picture": "{path} is no picture that can be read (PNG, JPEG, GIF, WebP, BMP, TIFF).",
    "bomb": "{path} has more than {most} million pixels: it is not unpacked. Ask for a smaller version.",
    "no_ocr": "Text in pictures cannot be read here: the OCR program is not installed. The user can install it "
    "with `make run EXTRAS=ocr` "
    "in Atelier's source folder, or else with `pip install 'atelier-desk[ocr]'`. On a Mac it needs macOS 15 or later.",
    "language": (
        "{path} was not read: only French (fra) and English (eng) come with the program. Use fra, eng or fra+eng."
    ),
    "broken": "{path} is damaged, or asks for too much memory: it is not read.",
    "timeout": "The text of {path} could not be read within {seconds} seconds. Try a part of it or a smaller version.",
}


class ReadImageInput(Input):
    path: FilePath
    language: str = Field(
        default="fra+eng", pattern=r"^[a-z]{3}(\+[a-z]{3})*$", max_length=40, description="fra, eng or fra+eng."
    )


@builtin(order=530)
class ReadImage(MediaTool):
    """Recognises the text of an image offline."""

    name = "read_image"
    title = N_("Read text in an image")
    purpose = N_("Reads the text of images and scans, offline")
    summaries = {"": N_("Read the text in {path}")}
    done = {"": N_("Looked for text in {path}")}
    subjects = {"path": "paths"}
    idempotent = True
    timeout_s = OCR_S + 15
    preset = True
    input = ReadImageInput
    rest_hint = "Read a part of the picture."
    about = About(
        what="Reads the text of a picture of the workspace (OCR), French and English, on this machine.",
        when="a picture is a scan, a screenshot or a photograph of text.",
        when_not=(
            "you want to see the picture (read_file shows it to a vision model), or know what it shows "
            "(describe_image)."
        ),
        example={"path": "scans/invoice.png"},
        limits=(
            f"{PICTURE >> 20} MB and {PIXELS // 1_000_000} million pixels",
            f"{PAGES} pages of a TIFF; the first frame of an animation",
            f"{OCR_S:.0f} seconds",
        ),
    )

    async def run(self, input: ReadImageInput, context: ToolContext) -> ToolResult:
        where = self.place(input.path, context)
        data = await self.content(where, context, PICTURE)
        context.progress(10, _("Reading the text"))
        try:
            found = (await ask_once("atelier_desk.media.ocr", (input.language,), data, limit_s=OCR_S)).value
        except (Ended, Failed) as error:
            raise failure(error.code, where) from error
        notes = [] if found["text"] else ["No text was found in the picture."]
        if found.pop("more", False):
            notes.append(f"Only the first {found.get('pages', 1)} of its pages or frames were read.")
        return ToolResult.ok(path=where.shown, **found, **({"note": " ".join(notes)} if notes else {}))


def failure(code: str, where: WorkspacePath) -> ToolError:
    """Return the error for a code of the process."""
    shown: dict[str, Any] = {"path": where.shown, "most": PIXELS // 1_000_000, "seconds": round(OCR_S)}
    code = code if code in _PROBLEM_TEXTS else "broken"
    return ToolError(_PROBLEM_TEXTS[code], code={"bomb": "too_large"}.get(code, code), **shown)


class ListImagesInput(Input):
    path: FilePath = Field(default=".", description="Folder to look in.")
    recursive: bool = Field(default=True, description="Also in the folders below.")
    pattern: str = Field(default="", max_length=500, description="Only those whose path fits, for example shots/*.png.")


@builtin(order=532)
class ListImages(MediaTool):
    """Lists images."""

    name = "list_images"
    title = N_("List images")
    purpose = N_("Finds the images in a folder, with their sizes")
    summaries = {"": N_("List the images in {path}")}
    done = {"": N_("Listed the images in {path}")}
    subjects = {"path": "paths"}
    idempotent = True
    preset = True
    input = ListImagesInput
    rest_hint = "Use a pattern, or a folder further down."
    about = About(
        what=(
            "Lists the pictures of a folder, the newest first, with size in bytes and, where it can be told, in pixels."
        ),
        when="you need to know which pictures there are.",
        when_not="you look for other files (glob_files).",
        example={"path": "assets", "pattern": "**/*.png"},
        limits=(f"{FOUND} pictures",),
    )

    async def run(self, input: ListImagesInput, context: ToolContext) -> ToolResult:
        return await in_tool_thread(self._list, input, context)

    def _list(self, input: ListImagesInput, context: ToolContext) -> ToolResult:
        where = self.place(input.path, context)
        root = self.root(where, context)
        if root.inspect(where.path) is None:
            raise self.missing(where, context)
        wanted = compiled(input.pattern) if input.pattern else None
        walk = Walk(root, stopped=lambda: context.cancelled)
        hits = []
        for entry in walk.files(where.path):
            below = entry.path[len(where.path) :].lstrip("/")
            fits = (
                KINDS.fullmatch(below)
                and (wanted is None or wanted.fullmatch(below))
                and (input.recursive or "/" not in below)
            )
            if fits:
                hits.append((entry, below))
        hits.sort(key=lambda hit: (-hit[0].found.modified, hit[1]))
        rows = []
        for entry, below in hits[:FOUND]:
            at = where.below(below)
            changed = datetime.fromtimestamp(entry.found.modified, UTC).isoformat(timespec="seconds")
            with root.file(at.path) as handle:
                rows.append({"path": at.shown, "size": entry.found.size, "modified": changed, **_pixels(handle)})
        cut = walk.cut or (f"only the {FOUND} newest of {len(hits)} pictures are listed" if len(hits) > FOUND else "")
        return ToolResult.ok(count=len(hits), images=rows, **({"note": cut} if cut else {}))


def _pixels(handle: int) -> dict[str, object]:
    """Return width and height from a file's header."""

    def read(offset: int, count: int) -> bytes:
        return os.pread(handle, count, offset) if hasattr(os, "pread") else _read_at(handle, offset, count)

    try:
        found = size_of(read)
    except OSError:
        return {}
    return {"width": found[0], "height": found[1]} if found is not None else {}


def _read_at(handle: int, offset: int, count: int) -> bytes:
    os.lseek(handle, offset, os.SEEK_SET)
    return os.read(handle, count)
