"""Argument placeholders of ``/name arguments`` in a skill, command or prompt, and their substitution. Pure.

Source: the conventions of Claude Code, Codex and opencode (``$ARGUMENTS``, ``$1``, names of the header), and Atelier's
own ``{{name}}`` or ``{{name=default}}``, the only form in a person's prompts.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from atelier_desk.domain import limits

FILLED = limits.RESULT_TO_MODEL
"""Maximum characters of the result.

Models are never given more, and placeholders times arguments could be any number.
"""
MOST = limits.PROMPT_VARIABLES
"""Maximum number of argument names."""
_BRACES = r"\{\{\s*([^\W\d][\w-]{0,63})\s*(?:=([^{}]*))?\}\}"
_BRACED = re.compile(_BRACES)
_PLACE = re.compile(r"(\\?)\$(?:ARGUMENTS\[(\d{1,2})\]|(ARGUMENTS)\b|(\d)(?![\d.,]\d|\d)|([A-Za-z_][\w-]*))|" + _BRACES)
_NAMED = re.compile(r"([^\W\d][\w-]*)=(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a prompt; ``default`` is None if it must be filled in."""

    name: str
    default: str | None = None


def split(arguments: str) -> tuple[str, ...]:
    """Split arguments like a shell; with an open quote, split at spaces."""
    try:
        return tuple(shlex.split(arguments))
    except ValueError:
        return tuple(arguments.split())


def joined(values: Sequence[str]) -> str:
    """Inverse of ``split``: values with spaces in double quotes."""
    return " ".join(_quoted(value) for value in values)


def joined_by_name(values: Mapping[str, str]) -> str:
    """Return values in the form ``name=value``."""
    return " ".join(f"{_quoted(name)}={_quoted(value)}" for name, value in values.items())


def _quoted(value: str) -> str:
    if value and not re.search(r"[\s'\"\\]", value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def names_of(text: str, declared: Sequence[str] = (), *, braced: bool = False) -> tuple[str, ...]:
    """Return the argument names of a text in order: those of its header, otherwise those in ``{{…}}`` (``braced``)."""
    if declared:
        return tuple(dict.fromkeys(declared))[:MOST]
    return tuple(dict.fromkeys(match[1] for match in _BRACED.finditer(text)))[:MOST] if braced else ()


def variables(text: str) -> tuple[Variable, ...]:
    """Return the variables in ``{{…}}``, each once, in order; the first default of a name applies everywhere."""
    found: dict[str, str | None] = {}
    for match in _BRACED.finditer(text):
        found[match[1]] = (
            found.get(match[1]) if match[2] is None or found.get(match[1]) is not None else match[2].strip()
        )
    return tuple(Variable(name, default) for name, default in found.items())


def with_values(text: str, values: Mapping[str, str]) -> str:
    """Substitute the variables of a prompt.

    Those without value or default stay. Substituted values are not scanned again.
    """
    given = _given(text, values)
    return _BRACED.sub(lambda match: given.get(match[1], match[0]), text)


def length_with(text: str, values: Mapping[str, str]) -> int:
    """Return the length of ``with_values`` without building it, which could be huge."""
    given = _given(text, values)
    return len(text) + sum(len(given.get(match[1], match[0])) - len(match[0]) for match in _BRACED.finditer(text))


def _given(text: str, values: Mapping[str, str]) -> dict[str, str]:
    return {**{each.name: each.default for each in variables(text) if each.default is not None}, **values}


def values_of(arguments: str, names: Sequence[str]) -> dict[str, str]:
    """Parse ``/name arguments`` by name.

    ``name=value``, or values in the order of the names; the last name takes the rest.
    """
    return _sorted(split(arguments), names)


def has_placeholder(text: str, names: Sequence[str] = ()) -> bool:
    """Whether the text has a placeholder for arguments."""
    return any(_is_place(match, names) for match in _PLACE.finditer(text))


def filled(text: str, arguments: str, names: Sequence[str] = ()) -> str:
    """Substitute arguments; without placeholders they are appended.

    ``$1`` is the first, unless the text starts counting at ``$0``. A value may be given as ``name=value``. Substituted
    values are not scanned again. Numbers stay if no arguments were given at all: they may be prices.
    """
    arguments = arguments.strip()
    values = split(arguments)
    named = _sorted(values, names)
    first = 0 if re.search(r"(?<!\\)\$0(?!\d)", text) else 1
    used, room = False, FILLED

    def fill(match: re.Match[str]) -> str:
        nonlocal used, room
        if not _is_place(match, names):
            return match[0]
        escaped, index, whole, number, name, brace, default = match.groups()
        if escaped:
            return match[0][1:]
        if number is not None and not values:
            return match[0]
        used = True
        if room <= 0:
            return ""
        if whole:
            value = arguments
        elif index is not None:
            value = _at(values, int(index))
        elif number is not None:
            value = _at(values, int(number) - first)
        else:
            value = named.get(name or brace) or (default or "").strip()
        room -= len(value)
        return value

    out = _PLACE.sub(fill, text)
    return out if used or not arguments else f"{out.rstrip()}\n\nARGUMENTS: {arguments}"


def _is_place(match: re.Match[str], names: Sequence[str]) -> bool:
    name = match[5] or match[6]
    return name is None or name in names


def _sorted(values: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Assign values to names: those given as ``name=value``, then the others in order; the last name takes the rest."""
    named: dict[str, str] = {}
    plain: list[str] = []
    for value in values:
        found = _NAMED.fullmatch(value)
        if found and found[1] in names and found[1] not in named:
            named[found[1]] = found[2]
        else:
            plain.append(value)
    free = [name for name in names if name not in named]
    for index, name in enumerate(free):
        rest = plain[index:] if index == len(free) - 1 else plain[index : index + 1]
        if rest:
            named[name] = " ".join(rest)
    return named


def _at(values: Sequence[str], index: int) -> str:
    return values[index] if 0 <= index < len(values) else ""
