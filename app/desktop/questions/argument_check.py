"""Edited arguments: whether they are JSON, whether the tool takes them, and if not, why, in the reader's words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from app.desktop.widgets.format import number
from app.domain.errors import ToolError
from app.i18n import N_, _

_SYNTAX = {
    "Expecting ',' delimiter": N_("a comma is missing"),
    "Expecting ':' delimiter": N_("a colon is missing"),
    "Expecting value": N_("a value is missing"),
    "Expecting property name enclosed in double quotes": N_("a name in double quotes is missing"),
    "Illegal trailing comma before end of object": N_("there is a comma too many"),
    "Illegal trailing comma before end of array": N_("there is a comma too many"),
    "Unterminated string starting at": N_("this text has no closing quote"),
    "Invalid control character at": N_("a line break or tab inside a text is written \\n or \\t"),
    "Invalid \\escape": N_("a backslash inside a text is written twice"),
    "Invalid \\uXXXX escape": N_("\\u needs four hexadecimal digits"),
    "Extra data": N_("there is something after the end"),
}
_PROBLEMS = {
    "missing": N_("{field} is missing"),
    "extra_forbidden": N_("{field} is not known here"),
    "string_too_long": N_("{field} is too long: {length} of {max_length} characters"),
    "string_too_short": N_("{field} must have at least {min_length} characters"),
    "too_long": N_("{field} has too many entries: {actual_length} of {max_length}"),
    "too_short": N_("{field} must have at least {min_length} entries"),
    "greater_than_equal": N_("{field} must be at least {ge}"),
    "less_than_equal": N_("{field} must be at most {le}"),
    "greater_than": N_("{field} must be more than {gt}"),
    "less_than": N_("{field} must be less than {lt}"),
    "literal_error": N_("{field} must be one of {expected}"),
    "enum": N_("{field} must be one of {expected}"),
    "union_tag_invalid": N_("operation must be one of {expected_tags}"),
    "union_tag_not_found": N_("operation is missing"),
    "string_type": N_("{field} must be a text"),
    "int_type": N_("{field} must be a whole number"),
    "int_parsing": N_("{field} must be a whole number"),
    "int_from_float": N_("{field} must be a whole number"),
    "float_type": N_("{field} must be a number"),
    "float_parsing": N_("{field} must be a number"),
    "finite_number": N_("{field} must be a finite number"),
    "bool_type": N_("{field} must be true or false"),
    "bool_parsing": N_("{field} must be true or false"),
    "list_type": N_("{field} must be a list"),
    "tuple_type": N_("{field} must be a list"),
    "dict_type": N_("{field} must be an object"),
    "model_type": N_("{field} must be an object"),
}
MOST = 3
"""Problems that are told at once."""


def pretty(arguments: Mapping[str, Any]) -> str:
    """Arguments as indented JSON."""
    return json.dumps(arguments, ensure_ascii=False, indent=2)


def parse(text: str) -> tuple[dict[str, Any] | None, str]:
    """The object in ``text``, or None and what is wrong with it."""
    try:
        found = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        problem = _(_SYNTAX[error.msg]) if error.msg in _SYNTAX else error.msg
        return None, _("Line {line}, column {column}: {problem}.", line=error.lineno, column=error.colno, problem=problem)
    except _RefusedError as error:
        return None, str(error)
    if not isinstance(found, dict):
        return None, _("The arguments are an object: names and values between braces.")
    return found, ""


def refusal(atelier: Any, tool: str, arguments: Mapping[str, Any]) -> str:
    """Why the tool does not take these arguments, empty when it does or is not known. Runs on the engine's side."""
    from app.tools.validation import validate

    known = atelier.registry.get_tool(tool)
    if known is None:
        return ""
    try:
        validate(known, arguments)
    except ToolError as error:
        cause = error.__cause__
        return explain(cause, _operations(known)) if isinstance(cause, ValidationError) else error.localized(_)
    return ""


def explain(error: ValidationError, operations: Sequence[str] = ()) -> str:
    """The first problems as sentences; ``operations`` are left out of places, because nobody wrote them there."""
    found = error.errors(include_url=False)
    lines = [_sentence(item, operations) for item in found[:MOST]]
    if len(found) > MOST:
        lines.append(_("and {n} more", n=number(len(found) - MOST)))
    return "; ".join(lines) + "."


def _sentence(item: Mapping[str, Any], operations: Sequence[str]) -> str:
    place = [part for index, part in enumerate(item["loc"]) if index > 0 or part not in operations]
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")
    template = _PROBLEMS.get(str(item["type"]))
    context = {key: number(value) if isinstance(value, int) else value for key, value in (item.get("ctx") or {}).items()}
    if template is None:
        text = str(context.get("error", item["msg"]))
        return _("{field}: {problem}", field=field, problem=text) if field else text
    if isinstance(item.get("input"), str):
        context["length"] = number(len(item["input"]))
    return _(template, field=field, **context)


def _operations(tool: Any) -> list[str]:
    from app.tools.schema import operations_of

    return [name for operation in operations_of(tool.input) for name in operation.names]


class _RefusedError(ValueError):
    """JSON that Python reads and no tool should get; the text is for the reader."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _RefusedError(_("The name {name} is there twice.", name=key))
        found[key] = value
    return found


def _no_constant(name: str) -> Any:
    raise _RefusedError(_("{name} is not a number a tool can be given.", name=name))
