"""The lock of a data folder, whatever is deleted, forked or killed meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from atelier_desk.domain.errors import StorageError
from atelier_desk.storage.copies.restore import restore
from atelier_desk.storage.data_folder import lock
from atelier_desk.storage.data_folder.atomic_files import write_atomic
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.data_folder.lock import FolderLock, shielded
from atelier_desk.storage.store import Store
from tests.helpers.error_codes import raises_code
from tests.storage.child_programs import start
from tests.storage.damaged_databases import closed_database

if TYPE_CHECKING:
    import psutil

posix = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows locks a file, which cannot be deleted while it is open"
)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """In these tests no holder is about to release the lock."""
    monkeypatch.setattr(lock, "WAIT_S", 0.2)


async def refused(folder: Path) -> bool:
    try:
        (await FolderLock.acquire(folder)).release()
    except StorageError as error:
        return error.code == "locked" and error.recoverable and str(folder) in str(error)
    return False


async def test_the_lock_is_exclusive_and_can_be_acquired_again(tmp_path: Path) -> None:
    held = await FolderLock.acquire(tmp_path / "new" / "folder")
    assert await refused(tmp_path / "new" / "folder")
    held.release()
    held.release()
    assert not await refused(tmp_path / "new" / "folder")


async def test_a_store_holds_the_lock_until_closed_and_can_be_reopened(datadir: DataDir) -> None:
    for _ in range(2):
        async with await Store.open(datadir.database):
            assert await refused(datadir.root)
        assert not await refused(datadir.root)


async def test_a_store_that_cannot_be_opened_releases_the_lock(datadir: DataDir) -> None:
    datadir.database.mkdir()
    (datadir.database / "anything").touch()
    with pytest.raises(StorageError):
        await Store.open(datadir.database)
    assert not await refused(datadir.root)


async def test_cancelling_an_opening_closes_the_database_and_releases_the_lock(datadir: DataDir) -> None:
    await closed_database(datadir.database)
    for turns in (1, 5, 40, 200):
        job = asyncio.ensure_future(Store.open(datadir.database))
        for _ in range(turns):
            await asyncio.sleep(0)
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job
        await (await Store.open(datadir.database)).close()


@posix
@pytest.mark.parametrize("deleted", ["database/LOCK", ".lock", "holder.json"])
async def test_deleting_the_lock_file_does_not_let_a_second_process_in(datadir: DataDir, deleted: str) -> None:
    holder = await asyncio.to_thread(start, "hold", datadir.database)
    try:
        assert holder.stdout is not None
        assert (await asyncio.to_thread(holder.stdout.readline)).strip() == "open"
        (datadir.root / deleted).unlink(missing_ok=True)
        with raises_code(StorageError, "locked"):
            await Store.open(datadir.database)
    finally:
        await asyncio.to_thread(holder.communicate, "end\n", 30)


async def test_a_restore_and_an_opening_do_not_touch_a_locked_folder(datadir: DataDir, tmp_path: Path) -> None:
    """A swap in progress is left alone by a process without the lock."""
    (datadir.root / "restoring-1" / "database").mkdir(parents=True)
    (datadir.root / "unpacking-1").mkdir()
    held = await FolderLock.acquire(datadir.root)
    for attempt in (Store.open(datadir.database), restore(tmp_path / "any.zip", datadir)):
        with raises_code(StorageError, "locked"):
            await attempt
    held.release()
    assert sorted(path.name for path in datadir.root.glob("*ing-*")) == ["restoring-1", "unpacking-1"]
    assert not datadir.database.exists()


async def stopped_helper(holder: psutil.Process) -> psutil.Process:
    """A helper stopped while it reads. Each lives only briefly, and one that has not yet started its own program
    has all of its parent's descriptors open, so the end of the parent's output would not arrive before its own.
    """
    import psutil

    own = holder.cmdline()
    async with asyncio.timeout(30):
        while True:
            for child in holder.children():
                with contextlib.suppress(psutil.NoSuchProcess):
                    if child.cmdline() not in ([], own):
                        child.suspend()
                        while (status := child.status()) not in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE):
                            await asyncio.sleep(0.001)
                        if status == psutil.STATUS_STOPPED:
                            return child
            await asyncio.sleep(0.001)


@posix
async def test_the_lock_is_free_after_a_kill_of_the_holder_and_its_helper(datadir: DataDir) -> None:
    """The helper that reads the database holds the lock too, and ends by itself when its parent has died."""
    await closed_database(datadir.database)
    holder = await asyncio.to_thread(start, "verify-for-ever", datadir.database)
    assert holder.stdout is not None
    assert (await asyncio.to_thread(holder.stdout.readline)).strip() == "locked"
    import psutil

    try:
        helper = await stopped_helper(psutil.Process(holder.pid))
    finally:
        holder.kill()
    try:
        await asyncio.to_thread(holder.communicate, timeout=30)
        assert await refused(datadir.root), "the helper has the files open"
    finally:
        helper.resume()
    await asyncio.to_thread(helper.wait, 30)
    async with await Store.open(datadir.database) as store:
        assert (await store.counts())["workflow"] > 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
async def test_a_forked_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    code = (
        "import asyncio, os, sys, time\nfrom pathlib import Path\nfrom atelier_desk.storage.data_folder.lock import "
        "FolderLock\n"
        "lock = asyncio.run(FolderLock.acquire(Path(sys.argv[1])))\n"
        "if os.fork() == 0:\n    sys.stdin.read(1)\n    os._exit(0)\n"
        "print('forked', flush=True)\nos._exit(0)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    assert parent.stdout.readline().strip() == "forked"
    parent.wait(30)
    assert not await refused(tmp_path)
    parent.communicate("x", 30)


@posix
async def test_a_folder_that_cannot_be_locked_has_a_lock_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on NFS, where only a file open for writing can be locked."""
    import errno
    import fcntl

    real = fcntl.flock

    def flock(descriptor: int, operation: int) -> None:
        if not fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_RDWR:
            raise OSError(errno.EBADF, "Bad file descriptor")
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    held = await FolderLock.acquire(tmp_path)
    assert (tmp_path / lock.FILE).exists()
    assert await refused(tmp_path)
    held.release()
    assert not await refused(tmp_path)


async def test_a_cancelled_operation_waits_for_its_thread() -> None:
    import threading

    go, begun, ended = threading.Event(), asyncio.Event(), []
    loop = asyncio.get_running_loop()

    def work() -> None:
        loop.call_soon_threadsafe(begun.set)
        go.wait(30)
        ended.append(True)

    job = asyncio.ensure_future(shielded(work))
    await begun.wait()
    job.cancel()
    await asyncio.sleep(0)
    assert not job.done()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert ended


@pytest.mark.parametrize("way", ["renamed", "replaced"])
async def test_no_file_is_written_next_to_the_database_of_a_moved_folder(tmp_path: Path, way: str) -> None:
    lock = await FolderLock.acquire(tmp_path / "data")
    try:
        write_atomic(tmp_path / "data" / "reports" / "w" / "Plan.md", b"text")
        (tmp_path / "data").rename(tmp_path / "away")
        if way == "replaced":
            (tmp_path / "data").mkdir()
        with raises_code(StorageError, "moved"):
            write_atomic(tmp_path / "data" / "reports" / "w" / "Plan.md", b"other")
        assert (way == "replaced") == (tmp_path / "data").exists()
        assert not list(tmp_path.glob("data/*"))
        assert (tmp_path / "away" / "reports" / "w" / "Plan.md").read_bytes() == b"text"
        write_atomic(tmp_path / "elsewhere" / "file", b"text")
    finally:
        lock.release()
