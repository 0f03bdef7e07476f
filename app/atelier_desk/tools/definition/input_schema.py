"""JSON schemas of tool inputs in a form suitable for models and llama.cpp grammars.

A union discriminated on ``operation`` becomes one flat object: ``operation`` is an enum, and every other parameter's
description says which operations accept or need it, and its meaning for each. Models fill a flat object far more
reliably than a ``oneOf`` of objects, and some servers refuse ``oneOf`` at the top. Validation is not weakened:
arguments are checked against the union itself.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo

from atelier_desk.workspace.path_resolution import PATH

MAX_GRAMMAR_LENGTH = 256
"""Maximum ``maxLength`` kept in a schema.

llama.cpp unrolls it into a grammar and refuses thousands of repetitions; longer limits are in the description and
enforced by validation.
"""

PathText = Annotated[str, Field(max_length=PATH, json_schema_extra=lambda schema: schema.pop("maxLength", None))]
"""A path. Its limit is enforced by validation only: no real path comes near it, so definitions need not mention it."""

_DROPPED = frozenset({"title", "discriminator", "examples"})


@dataclass(frozen=True, slots=True)
class Operation:
    """One member of an input: its operation names (empty for an input without operations) and its model."""

    names: tuple[str, ...]
    model: type[BaseModel]

    @property
    def label(self) -> str:
        """Display name in descriptions: its operation names, or the model's ``label`` if there are many."""
        return str(getattr(self.model, "label", "")) or ", ".join(self.names)

    def fields(self) -> dict[str, FieldInfo]:
        """Parameters besides ``operation``, by external name."""
        return {
            info.alias or name: info
            for name, info in self.model.model_fields.items()
            if name != "operation" or not self.names
        }

    @property
    def required(self) -> list[str]:
        return [name for name, info in self.fields().items() if info.is_required()]


def operations_of(input_type: object) -> list[Operation]:
    """Return the members of an input, in source order."""
    if isinstance(input_type, type) and issubclass(input_type, BaseModel):
        members: tuple[Any, ...] = (input_type,)
    else:
        members = get_args(get_args(input_type)[0])
    found = []
    for member in members:
        info = member.model_fields.get("operation")
        named = info is not None and get_origin(info.annotation) is Literal
        found.append(Operation(tuple(get_args(info.annotation)) if info is not None and named else (), member))
    return found


@lru_cache(maxsize=1024)
def parameters_of(input_type: Hashable) -> dict[str, object]:
    """Return an input's parameters as a JSON schema: type object, no references, no titles.

    Cached, as every tool list and request needs it: callers copy what they change.
    """
    operations, schemas = operations_of(input_type), variants_of(input_type)
    return _flat(operations, schemas) if operations[0].names else schemas[0]


@lru_cache(maxsize=1024)
def variants_of(input_type: Hashable) -> tuple[dict[str, object], ...]:
    """Return one schema per operation, for grammars; cached like ``parameters_of``.

    They enforce required fields, which the flat form cannot express.
    """
    return tuple(_inlined(operation.model.model_json_schema(by_alias=True)) for operation in operations_of(input_type))


def property_names(input_type: object) -> set[str]:
    """Return every parameter name of any operation."""
    operations = operations_of(input_type)
    return {name for operation in operations for name in operation.fields()} | (
        {"operation"} if operations[0].names else set()
    )


def _inlined(schema: dict[str, Any]) -> dict[str, object]:
    definitions = schema.get("$defs", {})
    cleaned = _clean({key: value for key, value in schema.items() if key not in ("$defs", "description")}, definitions)
    return {"type": "object", "properties": {}, "additionalProperties": False, **cleaned}


def _clean(node: object, definitions: dict[str, Any]) -> Any:
    """Resolve references, drop redundant keys, and replace ``X
    null`` by ``X``: omitting the parameter is equivalent.
    """
    if isinstance(node, list):
        return [_clean(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = definitions[node["$ref"].rsplit("/", 1)[-1]]
        return _clean({**target, **{key: value for key, value in node.items() if key != "$ref"}}, definitions)
    result: dict[str, object] = {}
    for key, value in node.items():
        if key in _DROPPED:
            continue
        if key == "properties":
            result[key] = {name: _clean(schema, definitions) for name, schema in value.items()}
        elif key == "const":
            result["enum"] = [value]
            result.setdefault("type", "string")
        else:
            result[key] = _clean(value, definitions)
    return _without_null(_bounded(result))


def _without_null(node: dict[str, object]) -> dict[str, object]:
    options = node.get("anyOf")
    if not isinstance(options, list):
        return node
    non_null = [option for option in options if option != {"type": "null"}]
    rest = {key: value for key, value in node.items() if key != "anyOf" and not (key == "default" and value is None)}
    if len(non_null) == 1:
        return {**non_null[0], **rest}
    return {**rest, "anyOf": non_null}


def _bounded(node: dict[str, object]) -> dict[str, object]:
    length = node.get("maxLength")
    if isinstance(length, int) and length > MAX_GRAMMAR_LENGTH:
        node = {key: value for key, value in node.items() if key != "maxLength"}
        told = str(node.get("description", "")).rstrip(".")
        node["description"] = f"{told}. At most {length} characters.".removeprefix(". ")
    return node


def _flat(operations: list[Operation], schemas: Sequence[dict[str, Any]]) -> dict[str, object]:
    names = [name for operation in operations for name in operation.names]
    properties: dict[str, object] = {"operation": {"type": "string", "enum": names, "description": "What to do."}}
    order = dict.fromkeys(name for operation in operations for name in operation.fields())
    for field in order:
        users = [
            (operation, schema["properties"][field])
            for operation, schema in zip(operations, schemas, strict=True)
            if field in operation.fields()
        ]
        merged = _merged([schema for _, schema in users])
        if len(operations) > 1:
            merged["description"] = _for_whom(field, users, merged)
        properties[field] = merged
    always = [field for field in order if all(field in operation.required for operation in operations)]
    return {
        "type": "object",
        "properties": properties,
        "required": ["operation", *always],
        "additionalProperties": False,
    }


def _for_whom(field: str, users: Sequence[tuple[Operation, dict[str, object]]], merged: Mapping[str, object]) -> str:
    """Describe which operations accept a parameter, and its meaning, grouped by equal meaning."""
    meanings: dict[str, list[str]] = {}
    usual = next((str(schema["description"]) for _, schema in users if schema.get("description")), "")
    for operation, schema in users:
        label = f"{operation.label} (required)" if field in operation.required else operation.label
        told = (str(schema.get("description") or usual), _own(schema, merged))
        meanings.setdefault(" ".join(filter(None, told)), []).append(label)
    return " ".join(f"For {', '.join(labels)}. {told}".rstrip() for told, labels in meanings.items())


def _own(schema: Mapping[str, Any], merged: Mapping[str, object]) -> str:
    """Describe in words what applies to one operation only."""
    if "anyOf" in merged:
        return ""
    told = [
        f"{words} {_value(schema[key])}"
        for key, words in _OWN.items()
        if schema.get(key) not in _EMPTY_VALUES and key not in merged
    ]
    if schema.get("enum", ()) and schema["enum"] != merged.get("enum"):
        told.append(f"One of {', '.join(map(str, schema['enum']))}")
    return f"{'; '.join(told)}." if told else ""


_OWN = {
    "minimum": "At least",
    "maximum": "At most",
    "minLength": "Characters at least",
    "maxLength": "Characters at most",
    "minItems": "Items at least",
    "maxItems": "Items at most",
    "pattern": "Pattern",
    "default": "Default",
}
_EMPTY_VALUES: tuple[object, ...] = (None, "", [], {})


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _merged(schemas: list[dict[str, Any]]) -> dict[str, object]:
    """Return one schema that accepts the parameter's values of every operation."""
    first, rest = schemas[0], schemas[1:]
    if all(_shape(schema) == _shape(first) for schema in rest):
        return dict(first)
    kinds = {str(schema.get("type")) for schema in schemas}
    if len(kinds) == 1 and "None" not in kinds:
        shared = {key: value for key, value in first.items() if all(schema.get(key) == value for schema in rest)}
        if all("enum" in schema for schema in schemas):
            shared["enum"] = list(dict.fromkeys(value for schema in schemas for value in schema["enum"]))
        shared.setdefault("description", "")
        return shared
    return {"anyOf": [_shape(schema) for schema in schemas], "description": ""}


def listed(parameters: Mapping[str, object], *, choices: bool = False) -> list[str]:
    """Return one line per parameter of an object schema, for models that read tools as text.

    Name, ``*`` if required, choices or type, default, meaning. The schema may be external, in any form.

    Args:
        choices: only parameters (besides the operation) with a list of choices or with parts of their own.
    """
    properties, required = parameters.get("properties"), _names(parameters)
    pairs = properties.items() if isinstance(properties, Mapping) else ()
    lines: list[str] = []
    for name, schema in pairs:
        if not choices or (name != "operation" and _has_choices(schema)):
            lines += [_line(name, schema, name in required), *(f"  - {each}" for each in _parts(schema))]
    return lines


def _parts(schema: object) -> list[str]:
    """Return one line per described part of an object, or of a list's objects."""
    inner = schema.get("items", schema) if isinstance(schema, Mapping) else None
    parts = inner.get("properties") if isinstance(inner, Mapping) else None
    if not isinstance(inner, Mapping) or not isinstance(parts, Mapping):
        return []
    told = {name: each for name, each in parts.items() if isinstance(each, Mapping) and each.get("description")}
    return [_line(name, each, name in _names(inner)) for name, each in told.items()]


def _names(schema: Mapping[str, object]) -> Sequence[object]:
    required = schema.get("required")
    return required if isinstance(required, list) else ()


def _has_choices(schema: object) -> bool:
    inner = schema.get("items", schema) if isinstance(schema, Mapping) else None
    return isinstance(inner, Mapping) and any(key in inner for key in ("enum", "properties", "anyOf"))


def _line(name: str, schema: object, required: bool) -> str:
    given = schema if isinstance(schema, Mapping) else {}
    default, meaning = given.get("default"), " ".join(str(given.get("description") or "").split())
    plain = default not in _EMPTY_VALUES and not isinstance(default, Mapping)
    head = f"{name}{'*' if required else ''} {_kind(given)}" + (f" = {_value(default)}" if plain else "")
    return f"{head}: {meaning}" if meaning else head


def _kind(schema: object, depth: int = 0) -> str:
    """Return a short type: ``string``, ``a|b``, ``integer[]``, ``{name*, size}``; ``any`` below three nested lists."""
    if not isinstance(schema, Mapping) or depth > _LISTS:
        return "any"
    if isinstance(schema.get("enum"), list):
        return "|".join(map(_value, schema["enum"]))
    kind, options = schema.get("type", "any"), schema.get("anyOf")
    if kind == "array":
        return f"{_kind(schema.get('items'), depth + 1)}[]"
    if kind == "object" and isinstance(schema.get("properties"), Mapping):
        required = _names(schema)
        return "{" + ", ".join(f"{name}{'*' if name in required else ''}" for name in schema["properties"]) + "}"
    if kind == "any" and isinstance(options, list):
        return "|".join(dict.fromkeys(_kind(each, depth + 1) for each in options))
    return "|".join(map(str, kind)) if isinstance(kind, list) else str(kind)


_LISTS = 3


def _shape(schema: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in schema.items() if key != "description"}
