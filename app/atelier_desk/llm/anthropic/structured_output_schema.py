"""JSON schemas in the form that the API accepts for structured answers."""

from __future__ import annotations

_UNKNOWN = frozenset(
    {
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "maxItems",
        "uniqueItems",
    }
)
"""Constraints that the API neither enforces nor accepts (platform.claude.com/docs, "Structured outputs")."""


def closed(schema: object) -> object:
    """Forbid additional fields in every object, as the API demands, and drop unsupported constraints.

    Replies to the result match the original schema, apart from these constraints.
    """
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    out = {
        key: value if key in ("enum", "const", "default") else closed(value)
        for key, value in schema.items()
        if key not in _UNKNOWN
    }
    properties = schema.get("properties")
    if isinstance(properties, dict):  # field names are not keywords
        out["properties"] = {name: closed(value) for name, value in properties.items()}
    return {**out, "additionalProperties": False} if schema.get("type") == "object" else out
