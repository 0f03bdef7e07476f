"""JSON answers are shown as code: rendered as Markdown their braces and quotes would run together."""

from __future__ import annotations

import re

from atelier_desk.domain import final_answer_schema

_BEGINS = re.compile(r'\s*\{\s*(?:"|\})')
_OPEN = "```json\n"


def as_code(text: str, *, live: bool = False) -> str:
    """The Markdown that shows a reply: a code block for a JSON object and nothing else; other replies unchanged.

    While ``live``, the start of the reply decides, so that it need not be redrawn at its end.
    """
    if _BEGINS.match(text) is None:
        return text
    if live:
        return _OPEN + text
    return f"{_OPEN}{text.rstrip()}\n```" if final_answer_schema.read(text) is not None else text
