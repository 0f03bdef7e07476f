"""A JSON schema as the API takes it for the form of an answer."""

from __future__ import annotations

from typing import Any

_UNKNOWN = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "maxItems", "uniqueItems"}
)
"""Limits that it does not hold an answer to and refuses (platform.claude.com/docs, "Structured outputs")."""


def closed(schema: Any) -> Any:
    """The schema with every object closed to further fields, as the API demands, and without limits it does not know: what is written to it
    fits the form that was asked for."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    out = {key: value if key in ("enum", "const", "default") else closed(value) for key, value in schema.items() if key not in _UNKNOWN}
    properties = schema.get("properties")
    if isinstance(properties, dict):  # names of fields are no keywords
        out["properties"] = {name: closed(value) for name, value in properties.items()}
    return {**out, "additionalProperties": False} if schema.get("type") == "object" else out
