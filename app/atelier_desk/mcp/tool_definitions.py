"""Servers' tool definitions: names here, usable parts, and changes since approval."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from atelier_desk.domain import limits
from atelier_desk.support.visible_and_shortened_text import shorten

LONGEST_NAME = 64
"""Characters of a tool's name that every model server accepts."""
LONGEST_DEFINITION = 64 * 1024
"""Characters of a definition as JSON; longer ones are not used."""
DESCRIPTION = 8_000
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_-]")
_LEFT_OUT = frozenset(
    {"pattern", "patternProperties", "format", "uniqueItems", "unevaluatedProperties", "unevaluatedItems"}
)
"""Keywords left to the server to check: each can take unlimited time."""
REFERENCES = 2_000
"""References followed while checking a call's arguments.

A few of them, each naming the next twice, would expand without bound.
"""
REFERENCES_OF_ALL = 500
"""References followed while checking a definition, for all its parameters together.

This check runs for each tool at every start.
"""
_PROBLEM = 400


class Unusable(Exception):
    """A definition that cannot be used; the text says why, in English."""


class _TooMuch(Exception):
    """A check follows more references than allowed."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Names of tools that differ between the approved and the current list."""

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.new or self.changed or self.gone)


def digest(definition: Mapping[str, object]) -> str:
    """SHA-256 of the complete definition, hexadecimal.

    Models read more of a definition than people are shown.
    """
    text = json.dumps(definition, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def difference(approved: Iterable[Mapping[str, object]], seen: Iterable[Mapping[str, object]]) -> Difference:
    """Compare the current definitions with the approved ones."""
    before = {str(each["name"]): digest(each) for each in approved}
    now = {str(each["name"]): digest(each) for each in seen}
    return Difference(
        tuple(name for name in now if name not in before),
        tuple(name for name in now if name in before and before[name] != now[name]),
        tuple(name for name in before if name not in now),
    )


def names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """Names of a server's tools here, by their own names.

    The form is ``mcp__server__tool``, in characters that every model server accepts.
    """
    found: dict[str, str] = {}
    names_in_use: set[str] = set()
    for tool in tools:
        whole = f"mcp__{server}__{_NOT_ALLOWED.sub('_', tool)}"
        name = whole[:LONGEST_NAME]
        if name != f"mcp__{server}__{tool}" and (name in names_in_use or len(whole) > LONGEST_NAME):
            mark = hashlib.sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:6]
            name = f"{whole[: LONGEST_NAME - 7]}_{mark}"
        if name in names_in_use:
            mark = hashlib.sha256(f"{tool}\0{len(names_in_use)}".encode("utf-8", "surrogatepass")).hexdigest()[:6]
            name = f"{whole[: LONGEST_NAME - 7]}_{mark}"
        names_in_use.add(name)
        found[tool] = name
    return found


def in_order_of(
    before: Iterable[Mapping[str, object]], definitions: Iterable[Mapping[str, object]]
) -> tuple[Mapping[str, object], ...]:
    """Definitions with those of ``before`` first, in that order.

    If two tools map to the same name here, the earlier one keeps it, together with the rules for it.
    """
    places = {str(each["name"]): index for index, each in enumerate(before)}
    return tuple(sorted(definitions, key=lambda each: places.get(str(each["name"]), len(places))))


def description(definition: Mapping[str, object]) -> str:
    """Description for models: the server's own, shortened."""
    text = str(definition.get("description") or definition.get("title") or definition["name"]).strip()
    return text if len(text) <= DESCRIPTION else f"{text[:DESCRIPTION]} […]"


def title(definition: Mapping[str, object]) -> str:
    """Name shown to people."""
    hints = definition.get("annotations")
    said = definition.get("title") or (hints.get("title") if isinstance(hints, dict) else "") or definition["name"]
    return shorten(" ".join(str(said).split()), 80)


def hint(definition: Mapping[str, object], name: str) -> bool | None:
    """An annotation (``readOnlyHint`` …) as the server states it; it may be false.

    None when absent.
    """
    hints = definition.get("annotations")
    value = hints.get(name) if isinstance(hints, dict) else None
    return value if isinstance(value, bool) else None


def parameters(definition: Mapping[str, object]) -> dict[str, Any]:
    """A tool's parameters as a JSON Schema of an object.

    Raises:
        Unusable: it is too long, refers outside itself, or is not a schema of an object.
    """
    schema = definition.get("inputSchema")
    if not isinstance(schema, dict):
        raise Unusable("its parameters are not a valid JSON Schema")
    try:
        length = len(json.dumps(definition, ensure_ascii=False))
    except (RecursionError, ValueError):
        raise Unusable("its definition is nested too deeply") from None
    if length > LONGEST_DEFINITION:
        raise Unusable(f"its definition has {length} characters; the maximum is {LONGEST_DEFINITION}")
    if schema.get("type", "object") != "object":
        raise Unusable("its parameters are not an object schema")
    properties = schema.get("properties", {})
    if not isinstance(properties, dict) or not all(isinstance(each, dict | bool) for each in properties.values()):
        raise Unusable("its parameters are not a valid JSON Schema")
    made = {key: value for key, value in schema.items() if key not in ("$schema", "$id", "title")}
    made |= {
        "type": "object",
        "properties": {name: each if isinstance(each, dict) else {} for name, each in properties.items()},
    }
    _check(made)
    return made


def argument_mismatch(schema: Mapping[str, object], arguments: Mapping[str, object]) -> str:
    """What is wrong with a call's arguments, as text for the model; empty when they are valid.

    Checks that can take unlimited time, such as patterns, are left to the server.
    """
    from jsonschema.exceptions import best_match

    try:
        worst = best_match(_validator(_plain(schema)).iter_errors(dict(arguments)))
    except _TooMuch:
        return ""
    if worst is None:
        return ""
    place = worst.json_path.removeprefix("$").removeprefix(".")
    return f"{place}: {shorten(worst.message, _PROBLEM)}" if place else shorten(worst.message, _PROBLEM)


def _check(schema: Mapping[str, object]) -> None:
    from jsonschema.exceptions import SchemaError

    try:
        plain = _plain(schema)
    except RecursionError:
        raise Unusable("its definition is nested too deeply") from None
    try:
        validator = _validator(plain, REFERENCES_OF_ALL)
        type(validator).check_schema(plain)
        # Endless and dangling references show only when they are followed.
        list(validator.iter_errors({}))
        for name in plain["properties"]:
            list(validator.iter_errors({name: None}))
    except _TooMuch:
        raise Unusable(f"its parameters expand to more than {REFERENCES_OF_ALL} references") from None
    except SchemaError as error:
        raise Unusable(f"its parameters are not a valid JSON Schema ({shorten(error.message, _PROBLEM)})") from None
    except RecursionError:
        raise Unusable("its parameters contain an infinite reference loop") from None
    except Exception as error:
        # There is no public exception class for dangling references.
        raise Unusable(f"its parameters cannot be used ({shorten(str(error), _PROBLEM)})") from None


def _plain(node: object, depth: int = 0) -> Any:
    """A schema without the keywords that can take unlimited time."""
    if depth > limits.LIST_DEFAULT:
        raise RecursionError
    if isinstance(node, dict):
        named = {"properties", "$defs", "definitions", "dependentSchemas"}
        made: dict[str, object] = {}
        for key, value in node.items():
            if key in _LEFT_OUT:
                continue
            if key in named and isinstance(value, dict):
                made[key] = {name: _plain(each, depth + 1) for name, each in value.items()}
            else:
                made[key] = _plain(value, depth + 1)
        return made
    return [_plain(each, depth + 1) for each in node] if isinstance(node, list) else node


def _validator(schema: Mapping[str, object], most: int = REFERENCES) -> Any:
    """A validator for one check; its own registry makes sure that nothing is fetched.

    Raises:
        _TooMuch: during the check, more than ``most`` references are followed.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend
    from referencing import Registry

    followed = 0

    def counted(keyword: str) -> Callable[..., Iterable[object]]:
        follow = Draft202012Validator.VALIDATORS[keyword]

        def check(*given: object) -> Iterable[object]:
            nonlocal followed
            followed += 1
            if followed > most:
                raise _TooMuch
            return follow(*given) or ()

        return check

    bounded: Any = extend(Draft202012Validator, {keyword: counted(keyword) for keyword in ("$ref", "$dynamicRef")})
    return bounded(schema, registry=Registry())
