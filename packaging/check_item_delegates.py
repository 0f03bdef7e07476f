"""Allow Qt item delegates only in ``desktop/widgets`` and in the modules listed here, each with its reason.

    python packaging/check_item_delegates.py

Fails for any other module with an item delegate, and for a listed one that no longer has any. A row is a
``ListRow`` of ``desktop.widgets.list_rows``, and ``desktop.widgets.table_style`` styles tables: they define colours,
click areas and the focus frame.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "app" / "atelier_desk"
WIDGETS = "desktop/widgets/"
LISTED = {
    "desktop/file_dialogs/translated_dialog.py": "Qt's own dialog, whose file sizes and types are shown translated",
    "desktop/settings/model_table.py": "the type of a hint, in the signature of closeEditor",
    "desktop/sidebar/chat_rows.py": "rows with check boxes, which a ListRow does not have",
}
"""Modules of the package that have a delegate of their own, and why."""
DELEGATES = {"QStyledItemDelegate", "QItemDelegate", "QAbstractItemDelegate"}


def delegates(source: str) -> Iterator[tuple[int, str]]:
    """The lines of a module that name a Qt delegate."""
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
    messages, used = [], set()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        if name.startswith(WIDGETS):
            continue
        for line, what in delegates(path.read_text("utf-8")):
            used.add(name)
            if name not in listed:
                messages.append(
                    f"{name}:{line}: {what}: show a ListRow of desktop/widgets/list_rows, or list it in LISTED"
                )
    return messages + [
        f"{name}: it has no delegate any more: remove it from LISTED" for name in sorted(set(listed) - used)
    ]


if __name__ == "__main__":
    found = problems()
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))
