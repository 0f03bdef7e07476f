"""The check that item delegates exist only in desktop/widgets and in listed modules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("from PySide6.QtWidgets import QListView, QStyledItemDelegate", "QStyledItemDelegate"),
        ("def f():\n    from PySide6.QtWidgets import QItemDelegate as Base", "QItemDelegate"),
        ("from PySide6 import QtWidgets as w\nclass Mine(w.QAbstractItemDelegate): ...", "QAbstractItemDelegate"),
        ("'QStyledItemDelegate'", None),
        ("from atelier_desk.desktop.widgets.list_rows import RowDelegate", None),
    ],
)
def test_a_qt_delegate_is_found(load: Callable[[str], ModuleType], source: str, what: str | None) -> None:
    assert {each for _line, each in load("check_item_delegates").delegates(source)} == ({what} if what else set())


def test_an_unlisted_module_and_an_unneeded_entry_are_reported(
    load: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    for name in ("desktop/widgets/list_rows.py", "desktop/new.py", "desktop/listed.py", "desktop/plain.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(
            "a = 1" if "plain" in name else "a = 1\nfrom PySide6.QtWidgets import QStyledItemDelegate"
        )
    found = load("check_item_delegates").problems(
        tmp_path, {"desktop/listed.py": "so", "desktop/plain.py": "so", "desktop/gone.py": "so"}
    )
    assert [each.partition(": ")[0] for each in found] == ["desktop/new.py:2", "desktop/gone.py", "desktop/plain.py"]
