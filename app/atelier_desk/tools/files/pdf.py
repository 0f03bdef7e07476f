"""PDF for ``read_file``: its text by page, taken out by a process that has limits."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from atelier_desk.children import environment
from atelier_desk.domain.errors import ToolError
from atelier_desk.workspace.places import Place

PAGES = 50
"""Pages of one answer."""
LIMIT_S = 15.0
"""Seconds after which the process is ended, wherever it is."""
_MODULE = "atelier_desk.workspace.pdf_text"


def is_pdf(data: bytes) -> bool:
    return data.startswith(b"%PDF-")


def pdf_pages(where: Place, data: bytes, first: int, most: int, characters: int) -> dict[str, Any]:
    """What ``read_file`` answers for a PDF, from page ``first`` on.

    Raises:
        ToolError: it is encrypted, has no text, is broken, has no such page, or takes too long.
    """
    found = _read(where, data, first, min(most, PAGES), characters)
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


def _read(where: Place, data: bytes, first: int, most: int, characters: int) -> dict[str, Any]:
    # -P as the frozen program knows it, which has no Python beside it.
    order = (sys.executable, "-P", "-m", _MODULE, str(first), str(most), str(characters))
    try:
        done = subprocess.run(order, input=data, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=LIMIT_S, env=environment())
    except subprocess.TimeoutExpired:
        raise ToolError(
            "{path} is a PDF whose text could not be read within {seconds} seconds. Ask for fewer pages with limit.",
            code="timeout",
            path=where.shown,
            seconds=int(LIMIT_S),
        ) from None
    try:
        found: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        found = {"error": "broken"}
    match found.get("error"):
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
