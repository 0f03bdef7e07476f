"""References in a JSON Schema, and how long a reported problem with one may be."""

from __future__ import annotations

from collections.abc import Mapping

PROBLEM = 400
"""Maximum characters of a reported problem: the validator repeats the whole value."""


def references(value: object) -> list[str]:
    """Return all references of a schema."""
    found, pending = [], [value]
    while pending:
        each = pending.pop()
        if isinstance(each, Mapping):
            found += [inner for key, inner in each.items() if key in ("$ref", "$dynamicRef") and isinstance(inner, str)]
            pending += each.values()
        elif isinstance(each, list):
            pending += each
    return found
