"""Lost commits are noticed, damaged files are named, and nothing crashes the program."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from atelier_desk.domain.errors import StorageError
from atelier_desk.storage.store import Store
from atelier_desk.storage.writing import lost_commit_detection
from tests.helpers.error_codes import raises_code
from tests.storage.damaged_databases import COMMITS, ROWS, closed_database, cut, flip, killed_database, only, write_rows


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("killed") / "database"
    killed_database(directory)
    return directory


@pytest.fixture
def copy(killed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(killed, tmp_path / "database"))


async def open_and_count(directory: Path, *, accept_loss: bool = False) -> tuple[int, int]:
    async with await Store.open(directory, accept_loss=accept_loss) as store:
        rows = await store.query("SELECT * FROM workflow")
        return len(rows), store.lost_commits


async def test_a_kill_loses_nothing(copy: Path) -> None:
    assert await open_and_count(copy) == (ROWS, 0)


@pytest.mark.parametrize(
    "damage",
    [flip(0.5), flip(0.97), cut(40), cut(10_000), Path.unlink],
    ids=["middle", "end", "cut", "cut more", "gone"],
)
async def test_a_damaged_log_is_refused_with_the_number_of_lost_commits(
    copy: Path, damage: Callable[[Path], None]
) -> None:
    damage(only(copy, "*.wal"))
    with raises_code(StorageError, "damaged") as caught:
        await Store.open(copy)
    lost = caught.value.params["count"]
    assert isinstance(lost, int)
    assert 0 < lost <= ROWS + 1, "besides the rows, the first opening writes once"
    assert "backup restore" in str(caught.value)


async def test_the_remaining_data_can_be_used_when_the_loss_is_accepted(copy: Path) -> None:
    cut(40)(only(copy, "*.wal"))
    rows, lost = await open_and_count(copy, accept_loss=True)
    assert (rows, lost) == (ROWS - 1, 1)
    assert await open_and_count(copy) == (ROWS - 1, 0), "accepted once is accepted for good"


async def test_commits_that_were_not_synced_may_be_lost_without_refusal(copy: Path) -> None:
    cut(40)(only(copy, "*.wal"))
    noted = json.loads((copy / COMMITS).read_text())
    (copy / COMMITS).write_text(json.dumps({**noted, "fsync": False}))
    assert await open_and_count(copy) == (ROWS - 1, 1)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"commits": "x"}', "\0" * 64])
async def test_an_unreadable_commit_file_proves_nothing(copy: Path, content: str) -> None:
    (copy / COMMITS).write_text(content)
    assert await open_and_count(copy) == (ROWS, 0)


@pytest.mark.parametrize("part", [0.0, 0.3, 0.5, 0.8, 0.99])
async def test_a_damaged_manifest_gives_an_error_and_no_crash(copy: Path, part: float) -> None:
    """A flipped length makes the engine allocate gigabytes and abort; only the helper process dies."""
    flip(part)(only(copy, "*.manifest"))
    with raises_code(StorageError, "damaged"):
        await Store.open(copy)


@pytest.mark.parametrize("damage", [cut(10), Path.unlink], ids=["cut", "gone"])
async def test_a_truncated_or_missing_manifest_is_refused(copy: Path, damage: Callable[[Path], None]) -> None:
    damage(only(copy, "*.manifest"))
    with pytest.raises(StorageError) as caught:
        await Store.open(copy)
    assert caught.value.code in {"damaged", "missing_manifest"}


@pytest.mark.parametrize(
    "damage",
    [flip(0.05), flip(0.4), flip(0.999), cut(30), Path.unlink],
    ids=["begin", "middle", "footer", "cut", "gone"],
)
async def test_a_damaged_table_file_gives_an_error_when_it_is_opened_or_read(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    directory = tmp_path / "database"
    await closed_database(directory)
    damage(only(directory, "*.sst"))
    with raises_code(StorageError, "damaged"):
        await open_and_count(directory)


async def test_the_manifest_is_recorded_after_closing_and_after_a_kill(copy: Path, tmp_path: Path) -> None:
    assert lost_commit_detection.manifest_known(copy)
    await closed_database(tmp_path / "closed")
    assert lost_commit_detection.manifest_known(tmp_path / "closed")
    only(copy, "*.manifest").write_bytes(b"other")
    assert not lost_commit_detection.manifest_known(copy)


async def test_a_failure_to_record_the_number_does_not_fail_the_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(descriptor: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    async with await Store.open(tmp_path / "database") as store:
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            await write_rows(store)
        assert len(await store.query("SELECT id FROM workflow")) == ROWS
    assert "No space left" in caplog.text
    assert await open_and_count(tmp_path / "database") == (ROWS, 0)
