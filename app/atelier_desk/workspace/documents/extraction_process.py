"""Extract the text of a document in a separate process, given ``[kind, first, pages, characters]`` and the file.

A document is untrusted input: one that never ends or expands to gigabytes may end this process, but not Atelier.
``kind`` is one of ``domain.document_formats``; the answer is ``{"total", "pages": [text], "cut", …}``, or a refusal
with a code of ``NOT_READ`` or ``past_end``. For PDF see ``pdf``; any other document is one page of Markdown, and
``cut`` tells whether there was more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from atelier_desk.domain.document_formats import MAIL, OLD, PDF
from atelier_desk.support.worker.child import serve
from atelier_desk.support.worker.errors import Refused
from atelier_desk.workspace.documents import epub_and_mail, opendocument, pdf, rtf, sheets, slides, word
from atelier_desk.workspace.documents.markdown_output import Lines, gathered

MEMORY = 1024 * 1024 * 1024
"""Maximum address space in bytes."""
SECONDS = 20
"""Maximum CPU seconds: ends a process that nobody waits for because Atelier was killed."""


def _old(_data: bytes) -> Lines:
    raise Refused("old_format")


READERS: dict[str, Callable[[bytes], Lines]] = {
    "docx": word.lines,
    "xlsx": sheets.lines,
    "pptx": slides.lines,
    "odt": opendocument.lines,
    "ods": opendocument.lines,
    "odp": opendocument.lines,
    "epub": epub_and_mail.epub,
    "rtf": rtf.lines,
    MAIL: epub_and_mail.mail,
    OLD: _old,
}


def answer(data: bytes, kind: str, first: int, most: int, characters: int) -> dict[str, Any]:
    """Return the answer.

    Raises:
        Refused: ``encrypted``, ``old_format``, ``too_large``, ``past_end`` or ``broken``.
    """
    if kind == PDF:
        return pdf.pages(data, first, most, characters)
    try:
        text, cut = gathered(READERS[kind](data), characters)
    except (Refused, MemoryError):
        raise
    except Exception as error:  # any error that a broken file causes in the libraries
        raise Refused("broken") from error
    return {"total": 1, "pages": [text], "cut": cut}


if __name__ == "__main__":
    serve(lambda request, data, _tell: answer(data, *request), memory=MEMORY, cpu_s=SECONDS, once=True)
