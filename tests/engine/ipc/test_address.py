"""The socket of the holder, and the file that names it."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import pytest

from atelier_desk.domain.errors import StorageError
from atelier_desk.engine.ipc.address import (
    NOTE,
    SOCKET_PATH_BYTES,
    HolderNote,
    read_note,
    remove_note,
    socket_address,
    write_note,
)
from tests.helpers.error_codes import raises_code

NOTE_VALUE = HolderNote("/tmp/x.sock", "secret-token", 42, "0.1.0")


def test_a_short_path_is_used_unchanged(tmp_path: Path) -> None:
    assert socket_address(tmp_path, Path("/d/atelier.sock")) == "/d/atelier.sock"


def test_a_long_path_uses_a_private_runtime_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = Path("/tmp") / f"rt-{os.getpid()}"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    root = tmp_path / ("x" * 120)
    try:
        found = Path(socket_address(root, root / "atelier.sock"))
        assert len(os.fsencode(found)) <= SOCKET_PATH_BYTES
        assert found.parent == runtime / "atelier"
        assert stat.S_IMODE(found.parent.stat().st_mode) == 0o700
        other = root / "y"
        assert socket_address(other, other / "atelier.sock") != str(found)
    finally:
        (runtime / "atelier").rmdir()
        runtime.rmdir()


def test_a_runtime_folder_of_another_user_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    real = Path.mkdir

    def in_tmp(self: Path, *args: object, **options: object) -> None:
        if str(self).startswith("/tmp/atelier-"):
            raise OSError("refused for this test")
        real(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "mkdir", in_tmp)
    root = tmp_path / ("x" * 120)
    with raises_code(StorageError, "socket_path"):
        socket_address(root, root / "atelier.sock")


def test_the_address_file_is_private_and_can_be_read(tmp_path: Path) -> None:
    write_note(tmp_path, NOTE_VALUE)
    assert read_note(tmp_path) == NOTE_VALUE
    assert stat.S_IMODE((tmp_path / NOTE).stat().st_mode) == 0o600
    remove_note(tmp_path, NOTE_VALUE)
    assert read_note(tmp_path) is None


def test_the_address_file_of_another_process_is_left_alone(tmp_path: Path) -> None:
    write_note(tmp_path, NOTE_VALUE)
    remove_note(tmp_path, HolderNote("/tmp/x.sock", "other", 43, "0.1.0"))
    assert read_note(tmp_path) == NOTE_VALUE


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"address": "x"}', '{"address": "x", "token": "t", "pid": "no", "version": "1"}']
)
def test_a_damaged_address_file_counts_as_missing(tmp_path: Path, content: str) -> None:
    (tmp_path / NOTE).write_text(content)
    assert read_note(tmp_path) is None
