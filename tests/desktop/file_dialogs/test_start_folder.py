"""The initial folder of file dialogs."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QStandardPaths
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.file_dialogs import start_folder
from atelier_desk.desktop.file_dialogs.open_save_confirm import ask_open, ask_save
from atelier_desk.desktop.sidebar.export_file_names import file_name


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_folder, "_last", None)


def test_a_dialog_starts_in_the_documents_and_later_in_the_last_used_folder(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents, other = tmp_path / "Documents", tmp_path / "other"
    documents.mkdir()
    other.mkdir()
    monkeypatch.chdir("/")
    monkeypatch.setattr(QStandardPaths, "writableLocation", lambda _kind: str(documents))
    window = QWidget()
    qtbot.addWidget(window)
    saved: list[Path] = []
    dialog = ask_save(window, "Save", "Plan.json", "JSON (*.json)", saved.append)
    assert Path(dialog.directory().absolutePath()) == documents
    assert [Path(each).name for each in dialog.selectedFiles()] == ["Plan.json"]
    dialog.fileSelected.emit(str(other / "Plan.json"))
    assert saved == [other / "Plan.json"]
    assert Path(ask_open(window, "Open", "JSON (*.json)", saved.append).directory().absolutePath()) == other


def test_without_a_documents_folder_it_starts_in_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QStandardPaths, "writableLocation", lambda _kind: str(tmp_path / "none"))
    assert start_folder.start_folder() == Path.home()


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("What is 12*7? a/b", "What is 12 7 a b"),
        ("Écris « ça »", "Écris ça"),
        ("???", "workflow"),
        ("con", "workflow"),
        ("word " * 40, " ".join(["word"] * 15)),
    ],
)
def test_a_suggested_file_name_is_valid_on_every_system(name: str, file: str) -> None:
    assert file_name(name) == file
