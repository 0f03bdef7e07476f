"""The text of a Word document, read by a process of its own as that of a PDF is.

Request, limits and answer are those of ``workspace.pdf_text``.
"""

from __future__ import annotations

from typing import Any

from atelier_desk.knowledge.parsing.documents import docx
from atelier_desk.support.worker.child import serve
from atelier_desk.workspace.pdf_text import MEMORY, SECONDS


def pages(data: bytes, _first: int, _pages: int, most: int) -> dict[str, Any]:
    """All of the document as one page."""
    text = docx.text_of(data).encode("utf-8", "replace").decode()
    return {"total": 1, "pages": [text[:most]], "cut": max(0, len(text) - most)}


if __name__ == "__main__":
    serve(lambda request, data, _tell: pages(data, *request), memory=MEMORY, cpu_s=SECONDS, once=True)
