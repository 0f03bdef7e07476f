"""The log ahead of the tables: whole records in order, and nothing after a gap."""

from __future__ import annotations

from pathlib import Path

import pytest

from atelier_desk.domain.errors import StorageError
from atelier_desk.storage.ahead import NAMES, AheadLog


def reopened(directory: Path, applied: int = 0) -> tuple[list[tuple[int, bytes]], int]:
    log = AheadLog(directory, fsync=False)
    try:
        records, lost = log.read(applied)
        return [tuple(record) for record in records], lost
    finally:
        log.close()


def filled(directory: Path, count: int, *, fsync: bool = False) -> AheadLog:
    log = AheadLog(directory, fsync=fsync)
    log.read(0)
    for number in range(1, count + 1):
        assert log.append(f"record {number}".encode()) == number
    return log


def contents(*numbers: int) -> list[tuple[int, bytes]]:
    return [(number, f"record {number}".encode()) for number in numbers]


async def test_records_come_back_in_order_after_those_that_were_applied(tmp_path: Path) -> None:
    filled(tmp_path, 5).close()
    assert reopened(tmp_path) == (contents(1, 2, 3, 4, 5), 0)
    assert reopened(tmp_path, 3) == (contents(4, 5), 0)
    assert reopened(tmp_path, 9) == ([], 0)


@pytest.mark.parametrize("cut", range(1, 24))
async def test_a_record_cut_anywhere_was_never_kept(tmp_path: Path, cut: int) -> None:
    filled(tmp_path, 3).close()
    file = tmp_path / NAMES[0]
    file.write_bytes(file.read_bytes()[:-cut])
    assert reopened(tmp_path) == (contents(1, 2), 0)


async def test_a_changed_byte_ends_the_log_there(tmp_path: Path) -> None:
    filled(tmp_path, 3).close()
    file = tmp_path / NAMES[0]
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(bytes(data))
    assert reopened(tmp_path) == (contents(1), 0)


async def test_nothing_after_a_gap_is_used_and_it_is_counted(tmp_path: Path) -> None:
    """The database lost commits that the log no longer has: what came after them must not stand without them."""
    log = filled(tmp_path, 3)
    log.turn()
    log.append(b"record 4")
    log.close()
    (tmp_path / NAMES[0]).write_bytes(b"")
    assert reopened(tmp_path, 3) == (contents(4), 0)
    assert reopened(tmp_path, 1) == ([], 3)


async def test_one_file_is_emptied_while_the_other_grows(tmp_path: Path) -> None:
    log = filled(tmp_path, 3)
    log.turn()
    log.append(b"record 4")
    log.applied(2)
    assert reopened(tmp_path, 2) == (contents(3, 4), 0)
    log.applied(3)
    assert (tmp_path / NAMES[0]).stat().st_size == 0
    log.turn()
    log.append(b"record 5")
    assert reopened(tmp_path, 3) == (contents(4, 5), 0)
    log.applied(5)
    log.close()
    assert [(tmp_path / name).stat().st_size for name in NAMES] == [0, 0]


async def test_what_the_disk_does_not_take_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = filled(tmp_path, 1)

    def full(handle: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("atelier_desk.storage.ahead.os.write", full)
        with pytest.raises(StorageError) as caught:
            log.append(b"record 2")
    assert caught.value.code == "disk_full"
    assert log.append(b"record 2") == 2
    log.close()
    assert reopened(tmp_path) == (contents(1, 2), 0)


async def test_records_that_wait_together_share_a_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[list[int]] = []
    monkeypatch.setattr("atelier_desk.storage.ahead._sync", synced.append)
    log = filled(tmp_path, 4, fsync=True)
    await log.sync(4)
    await log.sync(2)
    assert len(synced) == 1
    log.append(b"record 5")
    await log.sync(5)
    assert len(synced) == 2
    log.close()


async def test_a_failed_sync_is_told_and_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = filled(tmp_path, 1, fsync=True)

    def broken(handles: list[int]) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("atelier_desk.storage.ahead._sync", broken)
        with pytest.raises(StorageError):
            await log.sync(1)
    synced: list[list[int]] = []
    monkeypatch.setattr("atelier_desk.storage.ahead._sync", synced.append)
    await log.sync(1)
    assert len(synced[0]) == 1
    log.close()
