"""JSON schemas of tool inputs, in a form that models and llama.cpp grammars digest.

A union discriminated on ``operation`` becomes one flat object: ``operation`` is an enum, and every other parameter says in its
description which operations take it and which need it. Models fill a flat object far more reliably than a ``oneOf`` of objects, and
some servers refuse ``oneOf`` at the top. Validation is not loosened by it: arguments are checked against the union itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

MAX_GRAMMAR_LENGTH = 256
"""Longest ``maxLength`` kept in a schema. llama.cpp unrolls it into a grammar and refuses thousands of repetitions; longer limits are
told in the description and held by validation."""

_DROPPED = frozenset({"title", "discriminator", "examples"})


@dataclass(frozen=True, slots=True)
class Operation:
    """One member of an input: the operation names it serves (empty for an input without operations) and its model."""

    names: tuple[str, ...]
    model: type[BaseModel]

    @property
    def label(self) -> str:
        """How descriptions call it: its names, or the model's ``label`` when there are many."""
        return str(getattr(self.model, "label", "")) or ", ".join(self.names)

    def fields(self) -> dict[str, FieldInfo]:
        """Parameters besides ``operation``, by the name the model writes."""
        return {info.alias or name: info for name, info in self.model.model_fields.items() if name != "operation" or not self.names}

    @property
    def required(self) -> list[str]:
        return [name for name, info in self.fields().items() if info.is_required()]


def operations_of(input_type: Any) -> list[Operation]:
    """The members of an input, in the order they were written."""
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


def parameters_of(input_type: Any) -> dict[str, Any]:
    """An input's parameters as a JSON schema: type object at the top, no references, no titles."""
    operations = operations_of(input_type)
    schemas = [_inlined(_schema(operation.model)) for operation in operations]
    return _flat(operations, schemas) if operations[0].names else schemas[0]


def variants_of(input_type: Any) -> tuple[dict[str, Any], ...]:
    """One schema for each operation, for grammars: they hold a model to the fields the operation needs, which the flat form cannot say."""
    return tuple(_inlined(_schema(operation.model)) for operation in operations_of(input_type))


def property_names(input_type: Any) -> set[str]:
    """Every parameter name any operation takes."""
    operations = operations_of(input_type)
    return {name for operation in operations for name in operation.fields()} | ({"operation"} if operations[0].names else set())


@lru_cache(maxsize=1024)
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    """As pydantic writes it, made once: every list of tools and every request asks for it. What reads it copies what it keeps."""
    return model.model_json_schema(by_alias=True)


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    definitions = schema.get("$defs", {})
    cleaned = _clean({key: value for key, value in schema.items() if key not in ("$defs", "description")}, definitions)
    return {"type": "object", "properties": {}, "additionalProperties": False, **cleaned}


def _clean(node: Any, definitions: dict[str, Any]) -> Any:
    """Follow references, drop what says nothing, and write ``X | null`` as ``X``: leaving a parameter out says the same."""
    if isinstance(node, list):
        return [_clean(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = definitions[node["$ref"].rsplit("/", 1)[-1]]
        return _clean({**target, **{key: value for key, value in node.items() if key != "$ref"}}, definitions)
    result: dict[str, Any] = {}
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


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    options = node.get("anyOf")
    if not isinstance(options, list):
        return node
    kept = [option for option in options if option != {"type": "null"}]
    rest = {key: value for key, value in node.items() if key != "anyOf" and not (key == "default" and value is None)}
    if len(kept) == 1:
        return {**kept[0], **rest}
    return {**rest, "anyOf": kept}


def _bounded(node: dict[str, Any]) -> dict[str, Any]:
    length = node.get("maxLength")
    if isinstance(length, int) and length > MAX_GRAMMAR_LENGTH:
        node = {key: value for key, value in node.items() if key != "maxLength"}
        told = str(node.get("description", "")).rstrip(".")
        node["description"] = f"{told}. At most {length} characters.".removeprefix(". ")
    return node


def _flat(operations: list[Operation], schemas: list[dict[str, Any]]) -> dict[str, Any]:
    names = [name for operation in operations for name in operation.names]
    properties: dict[str, Any] = {"operation": {"type": "string", "enum": names, "description": "What to do."}}
    order = dict.fromkeys(name for operation in operations for name in operation.fields())
    for field in order:
        users = [
            (operation, schema["properties"][field])
            for operation, schema in zip(operations, schemas, strict=True)
            if field in operation.fields()
        ]
        merged = _merged([schema for _, schema in users])
        if len(operations) > 1:
            merged["description"] = _for_whom(field, [operation for operation, _ in users], str(merged.get("description", "")))
        properties[field] = merged
    always = [field for field in order if all(field in operation.required for operation in operations)]
    return {"type": "object", "properties": properties, "required": ["operation", *always], "additionalProperties": False}


def _for_whom(field: str, users: list[Operation], told: str) -> str:
    labels = [f"{operation.label} (required)" if field in operation.required else operation.label for operation in users]
    return f"For {', '.join(labels)}. {told}".rstrip()


def _merged(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    """One schema that every operation's value of a parameter fits."""
    first, rest = schemas[0], schemas[1:]
    if all(_shape(schema) == _shape(first) for schema in rest):
        return dict(first)
    kinds = {str(schema.get("type")) for schema in schemas}
    if len(kinds) == 1 and "None" not in kinds:
        shared = {key: value for key, value in first.items() if all(schema.get(key) == value for schema in rest)}
        if all("enum" in schema for schema in schemas):
            shared["enum"] = list(dict.fromkeys(value for schema in schemas for value in schema["enum"]))
        shared.setdefault("description", str(first.get("description", "")))
        return shared
    return {"anyOf": [dict(schema) for schema in schemas], "description": str(first.get("description", ""))}


def _shape(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != "description"}
