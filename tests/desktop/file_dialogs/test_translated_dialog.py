"""File dialogs are translated."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import pytest
from PySide6.QtWidgets import (
    QFileDialog,
    QFileSystemModel,
    QLabel,
    QLineEdit,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.file_dialogs.open_save_confirm import ask_folder, ask_open, ask_save
from atelier_desk.desktop.settings.application_language import switch_language
from tests.helpers.child_widgets import child

ASKED = {
    "save": lambda parent: ask_save(parent, "T", "a.json", "JSON (*.json)", print),
    "open": lambda parent: ask_open(parent, "T", "JSON (*.json)", print),
    "folder": lambda parent: ask_folder(parent, "T", print),
}


@pytest.mark.parametrize("kind", ASKED)
def test_the_french_dialog_has_no_english_text(qtbot: QtBot, kind: str, tmp_path: Path) -> None:
    window = QWidget()
    window.resize(800, 500)
    qtbot.addWidget(window)
    switch_language("fr")
    dialog: QFileDialog = ASKED[kind](window)
    labels = {each.objectName(): each.text() for each in dialog.findChildren(QLabel)}
    assert labels["lookInLabel"] == "Voir dans\xa0:"
    assert labels["fileTypeLabel"] == "Fichiers de type\xa0:"
    tree = child(dialog, QTreeView, "treeView")
    delegate = tree.itemDelegateForColumn(2)
    assert isinstance(delegate, QStyledItemDelegate)
    assert delegate.displayText("Folder", dialog.locale()) == "Dossier"
    assert dialog.width() > 600
    assert dialog.width() <= window.width()
    dialog.close()
    switch_language("en")


def test_a_name_without_an_extension_gets_that_of_the_file_type(qtbot: QtBot, tmp_path: Path) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    saved: list[Path] = []
    for kind, ending in (("", ".json"), ("Markdown (*.md)", ".md")):
        dialog = ask_save(window, "T", "a.json", "JSON (*.json);;Markdown (*.md)", saved.append)
        if kind:
            dialog.selectNameFilter(kind)
            dialog.filterSelected.emit(kind)
        field = child(dialog, QLineEdit, "fileNameEdit")
        field.setText(str(tmp_path / "b"))
        dialog.accept()
        assert saved[-1] == tmp_path / f"b{ending}"


@pytest.mark.parametrize(("language", "written"), [("en", "1.5\u202fkB"), ("fr", "1,5\u202fko")])
def test_sizes_of_files_are_in_the_windows_language(qtbot: QtBot, tmp_path: Path, language: str, written: str) -> None:
    (tmp_path / "a.json").write_bytes(b"1" * 1536)
    (tmp_path / "folder").mkdir()
    window = QWidget()
    qtbot.addWidget(window)
    switch_language(language)
    dialog = ask_open(window, "T", "JSON (*.json)", print)
    dialog.setDirectory(str(tmp_path))
    tree = child(dialog, QTreeView, "treeView")
    qtbot.waitUntil(lambda: tree.model().rowCount(tree.rootIndex()) == 2)

    def shown(row: int) -> str:
        index = tree.model().index(row, 1, tree.rootIndex())
        option = QStyleOptionViewItem()
        delegate = tree.itemDelegateForIndex(index)
        assert isinstance(delegate, QStyledItemDelegate)
        delegate.initStyleOption(option, index)
        return str(option.text)

    assert sorted(shown(row) for row in range(2)) == ["", written]
    dialog.close()
    switch_language("en")


def test_a_folder_is_chosen_with_its_files_in_sight(qtbot: QtBot, tmp_path: Path) -> None:
    """Otherwise a folder of documents looks empty, and one wonders whether it is the right one."""
    (tmp_path / "offer.txt").write_text("x")
    window = QWidget()
    qtbot.addWidget(window)
    chosen: list[Path] = []
    dialog = ask_folder(window, "T", chosen.append)
    dialog.setDirectory(str(tmp_path))
    model = child(dialog, QFileSystemModel)
    root = model.index(str(tmp_path))
    qtbot.waitUntil(lambda: model.rowCount(root) == 1)
    assert model.index(0, 0, root).data() == "offer.txt"
    dialog.accept()
    assert chosen == [tmp_path]


@pytest.mark.parametrize(("language", "written"), [("en", "2026-03-02 09:30"), ("fr", "02/03/2026 à 09:30")])
def test_dates_of_files_are_in_the_windows_language(qtbot: QtBot, tmp_path: Path, language: str, written: str) -> None:
    file = tmp_path / "a.json"
    file.touch()
    seconds = datetime(2026, 3, 2, 9, 30).astimezone().timestamp()
    os.utime(file, (seconds, seconds))
    window = QWidget()
    qtbot.addWidget(window)
    switch_language(language)
    dialog = ask_open(window, "T", "JSON (*.json)", print)
    dialog.setDirectory(str(tmp_path))
    tree = child(dialog, QTreeView, "treeView")
    qtbot.waitUntil(lambda: tree.model().rowCount(tree.rootIndex()) == 1)
    option = QStyleOptionViewItem()
    index = tree.model().index(0, 3, tree.rootIndex())
    delegate = tree.itemDelegateForIndex(index)
    assert isinstance(delegate, QStyledItemDelegate)
    delegate.initStyleOption(option, index)
    dialog.close()
    switch_language("en")
    assert option.text == written
