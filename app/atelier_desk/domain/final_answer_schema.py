"""Structured answers: the JSON Schema of an agent's final answers, parsing and validation.

``jsonschema``, in ``answer_schema_checks``, is imported on first use: most agents answer in prose.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import NoReturn

from atelier_desk.domain import limits
from atelier_desk.domain.errors import LimitError, UsageError
from atelier_desk.domain.schema_references import PROBLEM, references
from atelier_desk.support.i18n import N_
from atelier_desk.support.visible_and_shortened_text import shorten

_FENCED = re.compile(r"```[ \t]*(?:json[c5]?)?[ \t]*\r?\n(?P<inside>.*?)\r?\n?[ \t]*```", re.DOTALL | re.IGNORECASE)


def schema_of(text: str) -> dict[str, object] | None:
    """Parse and check a schema that a person wrote; None for a blank text.

    Raises:
        UsageError: it is not JSON, or not a schema of an object.
        LimitError: it is longer than ``limits.ANSWER_SCHEMA`` characters.
    """
    if not text.strip():
        return None
    _short_enough(len(text))
    try:
        schema = json.loads(text.removeprefix("\ufeff"), parse_constant=_refuse)
    except RecursionError:
        raise UsageError(N_("The schema is nested too deeply."), code="schema") from None
    except json.JSONDecodeError as error:
        message = N_("The schema is not JSON. Line {line}, column {column}: {detail}")
        raise UsageError(message, code="schema", line=error.lineno, column=error.colno, detail=error.msg) from None
    except ValueError as error:
        raise UsageError(N_("The schema is not JSON: {detail}"), code="schema", detail=str(error)) from None
    if not isinstance(schema, dict):
        raise UsageError(N_("The schema must be a JSON object, such as {example}."), code="schema", example=_EXAMPLE)
    check(schema)
    return schema


_EXAMPLE = '{"type": "object", "properties": {"title": {"type": "string"}}}'


def text_of(schema: Mapping[str, object] | None) -> str:
    """Return the schema as editable text; empty for None."""
    return "" if schema is None else json.dumps(schema, ensure_ascii=False, indent=2)


def check(schema: Mapping[str, object]) -> None:
    """Refuse anything but a JSON Schema of an object without external references.

    Raises:
        UsageError, LimitError: see ``schema_of``.
    """
    try:
        _short_enough(len(json.dumps(schema, ensure_ascii=False, separators=(",", ":"))))
    except RecursionError:
        raise UsageError(N_("The schema is nested too deeply."), code="schema") from None
    if schema.get("type") != "object":
        raise UsageError(
            N_('The schema must have "type": "object" at its top level: an answer is one JSON object.'), code="schema"
        )
    if outside := next((each for each in references(schema) if not each.startswith("#")), ""):
        message = N_("The schema may only refer to its own parts (“#/…”), not to {reference}.")
        raise UsageError(message, code="schema", reference=shorten(outside, 100))
    from atelier_desk.domain.answer_schema_checks import check_definition

    check_definition(schema)


def bare(text: str) -> str:
    """Return the answer without an enclosing code fence."""
    found = _FENCED.fullmatch(text.strip())
    return found["inside"].strip() if found is not None else text.strip()


def read(text: str) -> dict[str, object] | None:
    """Return the JSON object of an answer, with or without a code fence; None if it is not one."""
    try:
        value = _value(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def schema_mismatch(schema: Mapping[str, object], text: str) -> str:
    """Return why an answer does not match, in one English sentence for the model; empty if it matches."""
    if not text.strip():
        return "It is empty."
    try:
        value = _value(text)
    except (ValueError, RecursionError) as error:
        return f"It is not JSON ({shorten(str(error), PROBLEM)})."
    if not isinstance(value, dict):
        return "It is JSON, but not an object."
    from atelier_desk.domain.answer_schema_checks import mismatch

    return mismatch(schema, value)


def _value(text: str) -> object:
    return json.loads(bare(text), parse_constant=_refuse)


def _short_enough(length: int) -> None:
    if length > limits.ANSWER_SCHEMA:
        message = N_("The schema has {length} characters; at most {most} are allowed.")
        raise LimitError(message, length=length, most=limits.ANSWER_SCHEMA)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
