"""Validate arguments, with errors that a model can act on: the field, its value, what is allowed. Never a traceback."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from atelier_desk.domain.errors import ToolError
from atelier_desk.presentation.argument_error_text import explain
from atelier_desk.tools.base import Tool
from atelier_desk.tools.definition.input_schema import Operation, operations_of, property_names

MAX_PROBLEMS = 6
"""Maximum problems per error; more would bury the first."""
MAX_SHOWN = 60
"""Maximum characters of a wrong value repeated to the model."""

_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "less_than_equal": ("le", "at most"),
    "greater_than": ("gt", "more than"),
    "less_than": ("lt", "less than"),
    "multiple_of": ("multiple_of", "a multiple of"),
}
_TYPES = {
    "string_type": "a string",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "an array",
    "tuple_type": "an array",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}


class InvalidArgumentsError(ToolError):
    """The arguments are invalid; the text names every wrong field.

    Attributes:
        operations: names of the tool's operations.
    """

    code = "invalid_arguments"
    operations: tuple[str, ...] = ()

    def explained(self, number: Callable[[int], str] = str) -> str:
        """Return the first problems in the reader's language.

        ``number`` formats whole numbers. ``str(error)`` is for the model.
        """
        return (
            explain(self.__cause__, self.operations, number)
            if isinstance(self.__cause__, ValidationError)
            else str(self)
        )

    def localized(self, translate: Callable[..., str]) -> str:
        return self.explained()


def validate(tool: Tool, arguments: Mapping[str, object]) -> Any:
    """Return the tool's input made from ``arguments``.

    A known parameter that is null counts as omitted: models often send every parameter of a flat object.

    Raises:
        InvalidArgumentsError: with one line per problem and the operations' required fields.
    """
    known = property_names(tool.input)
    given = {key: value for key, value in arguments.items() if value is not None or key not in known}
    try:
        return tool.adapter().validate_python(given)
    except ValidationError as error:
        refused = InvalidArgumentsError("{problems}", problems=_problems(tool, given, error))
        refused.operations = tuple(name for operation in operations_of(tool.input) for name in operation.names)
        raise refused from error


def closest(name: str, names: Sequence[str], limit: int = 3) -> list[str]:
    """Return the names most similar to ``name``, best first, ignoring case."""
    folded = {candidate.casefold(): candidate for candidate in names}
    near = difflib.get_close_matches(name.casefold(), folded, n=limit, cutoff=0.5)
    return [folded[key] for key in near]


def describe_errors(errors: Sequence[ErrorDetails], parameters: Sequence[str] = ()) -> list[str]:
    """Return one sentence per problem, in terms of the model's own arguments."""
    return [_sentence(error, parameters) for error in errors[:MAX_PROBLEMS]]


def _problems(tool: Tool, arguments: Mapping[str, object], error: ValidationError) -> str:
    operations = operations_of(tool.input)
    chosen = next(
        (item for item in operations if arguments.get("operation") in item.names),
        operations[0] if len(operations) == 1 else None,
    )
    parameters = list(chosen.fields()) if chosen else []
    lines = [
        _operation_problem(operations, arguments, item) or ""
        for item in error.errors()
        if item["type"].startswith("union_tag")
    ]
    if not lines:
        stripped = [_without_tag(item, operations) for item in error.errors()]
        lines = describe_errors(stripped, parameters)
        hidden = len(stripped) - len(lines)
        if hidden > 0:
            lines.append(f"and {hidden} more")
        if chosen is not None:
            lines.append(_usage(chosen, arguments))
    return f"Invalid arguments for {tool.name}: " + "; ".join(lines) + "."


def _usage(operation: Operation, arguments: Mapping[str, object]) -> str:
    head = f"operation {arguments.get('operation') or operation.label}" if operation.names else "it"
    required = ", ".join(operation.required) or "nothing"
    optional = [name for name in operation.fields() if name not in operation.required]
    return f"{head} requires {required}" + (f" and also takes {', '.join(optional)}" if optional else "")


def _operation_problem(operations: Sequence[Operation], arguments: Mapping[str, object], error: ErrorDetails) -> str:
    names = [name for operation in operations for name in operation.names]
    given = arguments.get("operation")
    if error["type"] == "union_tag_not_found":
        return f"operation is required; allowed: {', '.join(names)}"
    near = closest(str(given), names)
    hint = f" (closest: {', '.join(near)})" if near else ""
    return f"operation {_shown(given)} is unknown{hint}; allowed: {', '.join(names)}"


def _without_tag(error: ErrorDetails, operations: Sequence[Operation]) -> ErrorDetails:
    """Remove the union's tag, which pydantic puts first in the location, and which the model never wrote."""
    tags = {name for operation in operations for name in operation.names}
    place = error["loc"]
    if len(operations) > 1 and place and place[0] in tags:
        error["loc"] = place[1:]
    return error


def _sentence(error: ErrorDetails, parameters: Sequence[str]) -> str:
    place = _place(error["loc"])
    kind, value, context = error["type"], error.get("input"), error.get("ctx") or {}
    if kind == "missing":
        return f"{place} is required"
    if kind == "extra_forbidden":
        return _unknown_parameter(place, parameters if len(error["loc"]) == 1 else ())
    if kind in ("string_too_long", "too_long", "string_too_short", "too_short"):
        return _length(place, kind, value, context)
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return f"{place} is {_shown(value)}; allowed: {words} {context.get(key)}"
    if kind in ("literal_error", "enum"):
        return f"{place} is {_shown(value)}; allowed: {context.get('expected')}"
    if kind in _TYPES:
        return f"{place} must be {_TYPES[kind]}, not {_shown(value)}"
    if kind == "value_error":
        reason = str(context.get("error", error["msg"]))
        return f"{place}: {reason}" if place else reason
    return f"{place}: {error['msg']}" if place else error["msg"]


def _unknown_parameter(place: str, parameters: Sequence[str]) -> str:
    near = closest(place, parameters, 1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    allowed = f"; allowed: {', '.join(parameters)}" if parameters else ""
    return f"{place} is not a parameter here{hint}{allowed}"


def _length(place: str, kind: str, value: object, context: Mapping[str, object]) -> str:
    unit = "characters" if kind.startswith("string") else "items"
    length = len(value) if hasattr(value, "__len__") else context.get("actual_length")
    if kind.endswith("long"):
        return f"{place} has {length} {unit}; the limit is {context.get('max_length')}"
    return f"{place} has {length} {unit}; at least {context.get('min_length')} needed"


def _place(location: Sequence[int | str]) -> str:
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _shown(value: object) -> str:
    text = (
        repr(value)
        if isinstance(value, str | int | float | bool) or value is None
        else f"{type(value).__name__} {value!r}"
    )
    if len(text) <= MAX_SHOWN:
        return text
    return f"{text[:MAX_SHOWN]}… ({len(text)} characters)"
