"""Small programs that tests start in processes of their own: to hold a lock, to be killed, to run out of space."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.events import RunEvent, UserMessage
from atelier_desk.domain.workflow import Message, MessageRole, Run, Workflow
from atelier_desk.storage import ahead, behind, tables
from atelier_desk.storage.commit import Commit
from atelier_desk.storage.datadir import DataDir
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.repositories.base import upsert
from atelier_desk.storage.store import Store

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534


def start(program: str, *arguments: object) -> subprocess.Popen[str]:
    """Start one of the programs below with its standard streams as pipes."""
    command = [sys.executable, "-u", "-m", "tests.storage.programs", program, *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def run(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run one of the programs to its end."""
    command = [sys.executable, "-u", "-m", "tests.storage.programs", program, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=90, check=False)


async def hold(directory: Path) -> None:
    """Keep a database open until a line comes."""
    async with await Store.open(directory) as store:
        await store.write(upsert(tables.WORKFLOWS, Workflow(name="held")))
        print("open", flush=True)
        await asyncio.to_thread(sys.stdin.readline)


async def write_until_killed(directory: Path, fsync: str) -> None:
    """Commit one workflow after the other, each named by its number, and print the number after its commit."""
    store = await Store.open(directory, fsync=fsync == "fsync")
    number = 0
    while True:
        await store.write(upsert(tables.WORKFLOWS, Workflow(name=str(number))))
        print(number, flush=True)
        number += 1


async def keep_until_killed(directory: Path, fsync: str, point: str) -> None:
    """Commit a run's events, each with the rows it changes, and print its number after it; die at ``point`` when that is not ``never``."""
    behind.DELAY_S = 0.001
    _die_at(point)
    repos = Repositories(await Store.open(directory / "database", fsync=fsync == "fsync"), DataDir(directory))
    workflow = await repos.workflows.create(Workflow(id="kept", name="kept"), fresh=True)
    number = 0
    while True:
        number += 1
        event = RunEvent(workflow_id="kept", run_id="run", seq=number, stream_from=number, body=UserMessage(content=f"event {number}"))
        run = Run(id="run", workflow_id="kept", last_seq=number, created_at=workflow.created_at)
        message = Message(id=f"m{number}", workflow_id="kept", run_id="run", seq=number, role=MessageRole.USER, content="word")
        await repos.journal.commit(Commit(events=(event,), runs=(run,), workflow={"stream_seq": number}, messages=(message,)))
        print(number, flush=True)
        if number % 7 == 0:
            await repos.runs.get("run")
        await asyncio.sleep(0)


def _die_at(point: str) -> None:
    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    count = iter(range(10**9))
    if point == "half-a-record":
        append = ahead._File.append

        def half(self: ahead._File, data: bytes, number: int) -> None:
            if next(count) == 40:
                os.lseek(self.handle, self.size, os.SEEK_SET)
                os.write(self.handle, data[: len(data) // 2])
                die()
            append(self, data, number)

        ahead._File.append = half  # type: ignore[method-assign]
    elif point != "never":
        name = {"before-the-tables": "turn", "after-the-tables": "applied"}[point]
        old = getattr(ahead.AheadLog, name)

        def maybe(self: ahead.AheadLog, *arguments: int) -> None:
            if next(count) == 5:
                die()
            old(self, *arguments)

        setattr(ahead.AheadLog, name, maybe)


async def open_as_other_user(directory: Path) -> None:
    """Print the code of the error that opening gives to somebody who may not write."""
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
    """Write until no file may grow further; print the error's code and how many commits were acknowledged."""
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


PROGRAMS = {
    "hold": hold,
    "write-until-killed": write_until_killed,
    "keep-until-killed": keep_until_killed,
    "open-as-other-user": open_as_other_user,
    "fill-limited-file": fill_limited_file,
}

if __name__ == "__main__":
    name, directory, *rest = sys.argv[1:]
    asyncio.run(PROGRAMS[name](Path(directory), *rest))
