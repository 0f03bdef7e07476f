"""Parse a call's argument text: strictly if possible, otherwise repaired within limits.

The order is: strict JSON; JSON in a code fence; ``json_repair``, for at most ``REPAIR_BYTES``, in a thread. Repaired
arguments are marked, so that policy can refuse them for tools that change things. Truncated text is never repaired,
because the rest is unknown: the token limit was reached, or a string or the outer brace is never closed (many servers
report that as a normal end). Text after a complete object is refused too: it may contain a second call. Errors are
written for the model.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

from json_repair import repair_json

from atelier_desk.llm.dialects.tool_call_limits import CALL_CHARACTERS, CALL_DEPTH, REPAIR_BYTES

_SURROGATE = re.compile("[\ud800-\udfff]")

CUT = (
    "The reply reached its token limit in the middle of this call, so the call was not run. "
    "Make the call again with shorter arguments, or split the work over several calls."
)

UNCLOSED = (
    "The arguments end in the middle: a text or the outer brace is never closed, so the call was not run. "
    "Make the call again with whole arguments; if they are long, split the work over several calls."
)
MORE = (
    "There is more text after the arguments, so the call was not run: write one JSON object a call, and make another "
    "call for each "
    "further one."
)
_TRAILING = re.compile(r"[\s}\]`]*")
"""Meaningless text allowed after a complete object: surplus braces, the end of a fence."""


@dataclass(frozen=True, slots=True)
class ParsedArguments:
    """Result of parsing. Either ``arguments`` or ``error`` applies: an error leaves the arguments empty."""

    arguments: dict[str, object] = field(default_factory=dict)
    repaired: bool = False
    error: str | None = None


class _Refused(ValueError):
    """Valid JSON that cannot be arguments; repairing would not help. The message is for the model."""


def valid_unicode(text: str) -> str:
    """Replace lone surrogates, which cannot be written to files, databases or sockets."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _checked(value: object, depth: int = 1) -> Any:
    """Return a copy with valid Unicode.

    Raises:
        _Refused: nested too deeply, or a number that JSON cannot represent.
    """
    if isinstance(value, str):
        return valid_unicode(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise _Refused("A number in the arguments is out of range.")
    if isinstance(value, (dict, list)) and depth > CALL_DEPTH:
        raise _Refused(f"The arguments are nested more than {CALL_DEPTH} levels deep. Flatten them.")
    if isinstance(value, dict):
        return {valid_unicode(str(key)): _checked(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_checked(item, depth + 1) for item in value]
    return value


def _loads(text: str) -> object:
    # strict=False allows raw line breaks inside strings, which models often write and which are unambiguous.
    return json.loads(text, strict=False, parse_constant=_no_constant)


def _as_object(value: object) -> dict[str, object]:
    if isinstance(value, str):  # some servers encode the arguments twice
        value = _loads(value)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _Refused(f"The arguments must be one JSON object, not {_json_type(value)}.")
    checked: dict[str, object] = _checked(value)
    return checked


def _json_type(value: object) -> str:
    if isinstance(value, list):
        return "an array"
    if isinstance(value, bool):
        return "a boolean"
    return "a string" if isinstance(value, str) else "a number"


def parse_strict(text: str) -> dict[str, object]:
    """Parse the arguments in ``text``, possibly in a code fence; empty text means none.

    Raises:
        ValueError: not a JSON object, nested too deeply, or a number out of range.
    """
    if not text.strip():
        return {}
    try:
        return _as_object(_loads(text))
    except RecursionError as error:
        raise _Refused(f"The arguments are nested more than {CALL_DEPTH} levels deep. Flatten them.") from error
    except json.JSONDecodeError:
        fenced = _in_fence(text)
        if fenced is None:
            raise
        return _as_object(_loads(fenced))


def _in_fence(text: str) -> str | None:
    """Return the content if the whole text is one code fence, otherwise None. Runs in linear time."""
    opening, _line_end, rest = text.strip().partition("\n")
    mark = opening[:1]
    fence = opening[: len(opening) - len(opening.lstrip(mark))] if mark in ("`", "~") else ""
    if len(fence) < _FENCE_LENGTH or "`" in opening[len(fence) :] or not rest.endswith(fence):
        return None
    return rest.rstrip(mark)


_FENCE_LENGTH = 3


def _repair(text: str) -> dict[str, object] | None:
    """Return json_repair's result if it is a non-empty JSON object."""
    try:
        value = repair_json(text, return_objects=True, skip_json_loads=True)
        return _as_object(value) if isinstance(value, dict) and value else None
    except (RecursionError, ValueError, IndexError, KeyError, TypeError, AttributeError):
        return None


def _unclosed(text: str) -> bool:
    """Whether the text ends inside a string or before its outermost brace is closed."""
    depth, quoted, position = 0, False, text.find("{")
    for found in _STRUCTURE.finditer(text, max(position, 0)):
        mark = found[0]
        if mark == '"':
            quoted = not quoted
        elif not quoted and mark in "{}":
            depth += 1 if mark == "{" else -1
            if depth == 0:
                return False
    return position >= 0


_STRUCTURE = re.compile(r'\\.|["{}]', re.DOTALL)


def _followed(text: str) -> bool:
    """Whether meaningful text follows a complete object."""
    start = text.find("{")
    try:
        end = _DECODER.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return False
    return _TRAILING.fullmatch(text, end) is None


_DECODER = json.JSONDecoder(strict=False, parse_constant=_no_constant)


async def parse_arguments(text: str, *, truncated: bool = False) -> ParsedArguments:
    """Parse a call's argument text; never raises for its content.

    Args:
        truncated: the token limit cut the reply inside this text, so it is not repaired.
    """
    if len(text) > CALL_CHARACTERS:
        return ParsedArguments(
            error=f"The arguments are {len(text)} characters long; at most {CALL_CHARACTERS} are allowed."
        )
    try:
        return ParsedArguments(parse_strict(text))
    except _Refused as error:
        return ParsedArguments(error=str(error))
    except ValueError as error:
        problem = str(error)
    if truncated or _unclosed(text):
        return ParsedArguments(error=CUT if truncated else UNCLOSED)
    if "{" in text and _followed(text):
        return ParsedArguments(error=MORE)
    if "{" in text and len(text.encode("utf-8", "replace")) <= REPAIR_BYTES:
        mended = await asyncio.to_thread(_repair, text)
        if mended is not None:
            return ParsedArguments(mended, repaired=True)
    return ParsedArguments(
        error=f"The arguments are not valid JSON ({problem}). Write one JSON object that fits the tool's schema."
    )
