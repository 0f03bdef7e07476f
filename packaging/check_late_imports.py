"""Allow imports inside functions only where ``late_imports.txt`` lists them with a reason.

    python packaging/check_late_imports.py

A module imports at its top, so that a reader sees what it needs and a missing package is noticed at once. What is
slow to load, or not installed everywhere, is imported at the top of a module of its own, and that module in one
function, or as a ``LateModule``. ``late_imports.txt`` has a line for each module that does so: its path below
``atelier_desk``, the number of import statements inside its functions and of late modules, and why. Fails for more of
them, and for fewer: then the number is lowered, or the line removed.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parent.parent / "app" / "atelier_desk"
LIST = Path(__file__).with_name("late_imports.txt")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Allowed(NamedTuple):
    """How many import statements the functions of a module may contain, and why."""

    count: int
    why: str


def late_imports(source: str) -> list[int]:
    """The lines of a module that import inside a function, or through a ``LateModule``."""
    tree = ast.parse(source)
    inside = {
        node.lineno
        for function in ast.walk(tree)
        if isinstance(function, FUNCTIONS)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return sorted(inside | {call.lineno for call in calls if ast.unparse(call.func) == "LateModule"})


def read_list(text: str) -> dict[str, Allowed]:
    """What a list allows, by module.

    Raises:
        ValueError: a line lacks a path, a number or a reason.
    """
    allowed = {}
    for line in filter(str.strip, text.splitlines()):
        module, count, why = line.split(maxsplit=2)
        allowed[module] = Allowed(int(count), why)
    return allowed


def problems(package: Path, allowed: Mapping[str, Allowed]) -> list[str]:
    """What is wrong, a line each."""
    messages, remaining = [], dict(allowed)
    for path in sorted(package.rglob("*.py")):
        name, lines = path.relative_to(package).as_posix(), late_imports(path.read_text("utf-8"))
        limit = remaining.pop(name, Allowed(0, "")).count
        if len(lines) > limit:
            where = ", ".join(map(str, lines))
            messages.append(
                f"{name}: {len(lines)} imports inside functions, and {limit} allowed (lines {where}): import at the top"
            )
        elif len(lines) < limit:
            messages.append(f"{name}: {len(lines)} imports inside functions instead of {limit}: lower its number")
    return messages + [f"{name}: no such module: remove its line" for name in sorted(remaining)]


if __name__ == "__main__":
    found = problems(PACKAGE, read_list(LIST.read_text("utf-8")))
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))
