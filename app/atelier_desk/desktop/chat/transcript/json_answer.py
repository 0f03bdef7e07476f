"""Answers that are JSON are shown as code: as Markdown their braces and quotes would run together."""

from __future__ import annotations

import re

from atelier_desk.domain import answers

_BEGINS = re.compile(r'\s*\{\s*(?:"|\})')
_OPEN = "```json\n"


def as_code(text: str, *, live: bool = False) -> str:
    """The Markdown that shows a reply: of one that is a JSON object and nothing else, a block of code; any other as it is.

    While it is ``live``, how it begins decides, so that it need not be drawn anew at its end.
    """
    if _BEGINS.match(text) is None:
        return text
    if live:
        return _OPEN + text
    return f"{_OPEN}{text.rstrip()}\n```" if answers.read(text) is not None else text
