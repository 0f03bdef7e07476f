"""The data folder is private and in the chosen location."""

from __future__ import annotations

from pathlib import Path

import pytest

from atelier_desk.domain.errors import StorageError
from atelier_desk.storage.data_folder.datadir import DataDir, default_data_dir
from tests.helpers.error_codes import raises_code


def test_the_subfolders_are_created_for_the_owner_only(tmp_path: Path) -> None:
    datadir = DataDir(tmp_path / "deep" / "data").ensure()
    for folder in (
        datadir.root,
        datadir.reports,
        datadir.backups,
        datadir.logs,
        datadir.models,
        datadir.tools,
        datadir.attachments,
        datadir.exports,
    ):
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not datadir.database.exists(), (
        "the database makes its own folder, so that an empty one is never mistaken for it"
    )
    assert datadir.ensure() == datadir


def test_a_file_at_the_folders_path_is_reported(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with raises_code(StorageError, "read_only") as caught:
        DataDir(tmp_path / "data").ensure()
    assert str(tmp_path / "data") in str(caught.value)


def test_the_environment_chooses_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ATELIER_DATA_DIR", str(tmp_path / "mine"))
    assert default_data_dir() == tmp_path / "mine"


def test_otherwise_the_platform_chooses_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ATELIER_DATA_DIR")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_data_dir().name == "Atelier"
    assert default_data_dir().is_absolute()
