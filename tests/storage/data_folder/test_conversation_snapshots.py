"""Snapshot files of conversations: the newest two of a workflow, and no modified one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from atelier_desk.storage.data_folder import conversation_snapshots
from atelier_desk.storage.data_folder.conversation_snapshots import SnapshotFiles
from atelier_desk.storage.data_folder.datadir import DataDir


@pytest.fixture
def files(tmp_path: Path) -> SnapshotFiles:
    return SnapshotFiles(DataDir(tmp_path))


async def written(files: SnapshotFiles, tmp_path: Path, *runs: str) -> list[Path]:
    for number, run in enumerate(runs):
        await files.write("w", run, f"after {run}".encode() * 100)
        os.utime(tmp_path / "snapshots" / "w" / run, ns=(number, number))
    return sorted((tmp_path / "snapshots" / "w").iterdir())


async def test_the_newest_two_are_stored_and_read_the_newest_first(files: SnapshotFiles, tmp_path: Path) -> None:
    kept = await written(files, tmp_path, "c", "b", "a")
    assert [path.name for path in kept] == ["a", "b"]
    assert await files.read("w") == [b"after a" * 100, b"after b" * 100]
    assert await files.read("other") == []


@pytest.mark.parametrize("at", [0, 20, -1])
async def test_a_modified_file_is_skipped(files: SnapshotFiles, tmp_path: Path, at: int) -> None:
    newest = (await written(files, tmp_path, "b", "a"))[0]
    data = bytearray(newest.read_bytes())
    data[at] ^= 1
    newest.write_bytes(data)
    assert await files.read("w") == [b"after b" * 100]


async def test_a_deleted_file_is_gone_and_deleting_nothing_is_no_error(files: SnapshotFiles, tmp_path: Path) -> None:
    await written(files, tmp_path, "a")
    await files.remove("w")
    await files.remove("w")
    assert not (tmp_path / "snapshots" / "w").exists()


async def test_nothing_is_written_for_an_in_memory_database_or_a_too_large_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await SnapshotFiles(DataDir(tmp_path), kept=False).write("w", "a", b"text")
    monkeypatch.setattr(conversation_snapshots, "LARGEST", 3)
    await SnapshotFiles(DataDir(tmp_path)).write("w", "a", b"text")
    assert not (tmp_path / "snapshots").exists()


async def test_an_unwritable_folder_is_no_failure(files: SnapshotFiles, tmp_path: Path) -> None:
    (tmp_path / "snapshots").write_text("in the way")
    await files.write("w", "a", b"text")
    assert await files.read("w") == []
