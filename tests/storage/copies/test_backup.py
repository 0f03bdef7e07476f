"""A backup contains everything, is verified, and is restored completely."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
import shutil
import signal
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.errors import ConflictError, StorageError
from atelier_desk.domain.settings import Settings
from atelier_desk.domain.workflow import Report, Workflow
from atelier_desk.storage import database_errors
from atelier_desk.storage.copies import backup, backup_file
from atelier_desk.storage.copies import restore as restore_module
from atelier_desk.storage.copies.backup_file import BackupInfo, verify
from atelier_desk.storage.copies.progress_and_cancellation import TOTAL
from atelier_desk.storage.copies.restore import restore
from atelier_desk.storage.data_folder import database_preflight
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.data_folder.free_space import MIN_FREE_BYTES
from atelier_desk.storage.data_folder.lock import FolderLock
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.store import Store
from tests.helpers.error_codes import raises_code
from tests.helpers.manual_clock import ManualClock
from tests.storage.child_programs import run
from tests.storage.copies.killed_restores import check_killed_restore, fill
from tests.storage.damaged_databases import closed_database, cut, flip, only

pytestmark = pytest.mark.usefixtures("copied_databases")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[DataDir, BackupInfo]:
    """A data folder with a backup, made once because that takes most of the time."""
    datadir = DataDir(tmp_path_factory.mktemp("template") / "data").ensure()

    async def make() -> BackupInfo:
        async with await Store.open(datadir.database, clock=ManualClock()) as store:
            await fill(store, datadir)
            return await backup.create(store, datadir, datadir.backups / "mine.zip")

    return datadir, asyncio.run(make())


@pytest.fixture
def made(template: tuple[DataDir, BackupInfo], datadir: DataDir) -> BackupInfo:
    folder, info = template
    shutil.copytree(folder.root, datadir.root, dirs_exist_ok=True, symlinks=True)
    return replace(info, path=datadir.backups / "mine.zip")


async def test_create_counts_and_verify_agrees(made: BackupInfo) -> None:
    assert made.counts["workflow"] == made.counts["report"] == 1
    assert made.path.stat().st_size == made.size
    assert made.path.stat().st_mode & 0o777 == 0o600
    assert await verify(made.path) == made
    assert [path.name for path in made.path.parent.iterdir()] == ["mine.zip"]


async def test_a_backup_can_be_created_while_the_store_is_in_use(datadir: DataDir) -> None:
    async with await Store.open(datadir.database) as store:
        await fill(store, datadir)
        await backup.create(store, datadir, datadir.backups / "one.zip")
        await fill(store, datadir)
        second = await backup.create(store, datadir, datadir.backups / "two.zip")
    assert second.counts["workflow"] == 2


async def test_while_a_backup_is_packed_the_database_is_written_to_and_merged(
    datadir: DataDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    packing = backup_file.pack
    async with await Store.open(datadir.database) as store:
        workflow = await fill(store, datadir)
        repos = Repositories(store, datadir)
        held: list[set[int]] = []

        async def work() -> None:
            for number in range(3):
                await repos.workflows.create(Workflow(name=f"later {number}"))
                await repos.reports.save(Report(workflow_id=workflow.id, name="Plan"), f"plan {number}")
                await store.set_fsync(True)  # moves the log into the tables

        def pack(folders: Path, *given: Any) -> None:
            held.append({path.stat().st_ino for path in (folders / "database" / "sstables").iterdir()})
            asyncio.run_coroutine_threadsafe(work(), loop).result(60)
            packing(folders, *given)

        await store.set_fsync(True)
        there = {path.stat().st_ino for path in (datadir.database / "sstables").iterdir()}
        monkeypatch.setattr(backup, "pack", pack)
        made = await backup.create(store, datadir, tmp_path / "one.zip")
        assert (await store.counts())["workflow"] == 4
    assert there
    assert held == [there], "tables are not copied"
    assert made.complete
    assert made.counts["workflow"] == 1
    assert not list(datadir.root.glob("*ing-*"))
    await restore(made.path, datadir)
    async with await Store.open(datadir.database) as store:
        assert await store.query("SELECT VALUE name FROM workflow") == ["kept"]
        assert await Repositories(store, datadir).reports.read(workflow.id, "Plan") == "# The plan"


async def test_restore_brings_back_rows_and_reports_and_preserves_the_replaced_data(
    made: BackupInfo, datadir: DataDir
) -> None:
    async with await Store.open(datadir.database) as store:
        repos = Repositories(store, datadir)
        (workflow,) = await repos.workflows.list()
        await repos.reports.save(Report(workflow_id=workflow.id, name="Later"), "newer")
        await repos.workflows.update(workflow.id, name="changed")
    restored = await restore(made.path, datadir)
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
        ["attachments", "backup.key", "backups", "database", "exports", "logs", "models", "reports", "tools"]
    )


async def test_restore_with_the_backups_on_another_file_system(
    made: BackupInfo, datadir: DataDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    datadir.backups.rename(elsewhere)
    datadir.backups.symlink_to(elsewhere)
    rename = os.replace

    def replace(source: Path, target: Path) -> None:
        if len({elsewhere in (Path(each).parent.resolve() / "x").parents for each in (source, target)}) == 2:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        rename(source, target)

    monkeypatch.setattr(os, "replace", replace)
    restored = await restore(elsewhere / "mine.zip", datadir)
    async with await Store.open(datadir.database) as store:
        assert await store.query("SELECT VALUE name FROM workflow") == ["kept"]
    assert restored.replaced is not None
    assert restored.replaced.parent == datadir.root
    async with await Store.open(restored.replaced / "database") as store:
        assert await store.query("SELECT VALUE name FROM workflow") == ["kept"]
    assert not list(datadir.root.glob("*ing-*"))


async def test_a_folder_that_is_a_mount_point_is_refused_before_any_preparation(
    made: BackupInfo, datadir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.path.ismount", lambda path: Path(path) == datadir.reports)
    with raises_code(StorageError, "mounted", match="mounted disk"):
        await restore(made.path, datadir)
    assert not list(datadir.root.glob("*ing-*"))
    async with await Store.open(datadir.database) as store:
        assert await store.query("SELECT VALUE name FROM workflow") == ["kept"]


async def test_a_backup_that_would_fill_the_disk_is_not_unpacked(
    made: BackupInfo, datadir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_preflight, "free_bytes", lambda path: MIN_FREE_BYTES + 1000)
    with raises_code(StorageError, "disk_full"):
        await restore(made.path, datadir)
    assert not list(datadir.root.glob("*ing-*"))
    async with await Store.open(datadir.database) as store:
        assert (await store.counts())["workflow"] == 1


async def test_restore_into_an_empty_data_folder(made: BackupInfo, tmp_path: Path) -> None:
    other = DataDir(tmp_path / "other")
    restored = await restore(made.path, other, from_elsewhere=True)
    async with await Store.open(other.database) as store:
        assert (await store.counts())["workflow"] == 1
    assert restored.counts == made.counts


async def test_restore_replaces_a_damaged_database(made: BackupInfo, datadir: DataDir) -> None:
    flip(0.05)(only(datadir.database, "*.sst"))
    await restore(made.path, datadir)
    async with await Store.open(datadir.database) as store:
        assert (await store.counts())["workflow"] == 1


async def test_restore_refuses_while_the_data_is_in_use(made: BackupInfo, datadir: DataDir) -> None:
    async with await Store.open(datadir.database) as store:
        with raises_code(StorageError, "locked"):
            await restore(made.path, datadir)
        assert (await store.counts())["workflow"] == 1


@pytest.mark.parametrize("moves", [1, 4, 7])
async def test_a_killed_restore_is_completed_or_undone_at_the_next_start(
    made: BackupInfo, datadir: DataDir, moves: int
) -> None:
    await check_killed_restore(made, datadir, moves)


async def test_a_cancelled_restore_is_complete_or_not_started(made: BackupInfo, datadir: DataDir) -> None:
    job = asyncio.ensure_future(restore(made.path, datadir))
    while not list(datadir.root.glob("unpacking-*")):
        await asyncio.sleep(0)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert not list(datadir.root.glob("*ing-*"))
    assert not list(datadir.backups.glob("replaced-*"))
    async with await Store.open(datadir.database) as store:
        assert await store.query("SELECT VALUE name FROM workflow") == ["kept"]


async def test_a_restore_cancelled_while_it_unpacks_changes_nothing(made: BackupInfo, datadir: DataDir) -> None:
    told: list[int] = []

    def cancel(done: int, _total: int) -> None:
        told.append(done)
        job.cancel()

    job = asyncio.ensure_future(restore(made.path, datadir, progress=cancel))
    with pytest.raises(asyncio.CancelledError):
        await job
    assert max(told) < TOTAL
    assert not list(datadir.root.glob("*ing-*"))
    async with await Store.open(datadir.database) as store:
        assert await store.query("SELECT VALUE name FROM workflow") == ["kept"]


async def test_a_restore_cancelled_before_it_tells_of_the_whole_is_not_completed_by_the_next_start(
    made: BackupInfo, datadir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_ready, loop = restore_module.make_ready, asyncio.get_running_loop()
    told: list[int] = []
    job: asyncio.Future[BackupInfo]

    def make_ready(stage: Path) -> None:
        loop.call_soon_threadsafe(job.cancel)
        made_ready(stage)

    monkeypatch.setattr(restore_module, "make_ready", make_ready)
    async with await Store.open(datadir.database) as store:
        await store.query("UPDATE workflow SET name = 'newer'")
    job = asyncio.ensure_future(restore(made.path, datadir, progress=lambda done, _total: told.append(done)))
    with pytest.raises(asyncio.CancelledError):
        await job
    assert 1 not in told
    assert not list(datadir.root.glob("*ing-*"))
    async with await Store.open(datadir.database) as store:
        assert await store.query("SELECT VALUE name FROM workflow") == ["newer"]


@pytest.mark.parametrize("at", [0.0, backup.PACKED, 0.9])
async def test_a_cancelled_backup_leaves_no_file(datadir: DataDir, at: float) -> None:
    told: list[int] = []

    def cancel(done: int, total: int) -> None:
        told.append(done)
        if done >= at * total:
            job.cancel()

    async with await Store.open(datadir.database) as store:
        await fill(store, datadir)
        job = asyncio.ensure_future(backup.create(store, datadir, datadir.backups / "one.zip", progress=cancel))
        with pytest.raises(asyncio.CancelledError):
            await job
        await fill(store, datadir)
    assert told == sorted(told)
    assert not list(datadir.backups.iterdir())
    assert not list(datadir.root.glob("*ing-*"))


async def test_a_backup_cancelled_after_its_last_report_leaves_no_file(
    datadir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Syncing a large file takes seconds, in which the thread that writes it asks nobody."""
    packing, loop = backup_file.pack, asyncio.get_running_loop()
    job: asyncio.Future[BackupInfo]

    def pack(*given: Any) -> None:
        packing(*given)
        loop.call_soon_threadsafe(job.cancel)

    monkeypatch.setattr(backup, "pack", pack)
    async with await Store.open(datadir.database) as store:
        await fill(store, datadir)
        job = asyncio.ensure_future(backup.create(store, datadir, datadir.backups / "one.zip"))
        with pytest.raises(asyncio.CancelledError):
            await job
    assert not list(datadir.backups.iterdir())


@pytest.mark.parametrize("where", ["backups", "elsewhere"])
@pytest.mark.parametrize("share", [0.1, 0.5])
async def test_what_a_killed_backup_left_is_deleted_at_the_next_start(
    datadir: DataDir, tmp_path: Path, where: str, share: float
) -> None:
    await closed_database(datadir.database)
    folder = datadir.backups if where == "backups" else tmp_path / "elsewhere"
    ended = await asyncio.to_thread(run, "backup-until-killed", datadir.root, folder / "mine.zip", share)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    [left] = folder.iterdir()
    assert re.fullmatch(r"\.mine\.zip\..+\.tmp", left.name), "an unverified file is not called a backup"
    async with await Store.open(datadir.database):
        assert not list(folder.iterdir())
        assert not list(datadir.root.glob("*ing-*"))


async def test_a_note_never_has_another_file_deleted(datadir: DataDir, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    for number, noted in enumerate([bytes(tmp_path / "letter.txt"), b"\0", b""]):
        (datadir.root / f"backing-up-{number}").write_bytes(noted)
    async with await Store.open(datadir.database):
        assert (tmp_path / "letter.txt").read_text() == "dear"
        assert not list(datadir.root.glob("*ing-*"))


async def test_holding_writes_ends_at_the_next_file_when_cancelled(
    datadir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where files cannot have second names, all are copied then, while nothing can be written."""
    copied: list[str] = []
    loop = asyncio.get_running_loop()
    job: asyncio.Future[BackupInfo]

    def copy(source: Path, _target: Path) -> None:
        copied.append(source.name)
        loop.call_soon_threadsafe(job.cancel)
        time.sleep(0.2)

    monkeypatch.setattr(shutil, "copy2", copy)
    async with await Store.open(datadir.database) as store:
        await fill(store, datadir)
        job = asyncio.ensure_future(backup.create(store, datadir, datadir.backups / "one.zip"))
        with pytest.raises(asyncio.CancelledError):
            await job
    assert len(copied) == 1
    assert not list(datadir.root.glob("*ing-*"))


async def test_a_tool_is_copied_because_an_editor_may_write_it_in_place(datadir: DataDir, tmp_path: Path) -> None:
    (datadir.tools / "mine.py").write_text("as it was")
    datadir.database.mkdir(exist_ok=True)
    (datadir.database / "LOCK").write_text("held")
    await asyncio.to_thread(backup_file.hold, datadir.database, datadir.root, tmp_path / "stage")
    (datadir.tools / "mine.py").write_text("half wri")
    assert (tmp_path / "stage" / "tools" / "mine.py").read_text() == "as it was"
    assert not (tmp_path / "stage" / "database" / "LOCK").exists(), "on Windows nobody may read it while it is held"


async def test_a_backup_is_verified_in_the_data_folder_which_needs_the_room(
    datadir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await Store.open(datadir.database) as store:
        await fill(store, datadir)
        with monkeypatch.context() as patch:
            patch.setattr(database_preflight, "free_bytes", lambda path: MIN_FREE_BYTES + 1000)
            with pytest.raises(StorageError) as caught:
                await backup.create(store, datadir, datadir.backups / "one.zip")
    assert caught.value.code == "disk_full"
    assert Path(str(caught.value.params["path"])).is_relative_to(datadir.root)
    assert not list(datadir.backups.iterdir())


async def test_a_disk_that_fills_up_during_a_backup_says_what_the_backup_needs(
    datadir: DataDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (datadir.tools / "large.bin").write_bytes(os.urandom(3_000_000))

    def full(*_given: object) -> bytes:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async with await Store.open(datadir.database) as store:
        monkeypatch.setattr(backup_file, "_seal", full)
        monkeypatch.setattr(database_errors, "free_bytes", lambda path: 1_000_000)
        with pytest.raises(StorageError) as caught:
            await backup.create(store, datadir, tmp_path / "one.zip")
    assert (caught.value.code, caught.value.params["path"]) == ("disk_full", tmp_path / "one.zip")
    assert caught.value.params["free_mb"] == 4, "the unfinished file is deleted"
    assert caught.value.params["needed_mb"] == (3_000_000 + MIN_FREE_BYTES) // 1_000_000
    assert not list(tmp_path.glob(".one.zip.*"))


async def test_backups_with_one_target_at_once_do_not_write_into_one_file(datadir: DataDir, tmp_path: Path) -> None:
    target = tmp_path / "one.zip"
    async with await Store.open(datadir.database) as store:
        done = await asyncio.gather(
            *(backup.create(store, datadir, target) for _number in range(3)), return_exceptions=True
        )
        assert any(isinstance(each, BackupInfo) for each in done)
        assert all(isinstance(each, BackupInfo | ConflictError) for each in done), done
        await verify(target, datadir.root)
    assert not list(tmp_path.glob(".one.zip.*"))


async def test_what_a_killed_verification_unpacked_is_deleted_at_the_next_start(datadir: DataDir) -> None:
    left, present = (datadir.root / f"{backup_file.VERIFYING}{name}" for name in ("left", "present"))
    (left / "unpacked").mkdir(parents=True)
    lock = await FolderLock.acquire(present)
    async with await Store.open(datadir.database):
        assert not left.exists()
        assert present.exists(), "another process works there"
    lock.release()
    async with await Store.open(datadir.database):
        assert not present.exists()


async def test_what_cannot_be_locked_there_does_not_prevent_a_start(datadir: DataDir) -> None:
    left = datadir.root / f"{backup_file.VERIFYING}left"
    left.write_text("no folder; the folder of another user is refused alike")
    async with await Store.open(datadir.database):
        assert left.exists()


@pytest.mark.parametrize("damage", [flip(0.2), flip(0.6), cut(50), cut(2_000)], ids=["begin", "middle", "end", "half"])
async def test_a_damaged_backup_is_refused_and_nothing_changes(
    made: BackupInfo, datadir: DataDir, damage: object
) -> None:
    assert callable(damage)
    damage(made.path)
    with raises_code(StorageError, "damaged"):
        await verify(made.path)
    with raises_code(StorageError, "damaged"):
        await restore(made.path, datadir)
    async with await Store.open(datadir.database) as store:
        assert await store.query("SELECT VALUE name FROM workflow") == ["kept"]
    assert not list(datadir.root.glob("*ing-*"))


async def test_a_backup_that_lacks_rows_is_refused(made: BackupInfo, tmp_path: Path) -> None:
    changed = rewrite(made.path, tmp_path / "changed.zip", counts={**made.counts, "workflow": 5})
    with pytest.raises(StorageError, match="workflow: 1/5"):
        await verify(changed)


async def test_a_backup_of_a_newer_program_is_refused(made: BackupInfo, tmp_path: Path) -> None:
    with raises_code(StorageError, "newer_schema"):
        await verify(rewrite(made.path, tmp_path / "newer.zip", format=99))


async def test_names_that_leave_the_folder_are_refused(made: BackupInfo, tmp_path: Path) -> None:
    with zipfile.ZipFile(made.path, "a") as archive:
        archive.writestr("../../escaped", "x")
    with raises_code(StorageError, "damaged"):
        await verify(made.path)


@pytest.mark.parametrize("content", [b"", b"no zip at all"])
async def test_other_files_are_no_backups(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.zip").write_bytes(content)
    for path in (tmp_path / "x.zip", tmp_path / "missing.zip"):
        with raises_code(StorageError, "damaged"):
            await verify(path)


async def test_an_existing_file_is_never_overwritten(made: BackupInfo, datadir: DataDir) -> None:
    async with await Store.open(datadir.database) as store:
        with pytest.raises(ConflictError):
            await backup.create(store, datadir, made.path)


async def test_a_copy_that_does_not_match_is_deleted(
    tmp_path: Path, datadir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    await closed_database(datadir.database)
    pack: Any = backup_file.pack

    def pack_something_else(*given: Any) -> None:
        *places, manifest, report = given
        pack(*places, {**manifest, "counts": {"workflow": 1}}, report)

    monkeypatch.setattr(backup, "pack", pack_something_else)
    async with await Store.open(datadir.database) as store:
        with pytest.raises(StorageError, match="Try again"):
            await backup.create(store, datadir, tmp_path / "wrong.zip")
    assert not (tmp_path / "wrong.zip").exists()


async def test_a_backup_contains_everything_the_help_promises(datadir: DataDir, tmp_path: Path) -> None:
    (datadir.tools / "mine.py").write_text("print('mine')")
    (datadir.tools / "folder").mkdir()
    (datadir.tools / "folder" / "LOCK").write_bytes(b"a name that only the database's folder leaves out")
    (datadir.attachments / "été.png").write_bytes(bytes(range(256)))
    (datadir.models / "big.gguf").write_bytes(b"weights are downloaded again")
    async with await Store.open(datadir.database) as store:
        repos = Repositories(store, datadir)
        await repos.settings.save(Settings(font_scale=150, confirmed_tools={"mine.py": "hash"}))
        made = await backup.create(store, datadir, tmp_path / "b.zip")
    assert (
        made.files == len([path for path in datadir.database.rglob("*") if path.is_file() and path.name != "LOCK"]) + 3
    )
    (datadir.tools / "mine.py").write_text("changed")
    (datadir.tools / "later.py").write_text("later")
    (datadir.attachments / "été.png").unlink()
    restored = await restore(made.path, datadir)
    assert sorted(path.name for path in datadir.tools.rglob("*")) == ["LOCK", "folder", "mine.py"]
    assert (datadir.tools / "mine.py").read_text() == "print('mine')"
    assert (datadir.attachments / "été.png").read_bytes() == bytes(range(256))
    assert (datadir.models / "big.gguf").exists()
    assert restored.replaced is not None
    assert (restored.replaced / "tools" / "later.py").read_text() == "later"
    async with await Store.open(datadir.database) as store:
        settings = await Repositories(store, datadir).settings.load()
        assert (settings.font_scale, settings.confirmed_tools) == (150, {"mine.py": "hash"})


async def test_an_already_damaged_report_is_stored_and_named(datadir: DataDir, tmp_path: Path) -> None:
    async with await Store.open(datadir.database) as store:
        workflow = await fill(store, datadir)
        (datadir.reports / workflow.id / "Plan.md").write_text("# The plaN")
        made = await backup.create(store, datadir, tmp_path / "b.zip")
    assert made.damaged == (f"{workflow.id}/Plan.md",)
    assert (await verify(made.path)).damaged == made.damaged
    await restore(made.path, datadir)
    assert (datadir.reports / workflow.id / "Plan.md").read_text() == "# The plaN"


def test_a_flipped_bit_anywhere_is_found(datadir: DataDir, tmp_path: Path) -> None:
    """Both inside and outside what the zip's own checksums cover: names, times, flags, sizes, the seal itself."""
    (datadir.reports / "w").mkdir()
    (datadir.reports / "w" / "Plan.md").write_text("# The plan")
    path = tmp_path / "b.zip"
    backup_file.pack(datadir.root, datadir.root, path, {"format": 1, "schema": 1, "created_at": "", "counts": {}})
    whole = path.read_bytes()
    assert backup_file._unpack(path, new_folder(tmp_path / "whole"))["schema"] == 1
    for position in range(0, len(whole), 3):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << (position % 8)
        path.write_bytes(damaged)
        with pytest.raises(StorageError) as caught:
            backup_file._unpack(path, new_folder(tmp_path / "damaged"))
        assert caught.value.code in {"damaged", "newer_schema"}, position


async def test_a_damaged_file_is_named(made: BackupInfo, tmp_path: Path) -> None:
    with zipfile.ZipFile(made.path) as archive:
        name = next(item.filename for item in archive.infolist() if item.filename.endswith("Plan.md"))
    for content in (b"# The plaN", None):
        with pytest.raises(StorageError, match=name):
            await verify(rewrite(made.path, tmp_path / "changed.zip", {name: content}))


def new_folder(path: Path) -> Path:
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    return path


def rewrite(source: Path, target: Path, files: dict[str, bytes | None] | None = None, **changes: object) -> Path:
    """A copy of a backup with another list of contents, other files or (None) without them; its seal is valid."""
    with target.open("w+b") as file:
        with zipfile.ZipFile(source) as old, zipfile.ZipFile(file, "w") as new:
            for item in old.infolist():
                content = (files or {}).get(item.filename, old.read(item))
                if item.filename == backup_file.MANIFEST:
                    content = json.dumps({**json.loads(old.read(item)), **changes}).encode()
                if content is not None:
                    new.writestr(item, content)
            new.comment = bytes(backup_file.SEAL_BYTES)
        file.write(backup_file._seal(file))
    return target
