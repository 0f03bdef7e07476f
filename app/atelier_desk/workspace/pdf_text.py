"""The text of a PDF, read by a process of its own: ``python -P -m atelier_desk.workspace.pdf_text FIRST PAGES CHARACTERS < file``.

A PDF is a program of sorts that somebody else wrote: one that takes for ever or unfolds to gigabytes must end this process and not Atelier.
What it writes is JSON: ``{"total", "pages": [text], "cut"}`` or ``{"error": code}``, a code of ``encrypted``, ``past_end``, ``broken``.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import suppress
from io import BytesIO
from typing import Any

MEMORY = 1024 * 1024 * 1024
"""Bytes of address space."""
SECONDS = 20
"""Of a processor: the end of one that nobody waits for any more, because Atelier was killed meanwhile."""
ENOUGH_S = 8.0
"""After this long no further page is begun: those that were read are given."""


def pages(data: bytes, first: int, most: int, characters: int) -> dict[str, Any]:
    """Text of pages from ``first`` on (from 1), at most so many of them and so many characters; one page at least."""
    from pypdf import PasswordType, PdfReader
    from pypdf.errors import DependencyError

    until = time.monotonic() + ENOUGH_S
    reader = PdfReader(BytesIO(data))
    try:
        if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
            return {"error": "encrypted"}
    except DependencyError:
        return {"error": "encrypted"}
    total = len(reader.pages)
    if first > max(1, total):
        return {"error": "past_end", "total": total}
    found: list[str] = []
    cut = left = 0
    for number in range(first - 1, min(total, first - 1 + most)):
        text = reader.pages[number].extract_text().replace("\0", "").encode("utf-8", "replace").decode().strip()
        if found and (len(text) > characters - left or time.monotonic() > until):
            break
        cut = max(0, len(text) - characters)
        found.append(text[:characters])
        left += len(text)
    return {"total": total, "pages": found, "cut": cut}


def _bound() -> None:
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def main() -> None:
    _bound()
    first, most, characters = map(int, sys.argv[1:4])
    try:
        answer = pages(sys.stdin.buffer.read(), first, most, characters)
    except Exception:  # whatever a broken file makes of the parser; also RecursionError and MemoryError
        answer = {"error": "broken"}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
