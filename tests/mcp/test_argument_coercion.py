"""A text argument is converted to a number or a boolean only where the schema allows nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from atelier_desk.mcp.argument_coercion import read

INTEGER, NUMBER, BOOLEAN, TEXT = ({"type": kind} for kind in ("integer", "number", "boolean", "string"))
READ: list[tuple[dict[str, Any], str, Any]] = [
    (INTEGER, "3", 3),
    (INTEGER, "-3", -3),
    (INTEGER, "0", 0),
    (INTEGER, str(2**53), 2**53),
    (NUMBER, "3", 3),
    (NUMBER, "2.5", 2.5),
    (NUMBER, "1e3", 1000.0),
    (BOOLEAN, "true", True),
    (BOOLEAN, "False", False),
    ({"type": ["integer", "null"]}, "3", 3),
    ({"anyOf": [INTEGER, {"type": "null"}]}, "3", 3),
    ({"oneOf": [NUMBER, BOOLEAN]}, "true", True),
    ({"type": "integer", "enum": [1, 2]}, "2", 2),
]
LEFT: list[tuple[dict[str, Any], Any]] = [
    (TEXT, "3"),
    (TEXT, "007"),
    (TEXT, "true"),
    (INTEGER, "007"),
    (INTEGER, "+3"),
    (INTEGER, " 3"),
    (INTEGER, "3.0"),
    (INTEGER, "three"),
    (INTEGER, "٣"),
    (INTEGER, str(2**53 + 1)),
    (INTEGER, "1" * 5_000),
    (NUMBER, "1e400"),
    (NUMBER, "NaN"),
    (NUMBER, "Infinity"),
    (NUMBER, "0x10"),
    (BOOLEAN, "yes"),
    (BOOLEAN, "1"),
    (BOOLEAN, ""),
    ({}, "3"),
    ({"type": ["string", "integer"]}, "3"),
    ({"anyOf": [INTEGER, TEXT]}, "3"),
    ({"anyOf": [INTEGER, {}]}, "3"),
    ({"anyOf": [INTEGER, {"$ref": "#/x"}]}, "3"),
    ({"type": "integer", "enum": [1, 2]}, "3"),
    ({"type": "array", "items": INTEGER}, "[1, 2]"),
    ({"type": "object"}, '{"a": 1}'),
    ({"type": "null"}, "null"),
    (INTEGER, 3),
    (TEXT, 3),
]


@pytest.mark.parametrize(("schema", "text", "meant"), READ, ids=json.dumps)
def test_an_unambiguous_text_is_converted(schema: dict[str, Any], text: str, meant: Any) -> None:
    found = read(schema, text)
    assert (found, type(found)) == (meant, type(meant))
    below = {"type": "object", "properties": {"a": {"type": "array", "items": schema}}}
    assert read(below, {"a": [text], "b": text}) == {"a": [meant], "b": text}, "also within lists and objects"


@pytest.mark.parametrize(("schema", "value"), LEFT, ids=lambda each: json.dumps(each)[:40])
def test_everything_else_is_unchanged(schema: dict[str, Any], value: Any) -> None:
    assert read(schema, value) is value
    whole = {"a": value}
    assert read({"type": "object", "properties": {"a": schema}}, whole) is whole
