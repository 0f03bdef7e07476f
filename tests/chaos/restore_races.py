"""Restores that race with runs and other processes that open the same data folder, each in its own process.

    python -m tests.chaos.restore_races restore DATA_DIR BACKUP
    python -m tests.chaos.restore_races open|run DATA_DIR     (repeatedly, until standard input ends)

Two backups, "one" and "two", alternate. A process with the folder open checks that it is exactly one of them,
writes to it, and checks before closing that the folder it wrote to is still in place. It prints ``looked`` when
all is well, otherwise ``broken REASON``.
"""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.model_messages import ChatReply, ToolCall
from atelier_desk.domain.workflow import Report, Workflow
from atelier_desk.engine import Atelier
from atelier_desk.engine.services.data_folder_and_backups import restore_backup
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.storage.copies import backup, backup_signature
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.store import Store

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("one", "two")
ROWS = 20
KILL_EVERY = 4
"""Out of this number of restores, one is killed at a random moment and not counted."""
MOST_S = 1800


@dataclass
class RaceFigures:
    """Restores that completed, that were killed and that found the folder in use, and visits of other processes
    and runs.
    """

    restores: int = 0
    killed: int = 0
    in_use: int = 0
    looked: int = 0
    broken: list[str] = field(default_factory=list)


async def prepare(folder: Path) -> list[Path]:
    """A data folder and two backups of it, one of each kind: rights in a backup from another machine would be
    suspended.
    """
    made = []
    key = DataDir(folder / "data").ensure().root / backup_signature.KEY
    key.write_bytes(secrets.token_bytes(backup_signature.KEY_BYTES))
    for kind in KINDS:
        datadir = DataDir(folder / kind).ensure()
        shutil.copyfile(key, datadir.root / backup_signature.KEY)
        async with await Store.open(datadir.database) as store:
            repos = Repositories(store, datadir)
            workflow = await repos.workflows.create(Workflow(name=kind))
            for number in range(ROWS):
                await repos.workflows.create(Workflow(name=f"{kind} {number}"))
            await repos.reports.save(Report(workflow_id=workflow.id, name="Plan"), f"the report of {kind}")
            made.append((await backup.create(store, datadir, folder / f"{kind}.zip")).path)
    await restore_backup(made[0], folder / "data")
    return made


def race(folder: Path, restores: int, seed: int = 20261122) -> RaceFigures:
    """Do this number of restores while runs and other processes open and close the folder."""
    figures = RaceFigures()
    archives = asyncio.run(prepare(folder))
    visitors = [_start(kind, folder / "data") for kind in ("open", "run")]
    notes: list[str] = []
    readers = [threading.Thread(target=_read, args=(visitor, notes)) for visitor in visitors]
    for reader in readers:
        reader.start()
    choice = random.Random(seed)
    tries = 0
    try:
        while figures.restores < restores and tries < restores * 20:
            tries += 1
            process = _start("restore", folder / "data", archives[tries % 2])
            if tries % KILL_EVERY == 0:
                try:
                    process.wait(choice.uniform(0.3, 2.5))
                except subprocess.TimeoutExpired:
                    process.kill()
                    figures.killed += 1
            output, trouble = process.communicate(timeout=120)
            figures.restores += "restored" in output
            figures.in_use += "locked" in output
            if process.returncode > 0 or "broken" in output:
                figures.broken.append(f"restore: {output} {trouble[-2000:]}")
    finally:
        for visitor in visitors:
            assert visitor.stdin is not None
            visitor.stdin.close()
        for visitor in visitors:
            visitor.wait(120)
        for reader in readers:
            reader.join(60)
    figures.looked = notes.count("looked")
    figures.broken += [note for note in notes if note not in ("looked", "locked", "")]
    figures.broken += [f"a visitor ended with {visitor.returncode}" for visitor in visitors if visitor.returncode]
    return figures


def _start(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-u", "-m", "tests.chaos.restore_races", *map(str, arguments)]
    return subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def _read(process: subprocess.Popen[str], notes: list[str]) -> None:
    assert process.stdout is not None
    assert process.stderr is not None
    for line in process.stdout:
        notes.append(line.strip())
    notes.extend(line.strip() for line in process.stderr if "Error" in line)


async def check_content(repos: Repositories, datadir: DataDir) -> str:
    """What is wrong with the content; empty when it is exactly one backup and what was added to it."""
    names = {each["name"]: each["id"].id for each in await repos.store.query("SELECT id, name FROM workflow")}
    kinds = [kind for kind in KINDS if kind in names]
    if len(kinds) != 1:
        return f"the folder is of the kinds {kinds}"
    missing = [number for number in range(ROWS) if f"{kinds[0]} {number}" not in names]
    if missing:
        return f"rows are missing: {missing}"
    text = await repos.reports.read(names[kinds[0]], "Plan")
    return "" if text == f"the report of {kinds[0]}" else f"the report of {kinds[0]} says {text!r}"


async def visit(root: Path) -> str:
    """Open, check, write, check again."""
    datadir = DataDir(root).ensure()
    async with await Store.open(datadir.database) as store:
        place = (datadir.database.stat().st_ino, datadir.reports.stat().st_ino)
        if store.lost_commits:
            return f"{store.lost_commits} commits are lost"
        repos = Repositories(store, datadir)
        wrong = await check_content(repos, datadir)
        for number in range(5):
            await repos.workflows.create(Workflow(name=f"added {number}"))
        if place != (datadir.database.stat().st_ino, datadir.reports.stat().st_ino):
            return "the folder was swapped while it was open"
        return wrong


async def run(root: Path) -> str:
    """Start a run of two tool calls and wait for its end."""
    calls = [
        ChatReply(
            tool_calls=(
                ToolCall(id=f"c{number}", name="TodoTool", arguments={"operation": "create", "name": f"task {number}"}),
            )
        )
        for number in range(2)
    ]
    model = ScriptedModel([*calls, *[ChatReply(content="Done.")] * 10])
    agent = AgentConfig(name="Worker", provider="local", model="scripted", tools=("TodoTool",))
    async with Atelier.open(root, model_factory=lambda _: model, vault=KeyVault(environ={})) as atelier:
        place = atelier.datadir.database.stat().st_ino
        workflow = await atelier.workflows.create("a run")
        run_id = await atelier.runs.send(workflow.id, "make two calls", agent=agent)
        await atelier.runs.wait(run_id)
        ended = await atelier.repos.runs.get(run_id)
        if ended.status != "completed":
            return f"the run ended as {ended.status}: {ended.error}"
        if place != atelier.datadir.database.stat().st_ino:
            return "the folder was swapped while a run was at work"
        return await check_content(atelier.repos, atelier.datadir)


async def repeat(kind: str, root: Path) -> None:
    ended = threading.Event()

    def wait_for_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    pause = random.Random(kind)
    while not ended.is_set():
        try:
            wrong = await (visit(root) if kind == "open" else run(root))
            print(f"broken {kind}: {wrong}" if wrong else "looked", flush=True)
        except StorageError as error:
            print("locked" if error.code == "locked" else f"broken {kind}: {error.code} {error}", flush=True)
        await asyncio.to_thread(ended.wait, pause.uniform(0, 1.5))


async def restore(root: Path, archive: Path) -> None:
    try:
        await restore_backup(archive, root)
        print("restored", flush=True)
    except StorageError as error:
        print("locked" if error.code == "locked" else f"broken restore: {error.code} {error}", flush=True)


if __name__ == "__main__":
    kind, data, *rest = sys.argv[1:]
    asyncio.run(restore(Path(data), Path(rest[0])) if kind == "restore" else repeat(kind, Path(data)))
    os._exit(0)
