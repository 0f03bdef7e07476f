"""Where rows and cells are painted: ``desktop/widgets``, and the modules listed here, each with its reason.

    python packaging/delegates.py

Fails for any other module that has an item delegate of Qt's, and for a listed one that no longer does. A row is a
``ListRow`` of ``desktop.widgets.list_rows``, a table is dressed by ``desktop.widgets.tables``: there are the looks, the
places of clicks, and the frame that shows where the keyboard is.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "app" / "atelier_desk"
ROOM = "desktop/widgets/"
LISTED = {"desktop/file_dialogs/translated_dialog.py": "Qt's own dialog, whose sizes and kinds get other words"}
"""Modules of the package, and why they have one of their own."""
DELEGATES = {"QStyledItemDelegate", "QItemDelegate", "QAbstractItemDelegate"}


def delegates(source: str) -> Iterator[tuple[int, str]]:
    """The lines of a module that name one of Qt's delegates."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(names=names):
                found = {each.name for each in names} & DELEGATES
            case ast.Attribute(attr=name):
                found = {name} & DELEGATES
            case _:
                continue
        yield from ((node.lineno, each) for each in sorted(found))


def problems(package: Path = PACKAGE, listed: Mapping[str, str] = LISTED) -> list[str]:
    """What is wrong, a line each."""
    said, used = [], set()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        if name.startswith(ROOM):
            continue
        for line, what in delegates(path.read_text("utf-8")):
            used.add(name)
            if name not in listed:
                said.append(
                    f"{name}:{line}: {what}: show a ListRow of desktop/widgets/list_rows, or say in LISTED why not"
                )
    return said + [f"{name}: it has no delegate any more: take it off the list" for name in sorted(set(listed) - used)]


if __name__ == "__main__":
    found = problems()
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))
