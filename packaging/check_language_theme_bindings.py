"""Check that widgets follow language, theme and scale through ``bind`` and its relatives in
``desktop/widgets/language_theme_bindings``.

    python packaging/check_language_theme_bindings.py

Fails for a module of the desktop that uses another way: a ``retranslate`` or ``restyle`` method, the
language-change event, or the theme's signal. The packages listed here may do so a number of times, each with a
reason; the numbers only go down.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

DESKTOP = Path(__file__).resolve().parent.parent / "app" / "atelier_desk" / "desktop"
IMPLEMENTATION = ("widgets/", "theme/")
"""The packages that implement it."""
LISTED = {
    "settings/": (
        18,
        "pages not yet converted to forms, which follow by themselves; the language setting, which sends Qt's event",
    )
}
"""Packages of the desktop: the number of allowed places, and why."""
ADVICE = "bind what is shown, with say or bind of desktop/widgets/language_theme_bindings"
NAMES = ("retranslate", "restyle")


def places(source: str) -> Iterator[tuple[int, str]]:
    """The lines of a module that follow a change in another way, with the name used."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name.strip("_").startswith(NAMES):
                yield node.lineno, name
            case ast.Attribute(attr="LanguageChange"):
                yield node.lineno, "LanguageChange"
            case ast.Attribute(
                attr="connect", value=ast.Attribute(attr="changed", value=ast.Call(func=ast.Name(id="theme")))
            ):
                yield node.lineno, "theme().changed"


def problems(desktop: Path = DESKTOP, listed: Mapping[str, tuple[int, str]] = LISTED) -> list[str]:
    """What is wrong, a line each."""
    messages, used = [], Counter[str]()
    for path in sorted(desktop.rglob("*.py")):
        name = path.relative_to(desktop).as_posix()
        if name.startswith(IMPLEMENTATION):
            continue
        package = next((each for each in listed if name.startswith(each)), None)
        for line, what in sorted(places(path.read_text("utf-8"))):
            if package is None:
                messages.append(f"desktop/{name}:{line}: {what}: {ADVICE}")
            else:
                used[package] += 1
    for package, (most, _why) in listed.items():
        if used[package] > most:
            messages.append(f"desktop/{package}: {used[package]} places, {most} are allowed: {ADVICE}")
        elif not used[package]:
            messages.append(f"desktop/{package}: nothing of the kind is left: remove it from LISTED")
    return messages


if __name__ == "__main__":
    found = problems()
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))
