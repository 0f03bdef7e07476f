"""Read fields of answers with a type check: servers may send anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def object_of(data: Mapping[str, object], field: str) -> dict[str, object]:
    """Return a field if it is an object, otherwise an empty one."""
    value = data.get(field)
    return value if isinstance(value, dict) else {}


def objects_of(data: Mapping[str, object], field: str) -> list[dict[str, object]]:
    """Return the objects of a field that is a list."""
    value = data.get(field)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def string_of(data: Mapping[str, object], field: str) -> str:
    """Return a field if it is text, otherwise an empty string."""
    value = data.get(field)
    return value if isinstance(value, str) else ""


def is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def count(value: Any) -> int:
    return value if is_count(value) else 0


def positive(value: object) -> int | None:
    """Return a number above zero, otherwise None."""
    return count(value) or None


def flag(value: object) -> bool | None:
    """Return a boolean, otherwise None."""
    return value if isinstance(value, bool) else None
