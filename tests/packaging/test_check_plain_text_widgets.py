"""The check that untrusted texts reach no widget that takes them for HTML."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("QLabel(name)", "QLabel"),
        ("QtWidgets.QLabel(self)", "QLabel"),
        ("class Name(QLabel): ...", "QLabel"),
        ("QMessageBox.warning(self, title, text)", "warning"),
        ("QInputDialog.getText(self, title, text)", "getText"),
        ("QMessageBox(self)", "QMessageBox"),
        ("QStaticText(name)", "QStaticText"),
        ("view.setHtml(text)", "setHtml"),
        ("row.setToolTip(name)", "setToolTip"),
        ("row.setToolTip(visible(name))", "setToolTip"),
        ("row.setToolTip(0, f'{name}')", "setToolTip"),
        ("row.setToolTip(_('Open {name}', name=name))", "setToolTip"),
        ("QToolTip.showText(at, name, self)", "showText"),
        ("def f():\n    if role == Qt.ItemDataRole.ToolTipRole:\n        return name", "ToolTipRole"),
        ("def f():\n    if role in {Role.EditRole, Role.ToolTipRole}:\n        return visible(name)", "ToolTipRole"),
        ("values = {Qt.ItemDataRole.ToolTipRole: name}", "ToolTipRole"),
        ("PlainLabel(name); MessageBox(self, 'x'); label(name)", None),
        ("def f(box: QMessageBox) -> QLabel: return box.findChild(QLabel)", None),
        ("QMessageBox.ButtonRole.YesRole; QTextEdit.ExtraSelection()", None),
        ("row.setToolTip(plain_tip(name)); row.setToolTip(''); row.setToolTip(_('Open'))", None),
        ("row.setToolTip(plain_tip(name) if name else _('Open'))", None),
        ("QToolTip.showText(at, plain_tip(name), self)", None),
        ("values = {Qt.ItemDataRole.ToolTipRole: plain_tip(name)}", None),
    ],
)
def test_a_text_that_may_become_html_is_found(load: Callable[[str], ModuleType], source: str, what: str | None) -> None:
    assert {each for _line, each in load("check_plain_text_widgets").places(source)} == ({what} if what else set())


def test_unlisted_places_tips_and_unneeded_entries_are_reported(
    load: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    (tmp_path / "new.py").write_text("a = QLabel(name)")
    (tmp_path / "listed.py").write_text("a = QLabel(name)\nb.setToolTip(name)")
    found = load("check_plain_text_widgets").problems(tmp_path, {"listed.py": "so", "gone.py": "so"})
    places = [each.partition(": ")[0] for each in found]
    assert places == ["desktop/listed.py:2", "desktop/new.py:1", "desktop/gone.py"]
