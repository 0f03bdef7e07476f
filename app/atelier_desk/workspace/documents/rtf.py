"""RTF: its text without images; cells of a row are separated by a bar."""

from __future__ import annotations

import re

from striprtf.striprtf import rtf_to_text

from atelier_desk.workspace.documents.markdown_output import Lines

_PICTURE = re.compile(r"(?<![0-9a-fA-F\s])[0-9a-fA-F\s]{512,}+")
"""The bytes of an image, longer than any word. Anchored at the start of a run: trying every position takes minutes."""
_BINARY = re.compile(rb"\\bin(\d{1,9}) ?")


def lines(data: bytes) -> Lines:
    yield None
    text = _PICTURE.sub(" ", _without_binary(data).decode("latin-1"))
    for line in str(rtf_to_text(text, errors="replace")).split("\n"):  # type: ignore[no-untyped-call]
        yield ""
        yield f"| {line.rstrip('|').replace('|', ' | ')} |" if line.endswith("|") else line


def _without_binary(data: bytes) -> bytes:
    parts: list[bytes] = []
    at = 0
    while found := _BINARY.search(data, at):
        parts.append(data[at : found.start()])
        at = found.end() + int(found[1])
    return b"".join([*parts, data[at:]])
