"""Opening, refusing and crash safety of the store."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.workflow import Workflow
from atelier_desk.storage import database_engine, tables
from atelier_desk.storage.data_folder import database_preflight
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.repositories.base_repository import upsert
from atelier_desk.storage.store import Statement, Store
from tests.helpers.error_codes import raises_code
from tests.storage.child_programs import run, start


async def names(store: Store) -> list[str]:
    return sorted(await store.query("SELECT VALUE name FROM workflow"))


async def test_a_cancelled_request_does_not_interrupt_a_reopening(
    datadir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search gives memory back so, and each key pressed cancels the search before."""
    disconnect = database_engine._disconnect
    ended: list[str] = []

    async def slow(connection: Any) -> None:
        job.cancel()
        await asyncio.sleep(0.05)
        await disconnect(connection)
        ended.append("closed")

    async with await Store.open(datadir.database) as store:
        with monkeypatch.context() as patch:
            patch.setattr(database_engine, "_disconnect", slow)
            job = asyncio.ensure_future(store.release_read_memory())
            with pytest.raises(asyncio.CancelledError):
                await job
        assert ended == ["closed"]
        assert await store.query("RETURN [1]") == [1]


async def test_written_data_is_there_after_reopening(datadir: DataDir) -> None:
    async with await Store.open(datadir.database) as store:
        await store.write(upsert(tables.WORKFLOWS, Workflow(name="kept")))
    async with await Store.open(datadir.database) as store:
        assert await names(store) == ["kept"]
        assert store.lost_commits == 0


@pytest.mark.parametrize("name", ["with blank", "été", "100%", "a#b", "q&x=1"])
async def test_any_folder_name_works(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name / "database"
    async with await Store.open(folder) as store:
        await store.write(upsert(tables.WORKFLOWS, Workflow(name="here")))
    assert database_preflight.manifest_exists(folder)


async def test_a_folder_name_the_engine_does_not_support_is_refused(tmp_path: Path) -> None:
    with raises_code(StorageError, "bad_path"):
        await Store.open(tmp_path / "why?" / "database")


async def test_a_failing_statement_raises_even_before_the_last(store: Store) -> None:
    with raises_code(StorageError, "query") as caught:
        await store.query("SELECT * FROM nowhere; RETURN 1")
    assert "nowhere" in str(caught.value)


async def test_a_syntax_error_raises(store: Store) -> None:
    with pytest.raises(StorageError, match="Parse error"):
        await store.query("SELECT * FROM")


async def test_unknown_columns_and_wrong_types_are_refused(store: Store) -> None:
    for content in ({"value": 5}, {"value": "x", "unknown": 1}):
        with pytest.raises(StorageError):
            await store.write(Statement("CREATE setting CONTENT $content", {"content": content}))


async def test_values_are_never_executed_as_statements(store: Store) -> None:
    name = "x'; DELETE workflow; --"
    await store.write(upsert(tables.WORKFLOWS, Workflow(name=name)))
    assert await store.query("SELECT VALUE name FROM workflow WHERE name = $name", name=name) == [name]


async def test_a_closed_store_raises_and_closing_twice_does_nothing() -> None:
    store = await Store.open(None)
    await store.close()
    await store.close()
    with pytest.raises(StorageError, match="closed"):
        await store.query("RETURN 1")
    with pytest.raises(StorageError, match="closed"):
        await store.write(upsert(tables.WORKFLOWS, Workflow(name="late")))


async def test_a_second_process_is_told_who_holds_the_data(datadir: DataDir) -> None:
    holder = start("hold", datadir.database)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == "open"
        with raises_code(StorageError, "locked") as caught:
            await Store.open(datadir.database)
        assert "--data-dir" in str(caught.value)
    finally:
        holder.communicate("end\n", timeout=30)
    async with await Store.open(datadir.database) as store:
        assert await names(store) == ["held"]


@pytest.mark.parametrize("fsync", [True, False])
async def test_acknowledged_commits_survive_kill_9(datadir: DataDir, fsync: bool) -> None:
    writer = start("write-until-killed", datadir.database, "fsync" if fsync else "no-fsync")
    assert writer.stdout is not None
    acknowledged = [int(writer.stdout.readline()) for _ in range(40)]
    writer.kill()
    rest, _ = writer.communicate(timeout=30)
    acknowledged += [int(line) for line in rest.split() if line.strip().isdigit()]
    async with await Store.open(datadir.database) as store:
        found = [int(name) for name in await names(store)]
        assert store.lost_commits == 0
    assert set(acknowledged) <= set(found)
    assert sorted(found) == list(range(len(found))), "commits are kept in order, without holes"


async def test_a_read_only_folder_is_named() -> None:
    """In a separate folder: root may write anywhere, so the program becomes another user, who may not enter a
    test's folder.
    """
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        result = run("open-as-other-user", folder)
        Path(folder).chmod(0o755)
    assert result.stdout.strip() == "read_only"


async def test_a_full_disk_is_noticed_before_anything_is_written(
    datadir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_preflight, "free_bytes", lambda path: 5_000_000)
    with raises_code(StorageError, "disk_full") as caught:
        await Store.open(datadir.database)
    assert "5 MB" in str(caught.value)
    assert not database_preflight.has_content(datadir.database)


async def test_writes_above_the_file_size_limit_are_reported_and_acknowledged_ones_stay(tmp_path: Path) -> None:
    result = run("fill-limited-file", tmp_path / "database")
    code, acknowledged = result.stdout.split()
    assert code == "file_too_large"
    async with await Store.open(tmp_path / "database") as store:
        assert len(await names(store)) >= int(acknowledged) > 0


async def test_opening_does_not_block_the_loop(datadir: DataDir) -> None:
    """The constructor takes 80–550 ms in a thread; the loop continues meanwhile."""
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counter = asyncio.ensure_future(count_turns())
    store = await Store.open(datadir.database)
    counter.cancel()
    await store.close()
    assert turns > 50


async def test_counts_include_all_tables(repos: Repositories) -> None:
    await repos.workflows.create(Workflow(name="one"))
    counts = await repos.store.counts()
    assert counts["workflow"] == 1
    assert sorted(counts) == await repos.store.tables()


def test_importing_storage_is_light() -> None:
    heavy = ("numpy", "surrealdb", "PySide6")
    imported = ", ".join(("sys", "atelier_desk.storage.repositories", "atelier_desk.storage.copies.restore"))
    code = f"import {imported}; print([m for m in {heavy} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.strip() == "[]"


async def test_a_new_folder_is_synced_before_its_first_commit_is_acknowledged(
    datadir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []

    def cut_off(folder: Path) -> None:
        synced.append(folder)
        if len(synced) == 1:
            raise OSError(5, "the disk went away")

    monkeypatch.setattr("atelier_desk.storage.store.sync_tree", cut_off)
    with pytest.raises(StorageError):
        await Store.open(datadir.database)
    for _start in range(2):
        async with await Store.open(datadir.database) as store:
            await store.write(upsert(tables.WORKFLOWS, Workflow(name="first")))
            assert set(await store.tables()) >= {"workflow", "run", "run_event"}
    assert synced == [datadir.database] * 2, "the start that was cut off and the one after it; never again"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows renames no folder with open files")
def test_nothing_is_written_once_the_folder_was_replaced(tmp_path: Path) -> None:
    """Every way and a step that writes; every step where the folder is gone, and where another is in its place."""
    ways = ("renamed", "replaced", "replaced by a link", "database replaced", "deleted")
    cases = [f"{how}: commit" for how in ways]
    cases += [f"{how}: {then}" for how in ("renamed", "replaced") for then in ("query", "reopen", "close")]
    done = run("folder-is-moved", tmp_path, *cases)
    expected = [
        f"{case} {['moved'] if case.endswith('close') else ['moved', 'moved']} [] "
        f"{not case.startswith(('renamed', 'deleted'))}"
        for case in cases
    ]
    assert done.stdout.splitlines() == expected, done.stderr
    assert done.returncode == 0


async def test_a_folder_moved_during_opening_is_reported_as_moved(
    datadir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await Store.open(datadir.database) as store:
        await store.write(upsert(tables.WORKFLOWS, Workflow(name="kept")))
    check, elsewhere = database_preflight.check, datadir.root.with_name("elsewhere")

    def moved(directory: Path) -> None:
        check(directory)
        datadir.root.rename(elsewhere)
        datadir.database.mkdir(parents=True)
        (datadir.database / "manifest").mkdir()

    monkeypatch.setattr(database_preflight, "check", moved)
    with raises_code(StorageError, "moved"):
        await Store.open(datadir.database)
    monkeypatch.undo()
    async with await Store.open(elsewhere / datadir.database.name) as store:
        assert await names(store) == ["kept"]
