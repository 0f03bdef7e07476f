"""Permanently deleted data: where its bytes remain, and that compacting the database removes them from the disk."""

from __future__ import annotations

import asyncio
import json
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.memory import Memory, MemoryType
from atelier_desk.domain.workflow import Report, Workflow
from atelier_desk.storage import migration_registry
from atelier_desk.storage.copies import bounded_memory_reading
from atelier_desk.storage.copies.compact import compact
from atelier_desk.storage.data_folder import database_preflight
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.data_folder.free_space import MIN_FREE_BYTES
from atelier_desk.storage.database_engine import Engine
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.store import Store
from tests.helpers.error_codes import raises_code
from tests.storage.child_programs import content, run
from tests.storage.samples.unpack_sample import read_rows, rows_of, unpack

pytestmark = pytest.mark.usefixtures("copied_databases")

WORDS = (b"zebraquartz", b"okapigranite", b"lemurbasalt", b"tapirmarble")
"""In a small row, in one large enough for the value log, in a memory, and in a report."""


def left_of(root: Path) -> dict[str, str]:
    """By word, the last file that contains it."""
    return {word.decode(): name for name, data in content(root).items() for word in WORDS if word in data}


async def fill_and_purge(datadir: DataDir) -> None:
    """Write all of the words, check that they are on the disk, and delete them permanently; one workflow stays."""
    async with await Store.open(datadir.database) as store:
        repos = Repositories(store, datadir)
        await repos.workflows.create(Workflow(name="kept"))
        gone = await repos.workflows.create(Workflow(name="gone", draft=f"a {WORDS[0].decode()}"))
        long = await repos.workflows.create(Workflow(name="long", draft=WORDS[1].decode() * 2_000))
        memory = await repos.memories.save(Memory(type=MemoryType.USER_PREF, content=f"likes {WORDS[2].decode()}"))
        await repos.reports.save(Report(workflow_id=gone.id, name="Plan"), WORDS[3].decode())
        assert set(left_of(datadir.root)) == {word.decode() for word in WORDS}
        for each in (gone, long):
            await repos.workflows.purge(each.id)
        await repos.memories.delete(memory.id)
        await repos.memory_bin.delete(memory.id)


async def test_purged_text_is_on_the_disk_until_the_database_is_compacted(datadir: DataDir) -> None:
    await fill_and_purge(datadir)
    left = left_of(datadir.root)
    assert set(left) == {word.decode() for word in WORDS}
    places = ("database/", datadir.history_index.name)
    assert all(name.startswith(places) for name in left.values()), (
        "the file of a report goes at once; its words are in the index"
    )
    done = await compact(datadir)
    assert left_of(datadir.root) == {}
    assert done.after < done.before
    async with await Store.open(datadir.database) as store:
        assert [each.name for each in await Repositories(store, datadir).workflows.list()] == ["kept"]


async def test_every_row_of_a_days_work_survives(tmp_path: Path) -> None:
    datadir = DataDir(unpack(migration_registry.latest(), tmp_path / "sample") / "data").ensure()
    rows = json.loads((tmp_path / "sample" / "rows.json").read_text())
    told: list[tuple[int, int]] = []
    done = await compact(datadir, progress=lambda *share: told.append(share))
    assert done.rows == sum(map(len, rows.values()))
    assert told[-1] == (1, 1)
    assert told[:-1] == sorted(set(told[:-1]))
    assert {total for _done, total in told[:-1]} == {2 * done.rows + 1}
    async with await Store.open(datadir.database) as store:
        now = await rows_of(store.query_all)
        assert store.lost_commits == 0
    assert now == rows
    assert not list(datadir.root.glob("*ing-*"))
    assert not list(datadir.backups.glob("replaced-*"))


async def test_a_cancelled_compaction_changes_nothing(datadir: DataDir) -> None:
    await fill_and_purge(datadir)
    before = await read_rows(datadir.database)
    job: asyncio.Future[object]

    def cancel(_done: int, _total: int) -> None:
        job.cancel()

    job = asyncio.ensure_future(compact(datadir, progress=cancel))
    with pytest.raises(asyncio.CancelledError):
        await job
    assert await read_rows(datadir.database) == before
    assert not list(datadir.root.glob("*ing-*"))


async def test_both_databases_are_opened_anew_while_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    datadir = DataDir(unpack(migration_registry.latest(), tmp_path / "sample") / "data").ensure()
    opened: Counter[Path | None] = Counter()
    reopen = Engine.reopen

    async def counted(engine: Engine, **options: Any) -> None:
        opened[engine.path] += 1
        await reopen(engine, **options)

    monkeypatch.setattr(Engine, "reopen", counted)
    async with await Store.open(datadir.database) as store:
        monkeypatch.setattr(bounded_memory_reading, "CACHED_BYTES", store.size // 2)
    await compact(datadir)
    assert len(opened) == 2
    assert set(opened.values()) <= {2, 3, 4}, opened


async def test_an_open_folder_and_a_full_disk_are_refused(datadir: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    async with await Store.open(datadir.database):
        with raises_code(StorageError, "locked"):
            await compact(datadir)
    before = content(datadir.root)
    monkeypatch.setattr(database_preflight, "free_bytes", lambda path: MIN_FREE_BYTES + 1)
    with raises_code(StorageError, "disk_full"):
        await compact(datadir)
    assert content(datadir.root) == before


async def test_a_copy_that_differs_never_replaces_the_database(
    datadir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill_and_purge(datadir)
    before = await read_rows(datadir.database)
    real = migration_registry.Migrator.run

    async def forget(self: migration_registry.Migrator, sql: str, **params: object) -> list[object]:
        return await real(self, sql.replace("INTO workflow $rows", "INTO workflow []"), **params)

    with monkeypatch.context() as patch:
        patch.setattr(migration_registry.Migrator, "run", forget)
        with pytest.raises(StorageError) as caught:
            await compact(datadir)
    assert caught.value.code == "damaged"
    assert await read_rows(datadir.database) == before
    assert not list(datadir.root.glob("*ing-*"))


@pytest.mark.parametrize("step", [5, 60])
async def test_a_killed_compaction_loses_nothing(datadir: DataDir, step: int) -> None:
    await fill_and_purge(datadir)
    ended = await asyncio.to_thread(run, "compact-until-killed", datadir.root, step)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    async with await Store.open(datadir.database) as store:
        assert [each.name for each in await Repositories(store, datadir).workflows.list()] == ["kept"]
        assert store.lost_commits == 0
    assert not list(datadir.root.glob("*ing-*"))
