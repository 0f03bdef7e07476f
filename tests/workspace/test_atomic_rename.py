"""Renames that never lose files of others: with the system call and without it."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from atelier_desk.workspace import atomic_rename


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "a").write_text("of a")
    (tmp_path / "b").write_text("of b")
    found = os.open(tmp_path, os.O_RDONLY)
    yield found
    os.close(found)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such call")
def test_two_files_are_exchanged_atomically_or_the_missing_one_is_named(folder: int, tmp_path: Path) -> None:
    assert atomic_rename.exchange(folder, "a", "b")
    assert [(tmp_path / name).read_text() for name in "ab"] == ["of b", "of a"]
    with pytest.raises(FileNotFoundError):
        atomic_rename.exchange(folder, "a", "gone")
    assert (tmp_path / "a").read_text() == "of b"


@pytest.mark.parametrize("call", [True, False], ids=["with the call", "without it"])
def test_an_existing_target_is_not_overwritten(
    folder: int, tmp_path: Path, call: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not call:
        monkeypatch.setattr(atomic_rename, "_renameat2", lambda: None)
        assert not atomic_rename.exchange(folder, "a", "b")
    with pytest.raises(FileExistsError):
        atomic_rename.rename_new(folder, "a", folder, "b")
    with pytest.raises(FileNotFoundError):
        atomic_rename.rename_new(folder, "gone", folder, "c")
    assert [(tmp_path / name).read_text() for name in "ab"] == ["of a", "of b"]
    atomic_rename.rename_new(folder, "a", folder, "c")
    assert sorted(each.name for each in tmp_path.iterdir() if each.is_file()) == ["b", "c"]


def test_a_failing_link_moves_nothing(folder: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_given: object, **_more: object) -> None:
        raise OSError(errno.EIO, "broken disk")

    monkeypatch.setattr(atomic_rename, "_renameat2", lambda: None)
    monkeypatch.setattr(os, "link", failing)
    with pytest.raises(OSError, match="broken disk"):
        atomic_rename.rename_new(folder, "a", folder, "c")
    assert (tmp_path / "a").read_text() == "of a"
    assert not (tmp_path / "c").exists()
