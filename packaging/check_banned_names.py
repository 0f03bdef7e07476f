"""Refuse banned words in names of the program; ``packaging/banned_names.txt`` lists them with their replacements.

    python packaging/check_banned_names.py          fails for a name with a banned word, and for an unneeded exception
    python packaging/check_banned_names.py list     prints the exceptions that the code needs now

Checked are the names that other modules can see: modules, classes, functions, methods, attributes, fields and
constants, but not parameters and locals. A word is a part of a name between underscores or capitals:
``_take_back`` has two.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent / "app" / "atelier_desk"
FILE = HERE / "banned_names.txt"
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def read(text: str) -> tuple[dict[str, str], set[str]]:
    """Banned words with their replacements, then the exceptions (``path name``), from the text of the file."""
    banned, exceptions = {}, set()
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("allow "):
            exceptions.add(line.removeprefix("allow ").strip())
        else:
            word, _, instead = line.partition(":")
            banned[word.strip()] = instead.strip()
    return banned, exceptions


def names(tree: ast.AST, inside: bool = False) -> Iterator[tuple[int, str]]:
    """The public and private names that a module defines, with their lines; ``inside``: in a function, whose
    locals do not count.
    """
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield node.lineno, name
                yield from names(node, inside=True)
                continue
            case ast.ClassDef(name=name):
                yield node.lineno, name
                yield from names(node)
                continue
            case ast.Name(id=name, ctx=ast.Store()) if not inside:
                yield node.lineno, name
            case ast.Attribute(attr=name, value=ast.Name(id="self"), ctx=ast.Store()):
                yield node.lineno, name
            case ast.Lambda() | ast.comprehension():
                continue
        yield from names(node, inside)


def words(name: str) -> set[str]:
    """The parts of a name, in lower case."""
    return {each.lower() for each in _WORD.findall(name)}


def found(package: Path, banned: dict[str, str]) -> Iterator[tuple[str, int, str, str]]:
    """Path, line, name and word of each name with a banned word."""
    for path in sorted(package.rglob("*.py")):
        place, seen = path.relative_to(package).as_posix(), set[str]()
        for line, name in [(1, path.stem), *names(ast.parse(path.read_text("utf-8")))]:
            if name not in seen:
                seen.add(name)
                yield from ((place, line, name, word) for word in sorted(words(name) & banned.keys()))


def problems(package: Path = PACKAGE, text: str | None = None) -> list[str]:
    """What is wrong, a line each."""
    banned, exceptions = read(FILE.read_text("utf-8") if text is None else text)
    wrong, needed = [], set()
    for place, line, name, word in found(package, banned):
        needed.add(f"{place} {name}")
        if f"{place} {name}" not in exceptions:
            wrong.append(f"{place}:{line}: {name}: instead of {word!r} use {banned[word]}")
    return wrong + [
        f"packaging/banned_names.txt: allow {each}: nothing needs it any more: delete the line"
        for each in sorted(exceptions - needed)
    ]


if __name__ == "__main__":
    if sys.argv[1:] == ["list"]:
        banned, _exceptions = read(FILE.read_text("utf-8"))
        print(*sorted({f"allow {place} {name}" for place, _line, name, _word in found(PACKAGE, banned)}), sep="\n")
        sys.exit()
    wrong = problems()
    print(*wrong, sep="\n", end="\n" if wrong else "")
    sys.exit(bool(wrong))
