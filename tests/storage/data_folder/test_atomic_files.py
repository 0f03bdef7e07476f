"""File names that stay in their folder, and atomic writes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.errors import UsageError
from atelier_desk.storage.data_folder import atomic_files
from atelier_desk.storage.data_folder.atomic_files import plain_name, write_atomic


@pytest.mark.parametrize("name", ["plan", "Plan 1", "été-2026_v1.2", "日本", "a" * 200])
def test_plain_names_are_accepted(name: str) -> None:
    assert plain_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        ".",
        "..",
        ".hidden",
        "a/b",
        "..\\a",
        "/etc/passwd",
        "C:x",
        "a\0b",
        "a\nb",
        "x.",
        " x",
        "x ",
        "con",
        "NUL.txt",
        "a*",
        "é" * 130,
    ],
)
def test_all_other_names_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="plain file name"):
        plain_name(name)


def test_a_name_too_long_for_a_file_system_is_refused() -> None:
    with pytest.raises(UsageError):
        plain_name("é" * 130)


@given(st.text(max_size=30))
def test_an_accepted_name_never_leaves_its_folder(name: str) -> None:
    try:
        accepted = plain_name(name)
    except UsageError:
        return
    assert (Path("/folder") / f"{accepted}.md").parent == Path("/folder")
    assert os.path.normpath(f"/folder/{accepted}.md") == f"/folder/{accepted}.md"


def test_writing_replaces_the_complete_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "new" / "file.md"
    write_atomic(target, b"one")
    write_atomic(target, b"two")
    assert target.read_bytes() == b"two"
    assert list(target.parent.iterdir()) == [target]


def test_a_failure_in_the_middle_leaves_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "file.md"
    write_atomic(target, b"old")

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        write_atomic(target, b"new")
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_staged_content_becomes_the_file_when_its_hash_matches(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    write_atomic(path, b"old")
    atomic_files.stage(path, b"new")
    assert atomic_files.read_hashed(path, atomic_files.sha256(b"old")) == b"old"
    assert atomic_files.read_hashed(path, atomic_files.sha256(b"other")) is None
    assert path.read_bytes() == b"old"
    assert atomic_files.read_hashed(path, atomic_files.sha256(b"new")) == b"new"
    assert [each.name for each in tmp_path.iterdir()] == ["x.md"]
    atomic_files.put_in_place(path)
    assert path.read_bytes() == b"new"


def test_a_missing_file_is_an_error_unless_its_content_is_staged(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    with pytest.raises(FileNotFoundError):
        atomic_files.read_hashed(path, atomic_files.sha256(b"new"))
    atomic_files.stage(path, b"new")
    with pytest.raises(FileNotFoundError):
        atomic_files.read_hashed(path, atomic_files.sha256(b"other"))
    assert atomic_files.read_hashed(path, atomic_files.sha256(b"new")) == b"new"


def test_remove_deletes_staged_content_too(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    atomic_files.stage(path, b"new")
    for _again in range(2):
        atomic_files.remove(path)
        assert list(tmp_path.iterdir()) == []
