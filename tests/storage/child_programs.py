"""Small programs that tests start as separate processes: to hold a lock, to be killed, to run out of space."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.workflow import Report, Workflow
from atelier_desk.storage import tables
from atelier_desk.storage.copies import backup
from atelier_desk.storage.copies.compact import compact
from atelier_desk.storage.copies.database_inspection import inspect
from atelier_desk.storage.copies.restore import restore
from atelier_desk.storage.data_folder import atomic_files
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.data_folder.lock import FolderLock
from atelier_desk.storage.migration_registry import Migrator
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.repositories.base_repository import upsert
from atelier_desk.storage.store import Store
from atelier_desk.storage.writing import writer
from tests.helpers.forked_workers import ROOT, ForkedWorker

NOBODY = 65534
LIFE_S = 150
"""No program outlives its test, even when it hangs or the test fails to kill it."""


def start(program: str, *arguments: object) -> subprocess.Popen[str]:
    """Start one of the programs below with its standard streams as pipes."""
    return ForkedWorker(
        _command(program, *arguments), cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip


def run(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run one of the programs to its end."""
    command = _command(program, *arguments)
    with ForkedWorker(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            out, err = process.communicate(timeout=90)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def _command(program: str, *arguments: object) -> list[str]:
    return [sys.executable, "-u", "-m", "tests.storage.child_programs", program, *map(str, arguments)]


async def hold(directory: Path) -> None:
    """Keep a database open until a line is read."""
    async with await Store.open(directory) as store:
        await store.write(upsert(tables.WORKFLOWS, Workflow(name="held")))
        print("open", flush=True)
        await asyncio.to_thread(sys.stdin.readline)


async def measure_opening(directory: Path) -> None:
    """Open a database and print by how many bytes the memory of the process has grown."""
    await (await Store.open(None)).close()  # loads every module
    before = psutil.Process().memory_info().rss
    async with await Store.open(directory):
        print(psutil.Process().memory_info().rss - before, flush=True)


async def write_until_killed(directory: Path, fsync: str) -> None:
    """Commit one workflow after the other, named by consecutive numbers, and print each number after its commit."""
    store = await Store.open(directory, fsync=fsync == "fsync")
    number = 0
    while True:
        await store.write(upsert(tables.WORKFLOWS, Workflow(name=str(number))))
        print(number, flush=True)
        number += 1


async def open_as_other_user(directory: Path) -> None:
    """Print the error code of opening as a user without write permission."""
    await (await Store.open(None)).close()  # loads every module while they may be read
    await asyncio.to_thread(print, end="")
    if os.geteuid() == 0:
        os.setegid(NOBODY)
        os.seteuid(NOBODY)
    try:
        await Store.open(directory / "database")
    except StorageError as error:
        print(error.code)


async def fill_limited_file(directory: Path) -> None:
    """Write until no file may grow any more; print the error's code and the number of acknowledged commits."""
    store = await Store.open(directory)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
    acknowledged = 0
    try:
        while True:
            await store.write(upsert(tables.WORKFLOWS, Workflow(name=str(acknowledged), draft="x" * 10_000)))
            acknowledged += 1
    except StorageError as error:
        print(error.code, acknowledged, flush=True)
    os._exit(0)


async def save_report_until(root: Path, point: str) -> None:
    """Save a report, save it again, and be killed when the new content is ``staged`` or its row ``committed``."""
    datadir = DataDir(root)
    repos = Repositories(await Store.open(datadir.database), datadir)
    workflow = await repos.workflows.create(Workflow(name="w"))
    report = Report(workflow_id=workflow.id, name="Plan")
    await repos.reports.save(report, "old")
    stage = atomic_files.stage

    def die(*_given: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def stage_and_die(path: Path, data: bytes) -> None:
        stage(path, data)
        die()

    if point == "staged":
        atomic_files.stage = stage_and_die
    else:
        atomic_files.put_in_place = die  # type: ignore[assignment]
    await repos.reports.save(report, "new")


async def write_with_a_failing_log(directory: Path) -> None:
    """Write while the engine's log may not grow, then without the limit, and be killed; print the outcome of each
    write.
    """
    store = await Store.open(directory)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    for number in range(60):
        if number == 10:
            resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, limits[1]))
        if number == 50:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        try:
            await store.write(upsert(tables.WORKFLOWS, Workflow(name=str(number), draft=os.urandom(5_000).hex())))
            print("acknowledged", number, flush=True)
        except StorageError as error:
            print(error.code, number, error.recoverable, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


async def write_with_no_file_to_open(directory: Path) -> None:
    """Write, and reopen, while no further file can be opened; print the outcome."""
    writer.LOG_MAX_BYTES = 0
    store = await Store.open(directory)
    await store.write(upsert(tables.WORKFLOWS, Workflow(name="before")))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (max(int(each.name) for each in Path("/dev/fd").iterdir()) - 8, limits[1])
    )
    for number in range(3):
        await store.write(upsert(tables.WORKFLOWS, Workflow(name=f"meanwhile {number}")))
    print(sorted(await store.query("SELECT VALUE name FROM workflow")), flush=True)
    await store.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(list(Path("/dev/fd").iterdir())) + 2, limits[1]))
    try:
        await Store.open(directory)
    except StorageError as error:
        print(error.code, error.recoverable, flush=True)
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    async with await Store.open(directory) as store:
        print(sorted(await store.query("SELECT VALUE name FROM workflow")), flush=True)


def die_after(steps: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Turn functions into steps: just before the given call of any of them (1 is the first) the process dies."""
    left = steps

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **options)

        return step

    return counted


async def restore_until_killed(root: Path, archive: str, moves: str) -> None:
    """Restore a backup and die just before the given one of its moves of a folder; print when there was no such
    move.
    """
    counted = die_after(int(moves))
    Path.replace = counted(Path.replace)  # type: ignore[method-assign]
    shutil.rmtree = counted(shutil.rmtree)  # type: ignore[assignment]
    await restore(Path(archive), DataDir(root))
    print("whole", flush=True)


async def upgrade_until_killed(root: Path, steps: str) -> None:
    """Open a database of an older schema and die before the given step: a copy, a request, a move or deletion of a
    folder.
    """
    counted = die_after(int(steps))
    shutil.copytree = counted(shutil.copytree)
    Migrator.run = counted(Migrator.run)  # type: ignore[method-assign]
    Path.replace = counted(Path.replace)  # type: ignore[method-assign]
    shutil.rmtree = counted(shutil.rmtree)  # type: ignore[assignment]
    await (await Store.open(root / "database")).close()
    print("whole", flush=True)


async def compact_until_killed(root: Path, steps: str) -> None:
    """Compact a database and die before the given step: a request, a move or deletion of a folder."""
    counted = die_after(int(steps))
    Migrator.run = counted(Migrator.run)  # type: ignore[method-assign]
    Path.replace = counted(Path.replace)  # type: ignore[method-assign]
    shutil.rmtree = counted(shutil.rmtree)  # type: ignore[assignment]
    await compact(DataDir(root))
    print("whole", flush=True)


async def backup_until_killed(root: Path, target: str, share: str) -> None:
    """Back up a data folder and die when that share of the work (0 to 1) is done."""

    def progress(done: int, total: int) -> None:
        if done >= float(share) * total:
            os.kill(os.getpid(), signal.SIGKILL)

    async with await Store.open(root / "database") as store:
        await backup.create(store, DataDir(root), Path(target), progress=progress)


def content(root: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(file.relative_to(root)): file.read_bytes() for file in sorted(root.rglob("*")) if file.is_file()}


async def write_while_the_folder_is_moved(top: Path, *cases: str) -> None:
    """Move a data folder away, or put another in its place, while transactions are committed. Print, for each case
    (how it is moved and a step that follows), the error codes of the step and of closing, and the files that changed
    afterwards in any folder.
    """
    for number, case in enumerate(cases):
        how, then = case.split(": ")
        print(case, *await _moved(top / str(number), how, then))


async def _moved(top: Path, how: str, then: str) -> tuple[list[str], list[str], bool]:
    root, other, aside = top / "data", top / "other", top / "aside"
    directory = root / "database"
    async with await Store.open(other / "database", fsync=False) as store:
        await store.write(upsert(tables.WORKFLOWS, Workflow(name="another")))
    store = await Store.open(directory, fsync=False)
    acknowledged = 0

    async def load() -> None:
        nonlocal acknowledged
        with contextlib.suppress(StorageError):
            while True:
                await store.write(upsert(tables.WORKFLOWS, Workflow(name=str(acknowledged))))
                acknowledged += 1

    loads = [asyncio.create_task(load()) for _ in range(4)]
    while acknowledged < 20:
        await asyncio.sleep(0)
    match how:
        case "renamed":
            root.rename(aside)
        case "replaced":
            root.rename(aside)
            other.rename(root)
        case "replaced by a link":
            root.rename(aside)
            root.symlink_to(other)
        case "database replaced":
            directory.rename(aside)
            (other / "database").rename(directory)
        case "deleted":
            shutil.rmtree(root)
    there = [folder for folder in (root, aside, other) if folder.exists()]
    before = [content(folder) for folder in there]
    steps: dict[str, Callable[[], Any]] = {
        "commit": lambda: store.write(upsert(tables.WORKFLOWS, Workflow(name="late"))),
        "query": lambda: store.query("SELECT * FROM workflow"),
        "reopen": lambda: store.set_fsync(True),
        "close": store.close,
    }
    codes = []
    for step in (steps[then], store.close):
        try:
            await step()
        except StorageError as error:
            codes.append(error.code)
    await asyncio.gather(*loads)
    changed = [
        name
        for was, now in zip(before, map(content, there), strict=True)
        for name in {*was, *now}
        if was.get(name) != now.get(name)
    ]
    return codes, sorted(changed), root.exists()


async def verify_endlessly(directory: Path) -> None:
    """Hold the folder's lock and let a helper process read the database in a loop."""
    lock = await FolderLock.acquire(directory.parent)
    print("locked", flush=True)
    while True:
        await inspect(directory, lock=lock)


PROGRAMS: dict[str, Callable[..., Any]] = {
    "hold": hold,
    "measure-opening": measure_opening,
    "write-until-killed": write_until_killed,
    "open-as-other-user": open_as_other_user,
    "fill-limited-file": fill_limited_file,
    "save-report-until": save_report_until,
    "failing-log": write_with_a_failing_log,
    "no-file-to-open": write_with_no_file_to_open,
    "restore-until-killed": restore_until_killed,
    "upgrade-until-killed": upgrade_until_killed,
    "backup-until-killed": backup_until_killed,
    "compact-until-killed": compact_until_killed,
    "verify-for-ever": verify_endlessly,
    "folder-is-moved": write_while_the_folder_is_moved,
}

if __name__ == "__main__":
    signal.alarm(LIFE_S)
    name, directory, *rest = sys.argv[1:]
    asyncio.run(PROGRAMS[name](Path(directory), *rest))
