"""JSON as other programs keep it: with comments, commas before a closing bracket, and a mark at its beginning."""

from __future__ import annotations

import json
import re
from typing import Any


def loads(text: str) -> Any:
    """The value; strict JSON first, so that what is JSON is read as such.

    Raises:
        ValueError: it is none, also without comments; the words are about the text without them.
        RecursionError: it is nested too deeply.
    """
    text = text.removeprefix("\ufeff")
    try:
        return json.loads(text)
    except ValueError:
        return json.loads(plain(text))


def plain(text: str) -> str:
    """The text without comments, and without commas before a closing bracket; lines stay where they are."""
    # What has no end is taken to the end of the text: looking for it again from each place on would take for ever.
    parts = re.findall(r'"(?:[^"\\]|\\.)*(?:"|\\?$)|//[^\n]*|/\*(?:.*?\*/|.*$)|[^"/]+|/', text, re.DOTALL)
    joined = "".join("\n" * part.count("\n") if part.startswith(("//", "/*")) else part for part in parts)
    return "".join(
        part if part.startswith('"') else re.sub(r",(\s*[}\]])", r"\1", part)
        for part in re.findall(r'"(?:[^"\\]|\\.)*(?:"|\\?$)|[^"]+', joined, re.DOTALL)
    )
