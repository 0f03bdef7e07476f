"""PDF for ``read_file``: its text by page, taken out by a process that has limits."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from atelier_desk.children import reader_environment
from atelier_desk.domain.errors import ToolError
from atelier_desk.workspace.places import Place

PAGES = 50
"""Pages of one answer."""
LIMIT_S = 15.0
"""Seconds after which the process is ended, wherever it is."""
LOOK_S = 0.1
"""How often it is looked whether the call was stopped."""
_MODULE = "atelier_desk.workspace.pdf_text"


def is_pdf(data: bytes) -> bool:
    return data.startswith(b"%PDF-")


def pdf_pages(
    where: Place, data: bytes, first: int, most: int, characters: int, stopped: Callable[[], object] = lambda: False
) -> dict[str, Any]:
    """What ``read_file`` answers for a PDF, from page ``first`` on. ``stopped`` is looked at all the time: who stops the call ends the
    process with it.

    Raises:
        ToolError: it is encrypted, has no text, is broken, has no such page, or takes too long.
    """
    found = _read(where, data, first, min(most, PAGES), characters, stopped)
    total, texts = int(found["total"]), list(found["pages"])
    after = first + len(texts)
    last = after - 1
    if not any(texts):
        raise ToolError(
            "{path} is a PDF without text on pages {first} to {last} of {total}: they are pictures, as of a scan. {next}",
            code="no_text",
            path=where.shown,
            first=first,
            last=last,
            total=total,
            next=f"Read on with offset {after}." if after <= total else "Read a picture of each page, or ask for a version with text.",
        )
    shown = [f"--- Page {number} of {total} ---\n{text}" for number, text in enumerate(texts, first)]
    more: dict[str, Any] = {"next_offset": after} if after <= total else {}
    if found["cut"]:
        more["note"] = f"Page {last} is cut: {found['cut']} characters more."
    return {
        "success": True,
        "path": where.shown,
        "media_type": "application/pdf",
        "content": "\n\n".join(shown),
        "total_pages": total,
        "size": len(data),
        **more,
    }


def _output(order: Sequence[str], data: bytes, stopped: Callable[[], object]) -> bytes | None:
    """What a process makes of the data; None when it was ended because its time was over or the call was stopped."""
    pipe, until = subprocess.PIPE, time.monotonic() + LIMIT_S
    given: bytes | None = data
    with subprocess.Popen(order, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=reader_environment()) as process:
        try:
            while not stopped() and time.monotonic() < until:
                with suppress(subprocess.TimeoutExpired):
                    return process.communicate(given, timeout=LOOK_S)[0]
                given = None  # asked again it only waits on
        finally:
            process.kill()
    return None


def extracted(data: bytes, first: int, most: int, characters: int, stopped: Callable[[], object] = bool) -> dict[str, Any]:
    """What the process says of a PDF, see ``workspace.pdf_text``; ``{"error": "timeout"}`` when it was ended after ``LIMIT_S`` or because
    ``stopped`` says so. Blocks."""
    # -P as the frozen program knows it, which has no Python beside it.
    out = _output((sys.executable, "-P", "-m", _MODULE, str(first), str(most), str(characters)), data, stopped)
    if out is None:
        return {"error": "timeout"}
    try:
        found: dict[str, Any] = json.loads(out)
    except ValueError:
        return {"error": "broken"}
    return found


def _read(where: Place, data: bytes, first: int, most: int, characters: int, stopped: Callable[[], object]) -> dict[str, Any]:
    found = extracted(data, first, most, characters, stopped)
    match found.get("error"):
        case "timeout":
            raise ToolError(
                "{path} is a PDF whose text could not be read within {seconds} seconds. Ask for fewer pages with limit.",
                code="timeout",
                path=where.shown,
                seconds=int(LIMIT_S),
            )
        case "encrypted":
            raise ToolError("{path} is a PDF with a password: ask for a version without one.", code="encrypted", path=where.shown)
        case "past_end":
            raise ToolError(
                "{path} has {count} pages; offset {offset} is past its end.", path=where.shown, count=found["total"], offset=first
            )
        case "broken":
            raise ToolError(
                "{path} is a PDF that is broken or asks for too much memory: its text is not read.", code="broken", path=where.shown
            )
    return found
