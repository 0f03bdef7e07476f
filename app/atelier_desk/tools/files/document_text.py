"""Documents for ``read_file`` and attachments: text extracted in a limited process; PDFs by page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from atelier_desk.domain.document_formats import PDF, READER, not_read
from atelier_desk.domain.errors import AtelierError, ToolError
from atelier_desk.support.worker.errors import Ended, Failed
from atelier_desk.support.worker.requests_to_child import ask_in_thread
from atelier_desk.workspace.path_resolution import WorkspacePath

PAGES = 50
"""Maximum pages per answer."""
CHARACTERS = 1_000_000
"""Maximum characters read from a document without pages."""
LIMIT_S = 15.0
"""Time limit in seconds of the process."""
NO_TEXT = "[No text on this page: it is a picture, as of a scan, or cannot be read.]"


def shown_pages(found: dict[str, Any], first: int = 1) -> list[str]:
    """Return the parts shown of a PDF: numbered pages, form fields, embedded files."""
    total = int(found["total"])
    parts = [
        f"--- Page {number} of {total} ---\n{text or NO_TEXT}" for number, text in enumerate(found["pages"], first)
    ]
    if fields := found.get("fields"):
        parts.append("--- Filled into its form ---\n" + "\n".join(f"{name}: {value}" for name, value in fields))
    if files := found.get("files"):
        parts.append(f"[Files are embedded in it and were not read: {', '.join(files)}]")
    return parts


def pdf_pages(
    where: WorkspacePath,
    data: bytes,
    first: int,
    most: int,
    characters: int,
    stopped: Callable[[], object],
) -> dict[str, object]:
    """Return the answer of ``read_file`` for a PDF, from page ``first`` on.

    ``stopped`` is polled: stopping the call ends the process.

    Raises:
        ToolError: it is encrypted, has no text, is broken, has no such page, or takes too long.
    """
    try:
        found = extracted(ToolError, PDF, where.shown, data, first, min(most, PAGES), characters, stopped)
    except Failed as error:
        say, count = "{path} has {count} pages; offset {offset} is past its end.", error.params["total"]
        raise ToolError(say, path=where.shown, count=count, offset=first) from None
    total, texts = int(found["total"]), list(found["pages"])
    after = first + len(texts)
    last = after - 1
    if not any(texts) and not found.get("fields"):
        raise ToolError(
            (
                "{path} is a PDF without text on pages {first} to {last} of {total}: they are pictures, as of a scan. "
                "{next}"
            ),
            code="no_text",
            path=where.shown,
            first=first,
            last=last,
            total=total,
            next=f"Read on with offset {after}."
            if after <= total
            else "Read a picture of each page, or ask for a version with text.",
        )
    shown = shown_pages(found, first)
    more: dict[str, object] = {"next_offset": after} if after <= total else {}
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


def document_text(where: WorkspacePath, kind: str, data: bytes, stopped: Callable[[], object] = lambda: False) -> str:
    """Return the text of a document without pages, as Markdown.

    Raises:
        ToolError: it cannot be read, see ``NOT_READ``.
    """
    return text_of(extracted(ToolError, kind, where.shown, data, 1, 1, CHARACTERS, stopped))


def text_of(found: dict[str, Any]) -> str:
    """Return the text shown of a document without pages."""
    text = str(found["pages"][0])
    return (
        f"{text}\n\n[The document goes on: only its beginning was read, {len(text)} characters.]"
        if found["cut"]
        else text
    )


Error = TypeVar("Error", bound=AtelierError)


def extracted(
    error: type[Error],
    kind: str,
    name: str,
    data: bytes,
    first: int,
    most: int,
    characters: int,
    stopped: Callable[[], object] = bool,
) -> dict[str, Any]:
    """Return the process's answer for a document, see ``domain.document_formats.READER``. Blocks.

    Raises:
        Failed: ``past_end``, with the ``total`` of its pages.
        error: it cannot be read, see ``NOT_READ``; ``timeout`` after ``LIMIT_S`` or when ``stopped`` returns True.
    """
    try:
        return dict(
            ask_in_thread(READER, (kind, first, most, characters), data, limit_s=LIMIT_S, stopped=stopped).value
        )
    except Failed as failed:
        if failed.code == "past_end":
            raise
        raise not_read(error, failed.code, name, **failed.params) from failed
    except Ended as ended:
        raise not_read(error, ended.code, name, seconds=int(LIMIT_S)) from ended
