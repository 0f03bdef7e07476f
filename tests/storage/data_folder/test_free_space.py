"""Free space on the disk."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from atelier_desk.domain.errors import StorageError
from atelier_desk.storage import database_errors
from atelier_desk.storage.data_folder import database_preflight
from atelier_desk.storage.data_folder.free_space import free_bytes, free_files
from tests.helpers.error_codes import raises_code


def test_free_space_is_measured_at_the_nearest_existing_folder(tmp_path: Path) -> None:
    assert free_bytes(tmp_path / "not" / "yet") == pytest.approx(free_bytes(tmp_path), rel=0.05)


def disk(**files: int) -> SimpleNamespace:
    """A disk with 200 MB free."""
    return SimpleNamespace(f_frsize=1000, f_blocks=1_000_000, f_bfree=200_000, f_bavail=200_000, **files)


def test_a_disk_without_inodes_is_distinguished_from_a_full_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _path: disk(f_files=1000, f_favail=3))
    assert free_files(tmp_path) == 3
    with raises_code(StorageError, "disk_full", match="inodes are used up: 3 left"):
        database_preflight.check(tmp_path / "database")
    for told in (
        database_errors.from_os_error(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), tmp_path),
        database_errors.from_text("IO error: No space left on device", tmp_path),
    ):
        assert (told.code, "inodes" in str(told)) == ("disk_full", True)


def test_a_file_system_without_a_file_count_has_inodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _path: disk(f_files=0, f_favail=0))
    assert free_files(tmp_path) is None
    database_preflight.check(tmp_path / "database")
