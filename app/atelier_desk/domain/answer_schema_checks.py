"""Check schemas of structured answers, and answers against them, with ``jsonschema``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, best_match
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.schema_references import PROBLEM, references
from atelier_desk.support.i18n import N_
from atelier_desk.support.visible_and_shortened_text import shorten


def check_definition(schema: Mapping[str, object]) -> None:
    """Refuse an invalid JSON Schema, one with patterns, and one that refers to itself endlessly. Raises UsageError."""
    try:
        _resolve(schema)
        validator = _validator(schema)
        type(validator).check_schema(schema, format_checker=type(validator).FORMAT_CHECKER)
        if _has_patterns(schema):
            message = N_(
                "The schema may not use “pattern” or “patternProperties”: checking some patterns would never finish. "
                "Describe the format in words."
            )
            raise UsageError(message, code="schema")
        # Infinite self-references only show when followed.
        list(validator.iter_errors({}))
    except SchemaError as error:
        message = N_("The schema is not a valid JSON Schema. At {place}: {detail}")
        path, detail = error.json_path, shorten(error.message, PROBLEM)
        raise UsageError(message, code="schema", place=path, detail=detail) from None
    except UsageError:
        raise
    except RecursionError:
        raise UsageError(N_("The schema contains an infinite reference loop."), code="schema") from None
    except Exception as error:
        # Missing reference targets have no public exception class.
        raise UsageError(
            N_("The schema cannot be used: {detail}"), code="schema", detail=shorten(str(error), PROBLEM)
        ) from None


def mismatch(schema: Mapping[str, object], value: object) -> str:
    """See ``final_answer_schema.schema_mismatch``."""
    try:
        if _has_patterns(schema):
            return "The schema itself cannot be used (it has patterns)."
        worst = best_match(_validator(schema).iter_errors(value))
    except Exception as error:
        # An unchecked schema, from an agent defined by another program.
        return f"The schema itself cannot be used ({shorten(str(error), PROBLEM)})."
    return "" if worst is None else f"At {worst.json_path}: {shorten(worst.message, PROBLEM)}."


def _validator(schema: Mapping[str, object]) -> Any:
    """Return a validator for the schema's own draft, otherwise 2020-12. Its own registry prevents any download."""
    return validator_for(schema, default=Draft202012Validator)(schema, registry=Registry())


def _has_patterns(value: object) -> bool:
    """Whether a schema contains regular expressions: even a short one can block the engine for hours (``^(a+)+$``)."""
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, Mapping):
            if isinstance(each.get("pattern"), str) or isinstance(each.get("patternProperties"), Mapping):
                return True
            pending += each.values()
        elif isinstance(each, list):
            pending += each
    return False


def _resolve(schema: Mapping[str, object]) -> None:
    """Raise for a reference without a target, which would otherwise only show with certain answers."""
    resolver = Registry().with_resource("urn:schema", DRAFT202012.create_resource(schema)).resolver("urn:schema")
    for each in references(schema):
        resolver.lookup(each)
