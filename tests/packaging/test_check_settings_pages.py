"""The check that settings pages declare their controls, and only listed ones construct some."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("from PySide6.QtWidgets import QPushButton\nmade = QPushButton()", "QPushButton"),
        ("from PySide6.QtWidgets import QPushButton as B\ndef f():\n    return control(B(self), 'a')", "B"),
        ("from PySide6 import QtWidgets\nQtWidgets.QGridLayout()", "QGridLayout"),
        ("from atelier_desk.desktop.widgets import label\nlabel('a')", "label"),
        ("from atelier_desk.desktop.widgets.flow_layout import FlowLayout\nFlowLayout()", "FlowLayout"),
        ("from atelier_desk.desktop.widgets.wheel_safe_inputs import SpinBox\nclass Box(SpinBox): ...", "SpinBox"),
        ("from PySide6.QtWidgets import QWidget\ndef f(parent: QWidget) -> None: ...", None),
        ("from PySide6.QtWidgets import QApplication\nQApplication.clipboard()", None),
        ("from atelier_desk.desktop.widgets import bind_text\nbind_text(self.a)", None),
        ("from atelier_desk.desktop.settings.usage_table import UsageTable\nUsageTable(self)", None),
    ],
)
def test_a_constructed_control_is_found(load: Callable[[str], ModuleType], source: str, what: str | None) -> None:
    found = {each for _line, each in load("check_settings_page_controls").constructed(source)}
    assert found == ({what} if what else set())


def test_an_unlisted_page_and_an_unneeded_entry_are_reported(load: Callable[[str], ModuleType], tmp_path: Path) -> None:
    for name in ("new.py", "listed.py", "plain.py"):
        (tmp_path / name).write_text(
            "a = 1" if name == "plain.py" else "from PySide6.QtWidgets import QLabel\na = QLabel()"
        )
    found = load("check_settings_page_controls").problems(
        tmp_path, {"listed.py": "so", "plain.py": "so", "gone.py": "so"}
    )
    assert [each.partition(": ")[0] for each in found] == ["new.py:2", "gone.py", "plain.py"]
