"""Allow settings pages to construct controls only in the modules listed here, each with its reason.

    python packaging/check_settings_page_controls.py

Fails for any other module of ``desktop/settings/pages`` that constructs or subclasses a widget or layout of Qt or of
``desktop/widgets``, and for a listed one that no longer does. A page declares its sections: fields (``RowsPage``,
``FormPage``, ``ListFormPage``), texts, buttons and rows (``SettingsPage``). A picture or table has its own module.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

PAGES = Path(__file__).resolve().parent.parent / "app" / "atelier_desk" / "desktop" / "settings" / "pages"
LISTED: dict[str, str] = {}
"""Modules that construct controls, and why."""
QT, WIDGETS = "PySide6.QtWidgets", "atelier_desk.desktop.widgets"
FUNCTIONS = {"label"}
"""Functions of ``desktop/widgets`` that construct a control."""


def constructed(source: str) -> Iterator[tuple[int, str]]:
    """The lines of a module that construct or subclass a control, with its class or function."""
    tree = ast.parse(source)
    names = FUNCTIONS | {
        each.asname or each.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith((QT, WIDGETS))
        for each in node.names
        if each.name[0].isupper()
    }
    for node in ast.walk(tree):
        used = [node.func] if isinstance(node, ast.Call) else node.bases if isinstance(node, ast.ClassDef) else []
        for each in used:
            name = each.id if isinstance(each, ast.Name) else each.attr if isinstance(each, ast.Attribute) else ""
            of_module = isinstance(each, ast.Attribute) and ast.unparse(each.value).endswith("QtWidgets")
            if of_module or (isinstance(each, ast.Name) and name in names):
                yield each.lineno, name


def problems(pages: Path = PAGES, listed: Mapping[str, str] = LISTED) -> list[str]:
    """What is wrong, a line each."""
    messages, used = [], set()
    for path in sorted(pages.glob("*.py")):
        for line, what in constructed(path.read_text("utf-8")):
            used.add(path.name)
            if path.name not in listed:
                messages.append(f"{path.name}:{line}: {what}: declare it with SettingsPage, or list it in LISTED")
    return messages + [
        f"{name}: it constructs no control any more: remove it from LISTED" for name in sorted(set(listed) - used)
    ]


if __name__ == "__main__":
    found = problems()
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))
