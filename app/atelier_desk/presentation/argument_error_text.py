"""Explain refused arguments in the reader's language; ``argument_validation`` writes the text for the model."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from atelier_desk.domain.mcp import VARIABLE
from atelier_desk.domain.provider import PROVIDER_NAME
from atelier_desk.domain.settings import ADDRESS, NO_OR_VARIABLE, PROVIDER_AND_MODEL
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.visible_and_shortened_text import shorten

MOST = 3
"""Maximum number of problems reported at once."""

_PROBLEMS = {
    "missing": N_("{field} is missing"),
    "extra_forbidden": N_("{field} is not a known field"),
    "greater_than_equal": N_("{field} must be at least {ge}"),
    "less_than_equal": N_("{field} must be at most {le}"),
    "greater_than": N_("{field} must be more than {gt}"),
    "less_than": N_("{field} must be less than {lt}"),
    "union_tag_not_found": N_("operation is missing"),
    "string_type": N_("{field} must be text"),
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
    "model_attributes_type": N_("{field} must be an object"),
    "string_pattern_mismatch": N_("{field} does not match the pattern {pattern}"),
}
_FORMS = {
    VARIABLE: N_("{field} must be the name of a variable: letters, digits and underscores, not starting with a digit"),
    NO_OR_VARIABLE: N_(
        "{field} must be the name of a variable: letters, digits and underscores, not starting with a digit"
    ),
    ADDRESS: N_(
        "{field} must be an address such as https://example.org/v1, without a user name, password or question mark"
    ),
    PROVIDER_AND_MODEL: N_("{field} must be a provider and one of its models, as PROVIDER/MODEL"),
    PROVIDER_NAME: N_(
        "{field} may contain letters, digits, spaces, dots, dashes and underscores, and must begin with a "
        "letter or digit"
    ),
}
"""Descriptions of patterns that people get wrong, so that nobody has to read a regular expression."""
_EXPECTED = {"literal_error": "expected", "enum": "expected", "union_tag_invalid": "expected_tags"}
"""Errors about a choice of values, and the context key that lists them."""
_VALUE = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\s,]+")
"""A value in pydantic's English list ``'a', 'b' or 3``, or its ``or``."""

Number = Callable[[int], str]


def explain(
    error: ValidationError,
    operations: Sequence[str] = (),
    number: Number = str,
    titles: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the first problems as sentences.

    Args:
        operations: names omitted from locations, because nobody wrote them there.
        number: formats a whole number.
        titles: ``N_`` texts that people know some fields by.
    """
    found = error.errors(include_url=False)
    lines = [_sentence(item, operations, number, titles) for item in found[:MOST]]
    if len(found) > MOST:
        lines.append(_("and {n} more", n=number(len(found) - MOST)))
    return "; ".join(lines) + "."


def _sentence(item: Mapping[str, Any], operations: Sequence[str], number: Number, titles: Mapping[str, str]) -> str:
    place = [part for index, part in enumerate(item["loc"]) if index > 0 or part not in operations]
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")
    if field in titles:
        field = _("“{name}”", name=_(titles[field]))
    kind, context = str(item["type"]), item.get("ctx") or {}
    if place and place[-1] == "[key]":  # an invalid key: show the key, not its location
        field = _("“{name}”", name=shorten(str(item.get("input", "")), 60))
    if kind == "string_pattern_mismatch" and (said := _FORMS.get(str(context.get("pattern")))):
        return _(said, field=field)
    if kind in _EXPECTED:
        return _one_of("operation" if kind == "union_tag_invalid" else field, str(context.get(_EXPECTED[kind], "")))
    if kind in ("string_too_long", "string_too_short", "too_long", "too_short"):
        return _length(kind, field, item.get("input"), context, number)
    if kind == "json_invalid":
        return _("it is not JSON ({detail})", detail=context.get("error", item["msg"]))
    if kind in _PROBLEMS:
        shown = {key: number(value) if isinstance(value, int) else value for key, value in context.items()}
        return _(_PROBLEMS[kind], field=field or _("the whole value"), **shown)
    detail = str(context.get("error", item["msg"]))
    if kind == "value_error":
        # Our own models report complete sentences, which are translated.
        detail = _(detail)
        if not place and not operations:
            return detail
    if field:
        return _("{field} was refused ({detail})", field=field, detail=detail)
    return _("the arguments were refused ({detail})", detail=detail)


def _one_of(field: str, listed: str) -> str:
    """Return the allowed values as written in JSON: pydantic's list contains an English word."""
    values = [
        json.dumps(ast.literal_eval(text), ensure_ascii=False) if text[0] in "'\"" else text
        for text in _VALUE.findall(listed)
    ]
    values = [text for text in values if text != "or"]
    if len(values) == 1:
        return _("{field} must be {expected}", field=field, expected=values[0])
    return _("{field} must be one of these: {expected}", field=field, expected=", ".join(values))


def _length(kind: str, field: str, value: Any, context: Mapping[str, Any], number: Number) -> str:
    if kind.endswith("short"):
        least = int(context["min_length"])
        shown = {"field": field, "least": number(least)}
        if kind == "too_short":
            return ngettext(
                "{field} must have at least {least} entry", "{field} must have at least {least} entries", least, **shown
            )
        return ngettext(
            "{field} must have at least {least} character",
            "{field} must have at least {least} characters",
            least,
            **shown,
        )
    most = int(context["max_length"])
    length = len(value) if hasattr(value, "__len__") else int(context["actual_length"])
    shown = {"field": field, "length": number(length), "most": number(most)}
    if kind == "too_long":
        return _("{field} has too many entries: {length}; the maximum is {most}", **shown)
    return _("{field} is too long: {length} characters; the maximum is {most}", **shown)
