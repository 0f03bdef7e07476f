"""PDF for ``read_file``: its text by page, taken out by a process that has limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from atelier_desk.domain.errors import ToolError
from atelier_desk.support.worker.errors import Ended, Failed
from atelier_desk.support.worker.parent import ask_in_thread
from atelier_desk.workspace.places import Place

PAGES = 50
"""Pages of one answer."""
LIMIT_S = 15.0
"""Seconds after which the process is ended, wherever it is."""
_MODULE = "atelier_desk.workspace.pdf_text"
_SAYS = {
    "timeout": "{path} is a PDF whose text could not be read within {seconds} seconds. Ask for fewer pages with limit.",
    "encrypted": "{path} is a PDF with a password: ask for a version without one.",
    "broken": "{path} is a PDF that is broken or asks for too much memory: its text is not read.",
}

NO_TEXT = "[No text on this page: it is a picture, as of a scan, or cannot be read.]"


def is_pdf(data: bytes) -> bool:
    """Whether it is a PDF, which some programs begin with blank lines or a byte order mark."""
    return data[:1_024].lstrip(b"\xef\xbb\xbf\0 \t\r\n\f").startswith(b"%PDF-")


def shown_pages(found: dict[str, Any], first: int = 1) -> list[str]:
    """The parts of what a model reads of a PDF: its pages with their numbers, what was filled into its form, files in it."""
    total = int(found["total"])
    parts = [f"--- Page {number} of {total} ---\n{text or NO_TEXT}" for number, text in enumerate(found["pages"], first)]
    if fields := found.get("fields"):
        parts.append("--- Filled into its form ---\n" + "\n".join(f"{name}: {value}" for name, value in fields))
    if files := found.get("files"):
        parts.append(f"[Files are embedded in it and were not read: {', '.join(files)}]")
    return parts


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
    if not any(texts) and not found.get("fields"):
        raise ToolError(
            "{path} is a PDF without text on pages {first} to {last} of {total}: they are pictures, as of a scan. {next}",
            code="no_text",
            path=where.shown,
            first=first,
            last=last,
            total=total,
            next=f"Read on with offset {after}." if after <= total else "Read a picture of each page, or ask for a version with text.",
        )
    shown = shown_pages(found, first)
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


def extracted(
    data: bytes, first: int, most: int, characters: int, stopped: Callable[[], object] = bool, module: str = _MODULE
) -> dict[str, Any]:
    """What the process says of a PDF, see ``workspace.pdf_text``, or of what ``module`` reads in the same form. Blocks.

    Raises:
        WorkerError: it refused, failed, or was ended; ``timeout`` after ``LIMIT_S`` or because ``stopped`` says so.
    """
    return dict(ask_in_thread(module, (first, most, characters), data, limit_s=LIMIT_S, stopped=stopped).value)


def _read(where: Place, data: bytes, first: int, most: int, characters: int, stopped: Callable[[], object]) -> dict[str, Any]:
    try:
        return extracted(data, first, most, characters, stopped)
    except Failed as error:
        if error.code == "past_end":
            say, count = "{path} has {count} pages; offset {offset} is past its end.", error.params["total"]
            raise ToolError(say, path=where.shown, count=count, offset=first) from None
        code = error.code if error.code in _SAYS else "broken"
    except Ended as error:
        code = "timeout" if error.code == "timeout" else "broken"
    raise ToolError(_SAYS[code], code=code, path=where.shown, seconds=int(LIMIT_S))


WORD_MODULE = "atelier_desk.tools.files.word_text"
WORD_CHARACTERS = 1_000_000
"""Characters of a Word document that are read."""


def word_text(where: Place, data: bytes, stopped: Callable[[], object] = lambda: False) -> str:
    """The words of a Word document.

    Raises:
        ToolError: it is broken, or takes too long.
    """
    try:
        return str(extracted(data, 1, 1, WORD_CHARACTERS, stopped, WORD_MODULE)["pages"][0])
    except (Ended, Failed) as error:
        if error.code == "timeout":
            raise ToolError("{path} is a Word document whose text could not be read in time.", code="timeout", path=where.shown) from None
        raise ToolError("{path} is a Word document that is broken: its text is not read.", code="broken", path=where.shown) from error
