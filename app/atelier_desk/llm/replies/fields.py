"""Fields of answers that are what they ought to be, or nothing: what a server sends may be anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def object_of(data: Mapping[str, Any], field: str) -> dict[str, Any]:
    """A field that ought to be an object; an empty one where it is not."""
    value = data.get(field)
    return value if isinstance(value, dict) else {}


def objects_of(data: Mapping[str, Any], field: str) -> list[dict[str, Any]]:
    """The objects of a field that ought to be a list of them."""
    value = data.get(field)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def string_of(data: Mapping[str, Any], field: str) -> str:
    """A field that ought to be text; empty where it is not."""
    value = data.get(field)
    return value if isinstance(value, str) else ""


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def count(value: Any) -> int:
    return value if is_count(value) else 0


def positive(value: Any) -> int | None:
    """A number above zero; None for anything else."""
    return count(value) or None


def flag(value: Any) -> bool | None:
    """True or false; None for anything else."""
    return value if isinstance(value, bool) else None
