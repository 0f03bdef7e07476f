"""How much code each room of the program has, and a limit for it that only goes down by itself.

    python packaging/size.py [check | lower | raise ROOM REASON]

Tokens of code are counted, without comments, docstrings, imports and layout, so that neither the length of lines nor
prose counts. The limits stand in ``size.txt``, a line a room: its name, its tokens, and why it was last raised.
``check`` fails for a room above its limit, ``lower`` brings the limits down to what is there, ``raise`` brings one up
and writes the reason beside it.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LIMITS = Path(__file__).with_name("size.txt")
ROOTS = ("app/atelier_desk", "tests")
_LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
_PROSE = (ast.Import, ast.ImportFrom)


class Limit(NamedTuple):
    """Tokens a room may have, and why it may have more than before; empty where it never was raised."""

    tokens: int
    why: str


def tokens_of(source: str) -> int:
    """The tokens of code in the text of a module."""
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        if text or isinstance(node, _PROSE):
            left_out.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))  # type: ignore[attr-defined]
    found = tokenize.generate_tokens(io.StringIO(source).readline)
    return sum(token.type not in _LAYOUT and token.start[0] not in left_out for token in found)


def rooms(root: Path = ROOT) -> dict[str, int]:
    """By room, ``app/desktop`` or ``tests/desktop``, its tokens; loose modules are in ``app`` and ``tests``."""
    found: dict[str, int] = {}
    for base in ROOTS:
        for path in sorted((root / base).rglob("*.py")):
            parts = path.relative_to(root / base).parts
            room = "/".join([base.partition("/")[0], *parts[:-1][:1]])
            found[room] = found.get(room, 0) + tokens_of(path.read_text(encoding="utf-8"))
    return found


def read_limits(text: str) -> dict[str, Limit]:
    """The limits of a file.

    Raises:
        ValueError: a line without a room and a number.
    """
    limits = {}
    for line in text.splitlines():
        room, _space, rest = line.strip().partition(" ")
        number, _space, why = rest.strip().partition(" ")
        if room:
            limits[room] = Limit(int(number), why.strip())
    return limits


def write_limits(limits: dict[str, Limit]) -> str:
    """The inverse."""
    return "".join(f"{room:20} {limit.tokens:7} {limit.why}".rstrip() + "\n" for room, limit in sorted(limits.items()))


def problems(found: dict[str, int], limits: dict[str, Limit]) -> list[str]:
    """The rooms above their limit, and those without one."""
    over = []
    for room, tokens in sorted(found.items()):
        limit = limits.get(room, Limit(0, ""))
        if tokens > limit.tokens:
            over.append(f"{room}: {tokens} tokens of code, {tokens - limit.tokens} above its limit")
    return over


def main(arguments: list[str]) -> int:
    """The exit status."""
    found, limits = rooms(), read_limits(LIMITS.read_text("utf-8")) if LIMITS.exists() else {}
    match arguments:
        case ["check"]:
            over = problems(found, limits)
            for line in over:
                print(line)
            if over:
                print('Take something away, or say why not: python packaging/size.py raise ROOM "reason"')
            return bool(over)
        case ["lower"]:
            lower = {
                room: Limit(min(limit.tokens, found.get(room, 0)), limit.why)
                for room, limit in limits.items()
                if room in found
            }
            LIMITS.write_text(write_limits(lower), "utf-8")
        case ["raise", room, why] if room in found and why.strip():
            LIMITS.write_text(write_limits({**limits, room: Limit(found[room], why.strip())}), "utf-8")
        case []:
            for room, tokens in sorted(found.items(), key=lambda item: -item[1]):
                print(f"{room:20} {tokens:7} of {limits.get(room, Limit(0, '')).tokens}")
            for base in ("app", "tests"):
                print(
                    f"{base + ' in all':20} "
                    f"{sum(tokens for room, tokens in found.items() if room.partition('/')[0] == base):7}"
                )
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
