"""Patterns of file names, as shells and ripgrep know them: ``*``, ``?``, ``[a-z]``, ``{a,b}`` and ``**`` over folders."""

from __future__ import annotations

import re
from functools import lru_cache

from atelier_desk.domain.errors import ToolError

_MOST = 200
"""Patterns that braces may become."""
_SET = r"\[[!^]?\]?[^\]]*\]"
"""A set of letters, in which braces and commas are letters."""
_SETS = re.compile(_SET)
_INNERMOST = re.compile(rf"{_SET}|\{{((?>{_SET}|[^{{}}])*+)\}}")
"""A set, or braces without braces in them; what fits once is not tried in another way."""
_COMMA = re.compile(rf"({_SET})|,")


@lru_cache(maxsize=256)
def compiled(pattern: str, *, anywhere: bool = False) -> re.Pattern[str]:
    """The pattern for paths relative to where it starts. ``anywhere``: one without a slash fits a name in any folder.

    Raises:
        ToolError: ``bad_pattern``.
    """
    plain = pattern.removeprefix("./").removeprefix("/")
    if ".." in plain.split("/"):
        raise ToolError(
            "The pattern {pattern} has .. in it. Patterns go down only: begin in a folder further up.", code="bad_pattern", pattern=pattern
        )
    if anywhere and "/" not in pattern.rstrip("/"):
        plain = f"**/{plain}"
    try:
        return re.compile("|".join(f"(?:{_regex(each)})" for each in _braces(plain)), re.DOTALL)
    except re.error as error:
        raise ToolError("The pattern {pattern} cannot be read: {reason}.", code="bad_pattern", pattern=pattern, reason=error) from error


def plain_start(pattern: str) -> tuple[str, str]:
    """The folders at the beginning of a pattern that are written out, and the rest; both without ``.`` and doubled slashes."""
    *written, name = pattern.split("/")
    folders = [part for place, part in enumerate(written) if part != "." and (part or not place)]
    count = next((place for place, part in enumerate(folders) if set(part) & set("*?[{")), len(folders))
    return "/".join(folders[:count]), "/".join([*folders[count:], name])


def _braces(pattern: str) -> list[str]:
    done: list[str] = []
    rest = [pattern]
    while rest:
        if len(done) + len(rest) > _MOST:
            raise ToolError("The pattern has too many braces.", code="bad_pattern")
        each = rest.pop()
        inner = next((found for found in _INNERMOST.finditer(each) if found[1] is not None), None)
        if inner is None:
            if set(_SETS.sub("", each)) & set("{}["):
                raise ToolError(
                    "The pattern {pattern} has a bracket or brace without its other half. For the sign itself write [{{] or [[].",
                    code="bad_pattern",
                    pattern=pattern,
                )
            done.append(each)
        else:
            choices = _COMMA.sub(lambda part: part[1] or "\0", inner[1]).split("\0")  # no name has that character
            rest += [each[: inner.start()] + choice + each[inner.end() :] for choice in choices]
    return done


def _regex(pattern: str) -> str:
    """What stands between two ``**`` is taken at the first place where it fits and never tried again, as in ``_segment``: each try of one
    star would otherwise try all of those after it."""
    parts = pattern.split("/")
    *folders, name = parts
    out, piece, deep = "", "", False
    for part in folders:
        if part != "**":
            piece += _segment(part) + "/"
        elif piece or not deep:
            out += f"(?>(?:[^/]+/)*?{piece})" if deep else piece
            piece, deep = "", True
    last = ".*" if name == "**" else _segment(name)
    return out + (f"(?:[^/]+/)*{piece}{last}" if deep else piece + last)


def _segment(part: str) -> str:
    """One part of a path. What stands before the last star is taken as soon as it fits and never tried again, so that no name and pattern
    take long."""
    pieces = [_piece(each) for each in re.split(r"\*+", part)]
    if len(pieces) == 1:
        return pieces[0]
    middle = "".join(f"(?>[^/]*?{piece})" for piece in pieces[1:-1])
    return f"{pieces[0]}{middle}[^/]*{pieces[-1]}"


def _piece(text: str) -> str:
    out, place = "", 0
    while place < len(text):
        letter = text[place]
        close = text.find("]", place + 2) if letter == "[" else -1
        if close > 0:
            inner = text[place + 1 : close].replace("\\", "\\\\").replace("[", "\\[")
            out += f"[{'^' + inner[1:] if inner[0] in '!^' else inner}]"
            place = close
        else:
            out += "[^/]" if letter == "?" else re.escape(letter)
        place += 1
    return out
