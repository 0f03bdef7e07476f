"""PDF: one section per page, extracted by a process with memory and time limits.

An untrusted file cannot crash Atelier.
"""

from __future__ import annotations

import time
from typing import Any

from atelier_desk.domain.document_formats import PDF, READER, not_read
from atelier_desk.knowledge.parsing.errors import ParseError
from atelier_desk.knowledge.parsing.parsed_file import Parsed, Section
from atelier_desk.support.worker.errors import Ended, Failed
from atelier_desk.support.worker.requests_to_child import ask_in_thread

PAGES = 2_000
"""Maximum pages read per file."""
AT_ONCE = 100
"""Maximum pages per process."""
CHARACTERS = 2_000_000
"""Maximum characters of the pages of one process."""
LIMIT_S = 25.0
"""Time limit in seconds per process."""
TOTAL_S = 120.0
"""Time limit in seconds per file; pages read until then are used."""


def read(name: str, data: bytes) -> Parsed:
    """Parse a PDF. Blocks until its processes end.

    Raises:
        ParseError: it is encrypted or broken, or its first page takes too long.
    """
    parsed = Parsed("document", "pdf")
    first, total, until = 1, 1, time.monotonic() + TOTAL_S
    while first <= min(total, PAGES) and time.monotonic() < until:
        try:
            found = _extracted(data, first)
        except (Ended, Failed) as error:
            if parsed.sections:
                parsed.error_lines.append(first)
            elif error.code != "past_end":
                raise not_read(ParseError, error.code, name, seconds=int(LIMIT_S)) from error
            break
        total, texts = int(found["total"]), [str(text) for text in found["pages"]]
        for number, text in enumerate(texts, first):
            parsed.sections.append(Section(_title(text), 1, -1, number, number, text))
        first += max(1, len(texts))
    parsed.lines = len(parsed.sections)
    return parsed


def _title(text: str) -> str:
    """Return the first line of a page that contains words."""
    return next((line.strip()[:100] for line in text[:2_000].splitlines() if any(sign.isalpha() for sign in line)), "")


def _extracted(data: bytes, first: int) -> dict[str, Any]:
    return dict(ask_in_thread(READER, (PDF, first, AT_ONCE, CHARACTERS), data, limit_s=LIMIT_S).value)
