"""Checks before a directory is opened."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from atelier_desk.domain.errors import StorageError
from atelier_desk.storage.copies.database_inspection import inspect
from atelier_desk.storage.data_folder import database_preflight
from atelier_desk.storage.store import Store
from tests.helpers.error_codes import raises_code


def test_an_empty_or_missing_directory_is_accepted_and_created(tmp_path: Path) -> None:
    database_preflight.check(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


def test_files_of_atelier_do_not_count_as_content(tmp_path: Path) -> None:
    (tmp_path / "LOCK").touch()
    (tmp_path / "atelier-commits.json").touch()
    assert not database_preflight.has_content(tmp_path)
    database_preflight.check(tmp_path)


@pytest.mark.parametrize("left", ["wal/0.wal", "sstables/1.sst", "anything"])
def test_content_without_a_manifest_is_refused(tmp_path: Path, left: str) -> None:
    (tmp_path / left).parent.mkdir(exist_ok=True)
    (tmp_path / left).write_bytes(b"x")
    (tmp_path / "manifest").mkdir()
    with raises_code(StorageError, "missing_manifest") as caught:
        database_preflight.check(tmp_path)
    assert "backup restore" in str(caught.value)


def test_a_file_where_the_directory_should_be_is_reported(tmp_path: Path) -> None:
    (tmp_path / "database").write_text("")
    with pytest.raises(StorageError):
        database_preflight.check(tmp_path / "database")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_too_little_address_space_is_refused_instead_of_crashing(tmp_path: Path) -> None:
    script = (
        "import asyncio, resource, sys; from pathlib import Path\n"
        "from atelier_desk.storage.store import Store\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1_500_000_000, resource.RLIM_INFINITY))\n"
        "asyncio.run(Store.open(Path(sys.argv[1])))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "database")], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    assert "The address space limit (ulimit -v) is 1500 MB" in ran.stderr.splitlines()[-1]
    assert not (tmp_path / "database").exists()


async def test_a_clock_before_1970_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = tmp_path / "database"
    async with await Store.open(directory):
        pass
    monkeypatch.setattr(time, "time", lambda: -1.0)
    for attempt in (lambda: Store.open(directory), lambda: inspect(directory)):
        with raises_code(StorageError, "clock", match="before 1970"):
            await attempt()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
@pytest.mark.parametrize("room", [database_preflight.PROBE_BYTES, database_preflight.PROBE_BYTES - 1])
def test_closing_a_database_needs_room_to_open_it_again(tmp_path: Path, room: int) -> None:
    script = (
        "import resource, signal, sys; from pathlib import Path\n"
        "from atelier_desk.storage.data_folder import database_preflight\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))\n"
        "database_preflight.probe(Path(sys.argv[1]))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path), str(room)], capture_output=True, text=True, check=False
    )
    assert (ran.returncode == 0) == (room >= database_preflight.PROBE_BYTES), ran.stderr
    assert "StorageError" in ran.stderr or not ran.returncode
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="the system does not count what is written")
def test_room_is_reserved_and_not_filled(tmp_path: Path) -> None:
    def written() -> int:
        return int(Path("/proc/self/io").read_text().partition("wchar: ")[2].split()[0])

    before = written()
    database_preflight.probe(tmp_path)
    assert written() - before < 100_000


@pytest.mark.parametrize("code", [errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL])
def test_where_no_room_can_be_reserved_it_is_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def refused(*_: object) -> None:
        raise OSError(code, "not supported")

    monkeypatch.setattr(os, "posix_fallocate", refused, raising=False)
    written: list[int] = []

    def zeros(count: int) -> bytes:
        written.append(count)
        return b""

    monkeypatch.setattr(database_preflight, "bytes", zeros, raising=False)
    database_preflight.probe(tmp_path)
    assert written == [database_preflight.PROBE_BYTES]
    monkeypatch.setattr(os, "posix_fallocate", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
    with raises_code(StorageError, "disk_full"):
        database_preflight.probe(tmp_path)
