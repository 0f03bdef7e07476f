"""The text of a document, read by a process of its own, which is asked with ``[kind, first, pages, characters]`` and the file.

A document is a program of sorts that somebody else wrote: one that takes for ever or unfolds to gigabytes must end this process and not
Atelier. ``kind`` is one of ``domain.documents``; the answer is ``{"total", "pages": [text], "cut", …}``, refused is with a code of
``NOT_READ`` or ``past_end``. For a PDF see ``pdf``; any other document is one page of Markdown, and ``cut`` says that there was more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from atelier_desk.domain.documents import MAIL, OLD, PDF
from atelier_desk.support.worker.child import serve
from atelier_desk.support.worker.errors import Refused
from atelier_desk.workspace.documents import opendocument, pages, pdf, rtf, sheets, slides, word
from atelier_desk.workspace.documents.lines import Lines, gathered

MEMORY = 1024 * 1024 * 1024
"""Bytes of address space."""
SECONDS = 20
"""Of a processor: the end of one that nobody waits for any more, because Atelier was killed meanwhile."""


def _old(_data: bytes) -> Lines:
    raise Refused("old_format")


READERS: dict[str, Callable[[bytes], Lines]] = {
    "docx": word.lines,
    "xlsx": sheets.lines,
    "pptx": slides.lines,
    "odt": opendocument.lines,
    "ods": opendocument.lines,
    "odp": opendocument.lines,
    "epub": pages.epub,
    "rtf": rtf.lines,
    MAIL: pages.mail,
    OLD: _old,
}


def answer(data: bytes, kind: str, first: int, most: int, characters: int) -> dict[str, Any]:
    """What is answered.

    Raises:
        Refused: ``encrypted``, ``old_format``, ``too_large``, ``past_end`` or ``broken``.
    """
    if kind == PDF:
        return pdf.pages(data, first, most, characters)
    try:
        text, cut = gathered(READERS[kind](data), characters)
    except (Refused, MemoryError):
        raise
    except Exception as error:  # whatever a broken file makes of the libraries
        raise Refused("broken") from error
    return {"total": 1, "pages": [text], "cut": cut}


if __name__ == "__main__":
    serve(lambda request, data, _tell: answer(data, *request), memory=MEMORY, cpu_s=SECONDS, once=True)
