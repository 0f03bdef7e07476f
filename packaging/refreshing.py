"""What the window shows follows language, theme and scale in one way: ``say`` and ``bind`` of
``desktop/widgets/words``.

    python packaging/refreshing.py

Fails for a module of the desktop that does it otherwise: with a method ``retranslate`` or ``restyle``, by the event of
another language, or by the theme's signal. The rooms listed here may do it so many times, each with its reason; the
numbers only go down.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

DESKTOP = Path(__file__).resolve().parent.parent / "app" / "atelier_desk" / "desktop"
ROOMS = ("widgets/", "theme/")
"""Where the one way is."""
LISTED = {
    "settings/": (
        18,
        "pages that become forms, which follow by themselves; and the switch of the language, which sends Qt's event",
    )
}
"""Rooms of the desktop: how many places, and why."""
ADVICE = "bind what is shown, with say or bind of desktop/widgets/words"
NAMES = ("retranslate", "restyle")


def places(source: str) -> Iterator[tuple[int, str]]:
    """The lines of a module that follow a change in a way of their own, with what does."""
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
    said, used = [], Counter[str]()
    for path in sorted(desktop.rglob("*.py")):
        name = path.relative_to(desktop).as_posix()
        if name.startswith(ROOMS):
            continue
        room = next((each for each in listed if name.startswith(each)), None)
        for line, what in sorted(places(path.read_text("utf-8"))):
            if room is None:
                said.append(f"desktop/{name}:{line}: {what}: {ADVICE}")
            else:
                used[room] += 1
    for room, (most, _why) in listed.items():
        if used[room] > most:
            said.append(f"desktop/{room}: {used[room]} places, {most} are listed: {ADVICE}")
        elif not used[room]:
            said.append(f"desktop/{room}: nothing of the kind is left: take it off the list")
    return said


if __name__ == "__main__":
    found = problems()
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))
