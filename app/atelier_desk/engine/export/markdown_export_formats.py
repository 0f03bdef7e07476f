"""Export formats by file extension."""

from __future__ import annotations

from collections.abc import Callable

from atelier_desk.domain.errors import UsageError
from atelier_desk.support.i18n import N_


def _word(text: str, title: str) -> bytes:
    from atelier_desk.engine.export.markdown_to_word import document

    return document(text, title)


def _html(text: str, title: str) -> bytes:
    from atelier_desk.engine.export.markdown_to_html import page

    return page(text, title).encode("utf-8", "replace")


_WRITERS: dict[str, Callable[[str, str], bytes]] = {
    "docx": _word,
    "html": _html,
    "md": lambda text, _title: text.encode("utf-8", "replace"),
}


def exported(text: str, title: str, format: str) -> bytes:
    """Convert Markdown to the bytes of a file. Slow for long texts: call it in a thread.

    Raises:
        UsageError: there is no such format; only the window lays out PDF.
    """
    if format == "pdf":
        raise UsageError(N_("PDF export is available only in Atelier's window. Use docx, html or md here."))
    if format not in _WRITERS:
        raise UsageError(N_("Unknown format {format}; allowed: docx, html, md."), format=format)
    return _WRITERS[format](text, title)
