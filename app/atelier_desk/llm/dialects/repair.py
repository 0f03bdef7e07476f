"""From a call's argument text to its arguments: strictly where possible, mended within bounds where not.

The order is: strict JSON; JSON in a code fence; ``json_repair``, for at most ``REPAIR_BYTES``, in a thread. Mended arguments are marked,
so that the policy can refuse them for tools that change things. Text that was cut is never mended: what was to follow is unknown. It
was cut when the token limit says so, or when a text or the outer brace in it is never closed: many servers call that an ordinary end.
Text after a whole object is refused, too: a second call may be in it. Errors are written for the model.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

from atelier_desk.llm.dialects.bounds import CALL_CHARACTERS, CALL_DEPTH, REPAIR_BYTES

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
    "There is more text after the arguments, so the call was not run: write one JSON object a call, and make another call for each "
    "further one."
)
_TRAILING = re.compile(r"[\s}\]`]*")
"""What may follow a whole object without meaning anything: braces too many, the end of a fence."""


@dataclass(frozen=True, slots=True)
class ParsedArguments:
    """What became of an argument text. Exactly one of ``arguments`` and ``error`` counts: an error leaves the arguments empty."""

    arguments: dict[str, Any] = field(default_factory=dict)
    repaired: bool = False
    error: str | None = None


class _Refused(ValueError):
    """The text is valid JSON that cannot be arguments; mending would not help. The message is written for the model."""


def valid_unicode(text: str) -> str:
    """The text with halves of surrogate pairs replaced: they cannot be written to a file, a database or a socket."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _checked(value: Any, depth: int = 1) -> Any:
    """A copy with valid Unicode.

    Raises:
        _Refused: nested too deeply, or a number no JSON text can carry.
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
    # strict=False allows raw line breaks inside strings, which models write often and which have one meaning only.
    return json.loads(text, strict=False, parse_constant=_no_constant)


def _as_object(value: Any) -> dict[str, object]:
    if isinstance(value, str):  # some servers encode the arguments twice
        value = _loads(value)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _Refused(f"The arguments must be one JSON object, not {_json_type(value)}.")
    checked: dict[str, Any] = _checked(value)
    return checked


def _json_type(value: Any) -> str:
    if isinstance(value, list):
        return "an array"
    if isinstance(value, bool):
        return "a boolean"
    return "a string" if isinstance(value, str) else "a number"


def parse_strict(text: str) -> dict[str, object]:
    """The arguments in ``text``, which may stand in a code fence; empty text means no arguments.

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
    """What stands in the code fence that is the whole text; None when it is none. Each character is looked at a few times only, whatever a
    model wrote."""
    opening, _line_end, rest = text.strip().partition("\n")
    mark = opening[:1]
    fence = opening[: len(opening) - len(opening.lstrip(mark))] if mark in ("`", "~") else ""
    if len(fence) < _FENCE_LENGTH or "`" in opening[len(fence) :] or not rest.endswith(fence):
        return None
    return rest.rstrip(mark)


_FENCE_LENGTH = 3


def _mend(text: str) -> dict[str, object] | None:
    """What json_repair makes of the text, when that is a JSON object with something in it."""
    from json_repair import repair_json

    try:
        value = repair_json(text, return_objects=True, skip_json_loads=True)
        return _as_object(value) if isinstance(value, dict) and value else None
    except (RecursionError, ValueError, IndexError, KeyError, TypeError, AttributeError):
        return None


def _unclosed(text: str) -> bool:
    """Whether the text ends within a string or before its outermost brace is closed."""
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
    """Whether something with a meaning comes after a whole object."""
    start = text.find("{")
    try:
        end = _DECODER.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return False
    return _TRAILING.fullmatch(text, end) is None


_DECODER = json.JSONDecoder(strict=False, parse_constant=_no_constant)


async def parse_arguments(text: str, *, truncated: bool = False) -> ParsedArguments:
    """Parse a call's argument text; never raises for what the text holds.

    Args:
        truncated: the reply was cut by the token limit inside this text, so that it is not mended.
    """
    if len(text) > CALL_CHARACTERS:
        return ParsedArguments(error=f"The arguments are {len(text)} characters long; at most {CALL_CHARACTERS} are allowed.")
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
        mended = await asyncio.to_thread(_mend, text)
        if mended is not None:
            return ParsedArguments(mended, repaired=True)
    return ParsedArguments(error=f"The arguments are not valid JSON ({problem}). Write one JSON object that fits the tool's schema.")
