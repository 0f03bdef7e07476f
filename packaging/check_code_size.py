"""Measure the code of each package and test folder against a limit that only a reason can raise.

    python packaging/check_code_size.py [check | lower | raise ROOM REASON]

It counts tokens of code without comments, docstrings, imports and layout, so that neither long lines nor prose
matter. ``code_size_limits.txt`` has a line for each package or folder ("room"): its name, its limit in tokens, and why
it was
last raised. ``check`` fails for one above its limit, ``lower`` brings the limits down to the current size,
``raise`` raises one and records the reason.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LIMITS = Path(__file__).with_name("code_size_limits.txt")
ROOTS = ("app/atelier_desk", "tests")
_LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
_PROSE = (ast.Import, ast.ImportFrom)


class Limit(NamedTuple):
    """The largest allowed number of tokens, and why it was raised; the reason is empty when it never was."""

    tokens: int
    why: str


def tokens_of(source: str) -> int:
    """The number of code tokens in a module's text."""
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        if text or isinstance(node, _PROSE):
            left_out.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))  # type: ignore[attr-defined]
    found = tokenize.generate_tokens(io.StringIO(source).readline)
    return sum(token.type not in _LAYOUT and token.start[0] not in left_out for token in found)


def rooms(root: Path = ROOT) -> dict[str, int]:
    """Tokens by package or test folder, such as ``app/desktop`` or ``tests/desktop``; single modules count for
    ``app`` and ``tests``.
    """
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
        ValueError: a line lacks a name or a number.
    """
    limits = {}
    for line in text.splitlines():
        room, _space, rest = line.strip().partition(" ")
        number, _space, why = rest.strip().partition(" ")
        if room:
            limits[room] = Limit(int(number), why.strip())
    return limits


def write_limits(limits: dict[str, Limit]) -> str:
    """The text of the file with these limits."""
    return "".join(f"{room:20} {limit.tokens:7} {limit.why}".rstrip() + "\n" for room, limit in sorted(limits.items()))


def problems(found: dict[str, int], limits: dict[str, Limit]) -> list[str]:
    """The packages and folders above their limit, and those without one."""
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
                print("Remove code, or raise the limit with a reason:")
                print('python packaging/check_code_size.py raise ROOM "reason"')
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
