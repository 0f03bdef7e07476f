"""Forms that a server asks a person to fill in: flat, with a few kinds of fields, as defined by MCP."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import date, datetime
from enum import StrEnum
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, JsonValue

from atelier_desk.domain.base_model import Model
from atelier_desk.support.i18n import _

MOST_FIELDS = 50
MOST_CHOICES = 200
"""Maximum choices of a form, and of a field: more cannot be displayed."""
LONGEST_VALUE = 4_000
"""Maximum characters of a text."""
_EMAIL = re.compile(r"[^@\s]+@[^@\s.]+(?:\.[^@\s.]+)*")


class FieldKind(StrEnum):
    TEXT = "text"
    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    CHOICES = "choices"


class FormChoice(Model):
    value: str
    title: str


class FormField(Model):
    """One field.

    Attributes:
        name: for the server; ``title`` and ``about`` are for people.
        shortest, longest: characters of a text, None if the server sets no limit.
        least, most: limits of a number, or of the number of choices.
    """

    name: str = Field(min_length=1, max_length=128)
    kind: FieldKind
    title: str = Field(default="", max_length=256)
    about: str = Field(default="", max_length=1_000)
    required: bool = False
    default: JsonValue = None
    choices: tuple[FormChoice, ...] = Field(default=(), max_length=MOST_CHOICES)
    shortest: int | None = None
    longest: int | None = None
    format: Literal["", "email", "uri", "date", "date-time"] = ""
    least: float | None = None
    most: float | None = None

    @property
    def label(self) -> str:
        return self.title or self.name

    def read(self, typed: str) -> object:
        """Parse typed text; unparsable text is returned unchanged, and ``problem`` explains it."""
        text = typed.strip()
        match self.kind:
            case FieldKind.INTEGER:
                return int(text) if re.fullmatch(r"[+-]?[0-9]{1,18}", text) else typed
            case FieldKind.NUMBER:
                return _number(text, typed)
            case FieldKind.BOOLEAN:
                known = {**dict.fromkeys(_YES, True), **dict.fromkeys(_NO, False)}
                return known.get(text.casefold(), typed)
            case FieldKind.CHOICE:
                return self._choice(text)
            case FieldKind.CHOICES:
                return list(dict.fromkeys(self._choice(each.strip()) for each in text.split(",") if each.strip()))
        return typed

    def _choice(self, text: str) -> str:
        """Return a choice by its value, title or number from 1."""
        if any(each.value == text for each in self.choices):
            return text
        titled = next((each.value for each in self.choices if each.title.casefold() == text.casefold()), None)
        if titled is not None:
            return titled
        number = int(text) if re.fullmatch("[0-9]{1,3}", text) else 0
        return self.choices[number - 1].value if 1 <= number <= len(self.choices) else text

    def in_words(self, value: object) -> str:
        """Format a value for people: titles of choices, yes or no."""
        titles = {each.value: each.title for each in self.choices}
        if isinstance(value, str):
            return titles.get(value, value)
        if isinstance(value, list):
            return ", ".join(titles.get(each, str(each)) if isinstance(each, str) else in_words(each) for each in value)
        return in_words(value)

    def problem(self, value: object) -> str:
        """Return the problem of a value as a code with a sentence in ``form_words``.

        Empty if valid. None means no value.
        """
        if value is None or value in ("", []):
            return (
                "required"
                if self.required and not (value == "" and self.kind is FieldKind.TEXT and self.shortest == 0)
                else ""
            )
        match self.kind:
            case FieldKind.TEXT:
                return self._text_problem(value)
            case FieldKind.NUMBER | FieldKind.INTEGER:
                return self._number_problem(value)
            case FieldKind.BOOLEAN:
                return "" if isinstance(value, bool) else "boolean"
        known = {each.value for each in self.choices}
        chosen = [value] if self.kind is FieldKind.CHOICE else value
        if not isinstance(chosen, list) or any(not isinstance(each, str) or each not in known for each in chosen):
            return "choice"
        if self.kind is FieldKind.CHOICES:
            if self.least is not None and len(chosen) < self.least:
                return "few"
            if self.most is not None and len(chosen) > self.most:
                return "many"
        return ""

    def _text_problem(self, value: object) -> str:
        if not isinstance(value, str):
            return "text"
        if self.shortest is not None and len(value) < self.shortest:
            return "short"
        if len(value) > self.upper_length:
            return "long"
        return "" if _has_format(value, self.format) else self.format

    @property
    def upper_length(self) -> int:
        return min(LONGEST_VALUE, self.longest) if self.longest is not None else LONGEST_VALUE

    def _number_problem(self, value: object) -> str:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return self.kind.value
        if self.kind is FieldKind.INTEGER and value != int(value):
            return "integer"
        if self.least is not None and value < self.least:
            return "least"
        return "most" if self.most is not None and value > self.most else ""


class Form(Model):
    """The fields of a form, with unique names."""

    fields: tuple[FormField, ...] = Field(default=(), max_length=MOST_FIELDS)

    def problems(self, values: Mapping[str, object]) -> dict[str, str]:
        """Return the problems of values by field; ``unknown`` for a name without a field."""
        found = {name: "unknown" for name in values if all(field.name != name for field in self.fields)}
        for field in self.fields:
            if problem := field.problem(values.get(field.name)):
                found[field.name] = problem
        return found

    def defaults(self) -> dict[str, object]:
        """Return the server's valid default values."""
        return {
            field.name: field.default
            for field in self.fields
            if field.default is not None and not field.problem(field.default)
        }

    def given(self, values: Mapping[str, Any]) -> dict[str, object]:
        """Return the values to send, without empty ones."""
        sent: dict[str, object] = {}
        for field in self.fields:
            value = values.get(field.name)
            if value is None or (value in ("", []) and not (field.required and value == "")):
                continue
            sent[field.name] = int(value) if field.kind is FieldKind.INTEGER else value
        return sent


_YES = ("yes", "y", "true", "1", "on", "oui", "o", "vrai")
_NO = ("no", "n", "false", "0", "off", "non", "faux")


def in_words(value: object) -> str:
    """Format a value of an unknown field for people."""
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return ", ".join(map(in_words, value)) if isinstance(value, list) else str(value)


def _number(text: str, typed: str) -> object:
    if re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        return int(text)
    try:
        # also accepts the French decimal comma
        return float(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)
    except ValueError:
        return typed


def _has_format(text: str, form: str) -> bool:
    if form == "email":
        return _EMAIL.fullmatch(text) is not None
    if form == "uri":
        try:
            parts = urlsplit(text)
        except ValueError:
            return False
        return bool(parts.scheme and (parts.netloc or parts.path)) and not re.search(r"\s", text)
    try:
        if form == "date":
            return len(text) == 10 and bool(date.fromisoformat(text))
        if form == "date-time":
            return "T" in text.upper() and bool(datetime.fromisoformat(text))
    except ValueError:
        return False
    return True
