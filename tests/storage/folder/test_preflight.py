"""What is looked at before a directory is opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from atelier_desk.domain.errors import StorageError
from atelier_desk.storage.folder import preflight


def test_an_empty_or_missing_directory_is_fine_and_made(tmp_path: Path) -> None:
    preflight.check(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


def test_files_of_our_own_are_no_content(tmp_path: Path) -> None:
    (tmp_path / "LOCK").touch()
    (tmp_path / "atelier-commits.json").touch()
    assert not preflight.has_content(tmp_path)
    preflight.check(tmp_path)


@pytest.mark.parametrize("left", ["wal/0.wal", "sstables/1.sst", "anything"])
def test_content_without_a_manifest_is_refused(tmp_path: Path, left: str) -> None:
    (tmp_path / left).parent.mkdir(exist_ok=True)
    (tmp_path / left).write_bytes(b"x")
    (tmp_path / "manifest").mkdir()
    with pytest.raises(StorageError) as caught:
        preflight.check(tmp_path)
    assert caught.value.code == "missing_manifest"
    assert "backup restore" in str(caught.value)


def test_a_file_where_the_directory_should_be_is_reported(tmp_path: Path) -> None:
    (tmp_path / "database").write_text("")
    with pytest.raises(StorageError):
        preflight.check(tmp_path / "database")
