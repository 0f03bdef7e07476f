"""File name patterns as in shells and ripgrep: ``*``, ``?``, ``[a-z]``, ``{a,b}`` and ``**`` across folders."""

from __future__ import annotations

import re
from functools import lru_cache

from atelier_desk.domain.errors import ToolError

_MOST = 200
"""Maximum number of patterns after brace expansion."""
_SET = r"\[[!^]?\]?[^\]]*\]"
"""A character set, in which braces and commas are literal."""
_SETS = re.compile(_SET)
_INNERMOST = re.compile(rf"{_SET}|\{{((?>{_SET}|[^{{}}])*+)\}}")
"""A set, or innermost braces; possessive, so that it never backtracks."""
_COMMA = re.compile(rf"({_SET})|,")


@lru_cache(maxsize=256)
def compiled(pattern: str, *, anywhere: bool = False) -> re.Pattern[str]:
    """Compile a pattern for paths relative to its base.

    ``anywhere``: without a slash it matches a name in any folder.

    Raises:
        ToolError: ``bad_pattern``.
    """
    plain = pattern.removeprefix("./").removeprefix("/")
    if ".." in plain.split("/"):
        raise ToolError(
            "The pattern {pattern} has .. in it. Patterns go down only: begin in a folder further up.",
            code="bad_pattern",
            pattern=pattern,
        )
    if anywhere and "/" not in pattern.rstrip("/"):
        plain = f"**/{plain}"
    try:
        return re.compile("|".join(f"(?:{_regex(each)})" for each in _braces(plain)), re.DOTALL)
    except re.error as error:
        raise ToolError(
            "The pattern {pattern} cannot be read: {reason}.", code="bad_pattern", pattern=pattern, reason=error
        ) from error


def plain_start(pattern: str) -> tuple[str, str]:
    """Split a pattern into its leading literal folders and the rest, both without ``.`` and double slashes."""
    *written, name = pattern.split("/")
    folders = [part for index, part in enumerate(written) if part != "." and (part or not index)]
    count = next((index for index, part in enumerate(folders) if set(part) & set("*?[{")), len(folders))
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
                    (
                        "The pattern {pattern} has a bracket or brace without its other half. For the sign itself "
                        "write "
                        "[{{] or [[]."
                    ),
                    code="bad_pattern",
                    pattern=pattern,
                )
            done.append(each)
        else:
            # no file name contains this character
            choices = _COMMA.sub(lambda part: part[1] or "\0", inner[1]).split("\0")
            rest += [each[: inner.start()] + choice + each[inner.end() :] for choice in choices]
    return done


def _regex(pattern: str) -> str:
    """Return a regular expression.

    Text between two ``**`` matches at its first position only, as in ``_segment``: retrying each star for each earlier
    one would take exponential time.
    """
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
    """Return the expression of one path part.

    Text before the last star matches at its first position only, which bounds the time.
    """
    pieces = [_piece(each) for each in re.split(r"\*+", part)]
    if len(pieces) == 1:
        return pieces[0]
    middle = "".join(f"(?>[^/]*?{piece})" for piece in pieces[1:-1])
    return f"{pieces[0]}{middle}[^/]*{pieces[-1]}"


def _piece(text: str) -> str:
    out, index = "", 0
    while index < len(text):
        letter = text[index]
        close = text.find("]", index + 2) if letter == "[" else -1
        if close > 0:
            inner = text[index + 1 : close].replace("\\", "\\\\").replace("[", "\\[")
            out += f"[{'^' + inner[1:] if inner[0] in '!^' else inner}]"
            index = close
        else:
            out += "[^/]" if letter == "?" else re.escape(letter)
        index += 1
    return out
