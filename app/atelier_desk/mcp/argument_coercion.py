"""Converts numbers and booleans written as text, where the schema allows nothing else."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

MOST_EXACT = 2**53
"""Larger integers lose digits at many servers: the text is left, and the schema refuses it."""
DEEPEST = 8
"""Levels of nested arguments that are converted."""
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,15})")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,15})(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,3})?")
"""As in JSON: ``007`` is not a number."""
_TRUTH = {"true": True, "True": True, "false": False, "False": False}
_OTHER_THAN_TEXT = frozenset({"integer", "number", "boolean", "null"})


def read(schema: Mapping[str, object], value: object, depth: int = 0) -> Any:
    """Convert texts to the types of the schema; returns the same object when nothing changes."""
    if depth > DEEPEST or not isinstance(schema, Mapping):
        return value
    if isinstance(value, str):
        return _of_text(schema, value)
    if isinstance(value, dict) and isinstance(properties := schema.get("properties"), Mapping):
        made = {
            name: read(properties[name], each, depth + 1) if name in properties else each
            for name, each in value.items()
        }
        return made if any(made[name] is not value[name] for name in value) else value
    if isinstance(value, list) and isinstance(items := schema.get("items"), Mapping):
        listed = [read(items, each, depth + 1) for each in value]
        return listed if any(new is not old for new, old in zip(listed, value, strict=True)) else value
    return value


def _of_text(schema: Mapping[str, object], text: str) -> object:
    kinds = _kinds(schema)
    if not kinds or not kinds <= _OTHER_THAN_TEXT:
        return text
    found: object = text
    if "boolean" in kinds and text in _TRUTH:
        found = _TRUTH[text]
    elif kinds & {"integer", "number"} and _INTEGER.fullmatch(text) and abs(int(text)) <= MOST_EXACT:
        found = int(text)
    elif "number" in kinds and _NUMBER.fullmatch(text) and not _INTEGER.fullmatch(text) and math.isfinite(float(text)):
        found = float(text)
    allowed = schema.get("enum")
    return text if isinstance(allowed, list) and found not in allowed else found


def _kinds(schema: Mapping[str, object]) -> frozenset[str]:
    """The types allowed at this place, or an empty set when the schema does not say reliably."""
    types = schema.get("type")
    if isinstance(types, str):
        return frozenset({types})
    if isinstance(types, list) and all(isinstance(each, str) for each in types):
        return frozenset(types)
    for name in ("anyOf", "oneOf"):
        branches = schema.get(name)
        if isinstance(branches, list) and branches:
            each = [_kinds(branch) if isinstance(branch, Mapping) else frozenset() for branch in branches]
            return frozenset().union(*each) if all(each) else frozenset()
    return frozenset()
