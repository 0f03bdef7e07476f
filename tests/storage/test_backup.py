"""A backup holds everything, is proven, and comes back whole."""

from __future__ import annotations

import asyncio
import json
import signal
import zipfile
from pathlib import Path

import pytest

from atelier_desk.domain.errors import ConflictError, StorageError
from atelier_desk.domain.workflow import Report, Workflow
from atelier_desk.storage import backup
from atelier_desk.storage.datadir import DataDir
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.store import Store
from tests.storage.damage import closed_database, cut, flip, only
from tests.storage.programs import run
from tests.support.clock import ManualClock


async def fill(store: Store, datadir: DataDir) -> Workflow:
    repos = Repositories(store, datadir)
    workflow = await repos.workflows.create(Workflow(name="kept"))
    await repos.reports.save(Report(workflow_id=workflow.id, name="Plan"), "# The plan")
    return workflow


@pytest.fixture
async def made(datadir: DataDir, clock: ManualClock) -> backup.BackupInfo:
    async with await Store.open(datadir.database, clock=clock) as store:
        await fill(store, datadir)
        return await backup.create(store, datadir, datadir.backups / "mine.zip")


async def test_create_counts_and_verify_agrees(made: backup.BackupInfo) -> None:
    assert made.counts["workflow"] == made.counts["report"] == 1
    assert made.path.stat().st_size == made.size
    assert made.path.stat().st_mode & 0o777 == 0o600
    assert await backup.verify(made.path) == made
    assert [path.name for path in made.path.parent.iterdir()] == ["mine.zip"]


async def test_a_backup_is_made_while_the_store_is_in_use(datadir: DataDir) -> None:
    async with await Store.open(datadir.database) as store:
        await fill(store, datadir)
        await backup.create(store, datadir, datadir.backups / "one.zip")
        await fill(store, datadir)
        second = await backup.create(store, datadir, datadir.backups / "two.zip")
    assert second.counts["workflow"] == 2


async def test_restore_brings_rows_and_reports_back_and_keeps_what_it_replaced(made: backup.BackupInfo, datadir: DataDir) -> None:
    async with await Store.open(datadir.database) as store:
        repos = Repositories(store, datadir)
        (workflow,) = await repos.workflows.list()
        await repos.reports.save(Report(workflow_id=workflow.id, name="Later"), "newer")
        await repos.workflows.update(workflow.id, name="changed")
    restored = await backup.restore(made.path, datadir)
    async with await Store.open(datadir.database) as store:
        repos = Repositories(store, datadir)
        (workflow,) = await repos.workflows.list()
        assert workflow.name == "kept"
        assert await repos.reports.read(workflow.id, "Plan") == "# The plan"
        assert not (datadir.reports / workflow.id / "Later.md").exists()
    assert restored.replaced is not None
    async with await Store.open(restored.replaced / "database") as store:
        assert await store.query("SELECT VALUE name FROM workflow") == ["changed"]
    assert (restored.replaced / "reports" / workflow.id / "Later.md").read_text() == "newer"
    assert sorted(path.name for path in datadir.root.iterdir()) == sorted(
        ["attachments", "backups", "database", "exports", "logs", "models", "reports", "tools"]
    )


async def test_restore_into_an_empty_data_folder(made: backup.BackupInfo, tmp_path: Path) -> None:
    other = DataDir(tmp_path / "other")
    restored = await backup.restore(made.path, other)
    async with await Store.open(other.database) as store:
        assert (await store.counts())["workflow"] == 1
    assert restored.counts == made.counts


async def test_restore_replaces_a_damaged_database(made: backup.BackupInfo, datadir: DataDir) -> None:
    flip(0.05)(only(datadir.database, "*.sst"))
    await backup.restore(made.path, datadir)
    async with await Store.open(datadir.database) as store:
        assert (await store.counts())["workflow"] == 1


async def test_restore_refuses_while_the_data_is_in_use(made: backup.BackupInfo, datadir: DataDir) -> None:
    async with await Store.open(datadir.database) as store:
        with pytest.raises(StorageError) as caught:
            await backup.restore(made.path, datadir)
        assert caught.value.code == "locked"
        assert (await store.counts())["workflow"] == 1


MOVES = 7
"""Moves and deletions of folders in a restore of a database and reports: 1 ready, 2 unpacking gone, 3 to 6 the swap, 7 ready gone."""


@pytest.mark.parametrize("moves", [1, 4, 6])
async def test_a_restore_that_was_killed_is_finished_or_taken_back_at_the_next_start(
    made: backup.BackupInfo, datadir: DataDir, moves: int
) -> None:
    await check_killed_restore(made, datadir, moves)


async def check_killed_restore(made: backup.BackupInfo, datadir: DataDir, moves: int) -> None:
    """Kill a restore before one of its moves: the next start has the old data whole or the new, and nothing half done is left."""
    async with await Store.open(datadir.database) as store:
        repos = Repositories(store, datadir)
        (workflow,) = await repos.workflows.list()
        await repos.workflows.update(workflow.id, name="changed")
        await repos.reports.save(Report(workflow_id=workflow.id, name="Plan"), "newer")
    killed = await asyncio.to_thread(run, "restore-until-killed", datadir.root, made.path, moves)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    datadir.ensure()  # every start makes the folders that are missing
    async with await Store.open(datadir.database) as store:
        repos = Repositories(store, datadir)
        (workflow,) = await repos.workflows.list()
        found = workflow.name, await repos.reports.read(workflow.id, "Plan")
        new = moves > 1
        assert found == (("kept", "# The plan") if new else ("changed", "newer"))
    assert not list(datadir.root.glob("*ing-*"))
    replaced = list(datadir.backups.glob("replaced-*"))
    assert len(replaced) == new
    if new:
        assert (replaced[0] / "reports" / workflow.id / "Plan.md").read_text() == "newer"
        async with await Store.open(replaced[0] / "database") as store:
            assert await store.query("SELECT VALUE name FROM workflow") == ["changed"]


async def test_a_restore_that_is_cancelled_is_whole_or_not_begun(made: backup.BackupInfo, datadir: DataDir) -> None:
    job = asyncio.ensure_future(backup.restore(made.path, datadir))
    while not list(datadir.root.glob("unpacking-*")):
        await asyncio.sleep(0)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert not list(datadir.root.glob("*ing-*"))
    assert not list(datadir.backups.glob("replaced-*"))
    async with await Store.open(datadir.database) as store:
        assert await store.query("SELECT VALUE name FROM workflow") == ["kept"]


@pytest.mark.parametrize("damage", [flip(0.2), flip(0.6), cut(50), cut(2_000)], ids=["begin", "middle", "end", "half"])
async def test_a_damaged_backup_is_refused_and_nothing_changes(made: backup.BackupInfo, datadir: DataDir, damage: object) -> None:
    assert callable(damage)
    damage(made.path)
    with pytest.raises(StorageError) as caught:
        await backup.verify(made.path)
    assert caught.value.code == "damaged"
    with pytest.raises(StorageError) as caught:
        await backup.restore(made.path, datadir)
    assert caught.value.code == "damaged"
    async with await Store.open(datadir.database) as store:
        assert await store.query("SELECT VALUE name FROM workflow") == ["kept"]
    assert not list(datadir.root.glob("*ing-*"))


async def test_a_backup_that_lacks_rows_is_refused(made: backup.BackupInfo, tmp_path: Path) -> None:
    changed = rewrite(made.path, tmp_path / "changed.zip", counts={**made.counts, "workflow": 5})
    with pytest.raises(StorageError, match="workflow: 1/5"):
        await backup.verify(changed)


async def test_a_backup_of_a_newer_program_is_refused(made: backup.BackupInfo, tmp_path: Path) -> None:
    with pytest.raises(StorageError) as caught:
        await backup.verify(rewrite(made.path, tmp_path / "newer.zip", format=99))
    assert caught.value.code == "newer_schema"


async def test_names_that_leave_the_folder_are_refused(made: backup.BackupInfo, tmp_path: Path) -> None:
    with zipfile.ZipFile(made.path, "a") as archive:
        archive.writestr("../../escaped", "x")
    with pytest.raises(StorageError) as caught:
        await backup.verify(made.path)
    assert caught.value.code == "damaged"


@pytest.mark.parametrize("content", [b"", b"no zip at all"])
async def test_other_files_are_no_backups(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.zip").write_bytes(content)
    for path in (tmp_path / "x.zip", tmp_path / "missing.zip"):
        with pytest.raises(StorageError) as caught:
            await backup.verify(path)
        assert caught.value.code == "damaged"


async def test_an_existing_file_is_never_overwritten(made: backup.BackupInfo, datadir: DataDir) -> None:
    async with await Store.open(datadir.database) as store:
        with pytest.raises(ConflictError):
            await backup.create(store, datadir, made.path)


async def test_a_copy_that_does_not_match_is_deleted(tmp_path: Path, datadir: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    await closed_database(datadir.database)
    pack = backup._pack

    def pack_something_else(database: Path, reports: Path, target: Path, manifest: dict[str, object]) -> None:
        pack(database, reports, target, {**manifest, "counts": {"workflow": 1}})

    monkeypatch.setattr(backup, "_pack", pack_something_else)
    async with await Store.open(datadir.database) as store:
        with pytest.raises(StorageError, match="Try again"):
            await backup.create(store, datadir, tmp_path / "wrong.zip")
    assert not (tmp_path / "wrong.zip").exists()


def rewrite(source: Path, target: Path, **changes: object) -> Path:
    """A copy of a backup with another list of contents."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for item in old.infolist():
            content = old.read(item)
            if item.filename == backup.MANIFEST:
                content = json.dumps({**json.loads(content), **changes}).encode()
            new.writestr(item, content)
    return target
