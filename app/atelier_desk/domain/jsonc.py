"""JSON with comments, trailing commas, and a byte order mark, as written by other programs."""

from __future__ import annotations

import json
import re


def loads(text: str) -> object:
    """Parse a text; strict JSON is tried first.

    Raises:
        ValueError: it is not JSON even without comments; the message refers to the text without them.
        RecursionError: it is nested too deeply.
    """
    text = text.removeprefix("\ufeff")
    try:
        return json.loads(text)
    except ValueError:
        return json.loads(plain(text))


def plain(text: str) -> str:
    """Return the text without comments and trailing commas; line numbers are preserved."""
    # Unterminated parts extend to the end of the text: retrying from each position would take quadratic time.
    parts = re.findall(r'"(?:[^"\\]|\\.)*(?:"|\\?$)|//[^\n]*|/\*(?:.*?\*/|.*$)|[^"/]+|/', text, re.DOTALL)
    joined = "".join("\n" * part.count("\n") if part.startswith(("//", "/*")) else part for part in parts)
    return "".join(
        part if part.startswith('"') else re.sub(r",(\s*[}\]])", r"\1", part)
        for part in re.findall(r'"(?:[^"\\]|\\.)*(?:"|\\?$)|[^"]+', joined, re.DOTALL)
    )
