from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog, QLabel, QLineEdit, QTreeView, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.settings.files import ask_folder, ask_open, ask_save
from atelier_desk.desktop.settings.language import switch_language

ASKED = {
    "save": lambda parent: ask_save(parent, "T", "a.json", "JSON (*.json)", print),
    "open": lambda parent: ask_open(parent, "T", "JSON (*.json)", print),
    "folder": lambda parent: ask_folder(parent, "T", print),
}


@pytest.mark.parametrize("kind", ASKED)
def test_in_french_nothing_of_it_is_english(qtbot: QtBot, kind: str, tmp_path: Path) -> None:
    window = QWidget()
    window.resize(800, 500)
    qtbot.addWidget(window)
    switch_language("fr")
    dialog: QFileDialog = ASKED[kind](window)
    labels = {each.objectName(): each.text() for each in dialog.findChildren(QLabel)}
    assert labels["lookInLabel"] == "Voir dans\xa0:"
    assert labels["fileTypeLabel"] == "Fichiers de type\xa0:"
    tree = dialog.findChild(QTreeView, "treeView")
    assert tree.itemDelegateForColumn(2).displayText("Folder", dialog.locale()) == "Dossier"
    assert dialog.width() > 600
    assert dialog.width() <= window.width()
    dialog.close()
    switch_language("en")


def test_a_name_without_an_ending_gets_that_of_the_kind(qtbot: QtBot, tmp_path: Path) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    saved: list[Path] = []
    for kind, ending in (("", ".json"), ("Markdown (*.md)", ".md")):
        dialog = ask_save(window, "T", "a.json", "JSON (*.json);;Markdown (*.md)", saved.append)
        if kind:
            dialog.selectNameFilter(kind)
            dialog.filterSelected.emit(kind)
        field = dialog.findChild(QLineEdit, "fileNameEdit")
        field.setText(str(tmp_path / "b"))
        dialog.accept()
        assert saved[-1] == tmp_path / f"b{ending}"
