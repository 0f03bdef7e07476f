"""The text of a Word document, read by a process of its own as that of a PDF is: ``python -P -m atelier_desk.tools.files.word_text``.

Arguments, limits and what it writes are those of ``workspace.pdf_text``; all of the document is one page.
"""

from __future__ import annotations

import json
import sys

from atelier_desk.knowledge.parsing.documents import docx
from atelier_desk.workspace.pdf_text import bound


def main() -> None:
    bound()
    most = int(sys.argv[3])
    try:
        text = docx.text_of(sys.stdin.buffer.read()).encode("utf-8", "replace").decode()
        answer = {"total": 1, "pages": [text[:most]], "cut": max(0, len(text) - most)}
    except Exception:  # whatever a broken file makes of zipfile, lxml and docx; also MemoryError
        answer = {"error": "broken"}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
