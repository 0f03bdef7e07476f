"""Validation of edited arguments: JSON syntax, then the tool's schema, with translated errors."""

from __future__ import annotations

import json
from collections.abc import Mapping

from atelier_desk.domain.errors import ToolError
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.locale_format import number
from atelier_desk.support.visible_and_shortened_text import visible_json
from atelier_desk.tools.calls.argument_validation import InvalidArgumentsError

_SYNTAX = {
    "Expecting ',' delimiter": N_("a comma is missing"),
    "Expecting ':' delimiter": N_("a colon is missing"),
    "Expecting value": N_("a value is missing"),
    "Expecting property name enclosed in double quotes": N_("a name in double quotes is missing"),
    "Illegal trailing comma before end of object": N_("there is an extra comma"),
    "Illegal trailing comma before end of array": N_("there is an extra comma"),
    "Unterminated string starting at": N_("this string has no closing quote"),
    "Invalid control character at": N_("a line break or tab inside a string must be written as \\n or \\t"),
    "Invalid \\escape": N_("a backslash inside a string must be doubled"),
    "Invalid \\uXXXX escape": N_("\\u needs four hexadecimal digits"),
    "Extra data": N_("unexpected text after the end"),
}


def pretty(arguments: Mapping[str, object]) -> str:
    """Arguments as indented JSON."""
    return visible_json(arguments, 2)


def parse(text: str) -> tuple[dict[str, object] | None, str]:
    """The object in ``text``, or None and the error."""
    try:
        found = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        problem = _(_SYNTAX[error.msg]) if error.msg in _SYNTAX else _("this is not JSON ({detail})", detail=error.msg)
        return None, _(
            "Line {line}, column {column}: {problem}.", line=error.lineno, column=error.colno, problem=problem
        )
    except _RefusedError as error:
        return None, str(error)
    if not isinstance(found, dict):
        return None, _("The arguments must be an object: names and values between braces.")
    return found, ""


def refusal(error: ToolError) -> str:
    """Why the tool rejects some arguments."""
    return error.explained(number) if isinstance(error, InvalidArgumentsError) else error.localized(_)


class _RefusedError(ValueError):
    """JSON that Python accepts but tools must not receive; the text is for the user."""


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise _RefusedError(_("The name {name} appears twice.", name=key))
        found[key] = value
    return found


def _no_constant(name: str) -> object:
    raise _RefusedError(_("{name} is not a valid number in JSON.", name=name))
