"""Restores against starting runs and other openers, and a kill at every step: the folder is exactly the old one or
the new one.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from pathlib import Path

import pytest

from atelier_desk.storage.copies import backup
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.store import Store
from tests.chaos.foreign_data_worker import granted, killed_at, prepare
from tests.chaos.restore_races import race
from tests.storage.copies.killed_restores import MOVES, check_killed_restore, fill

RESTORES = int(os.environ.get("ATELIER_RESTORES", "50"))


@pytest.mark.timeout(1800)
async def test_restores_against_runs_and_openers(tmp_path: Path) -> None:
    figures = await asyncio.to_thread(race, tmp_path, RESTORES)
    print(f"\n{figures}")
    assert figures.restores >= RESTORES
    assert figures.looked
    assert figures.killed
    assert not figures.broken


@pytest.mark.timeout(300)
@pytest.mark.parametrize("moves", range(1, MOVES + 1))
async def test_a_kill_at_every_move_of_a_restore(tmp_path: Path, moves: int) -> None:
    datadir = DataDir(tmp_path / "data").ensure()
    async with await Store.open(datadir.database) as store:
        await fill(store, datadir)
        made = await backup.create(store, datadir, datadir.backups / "mine.zip")
    await check_killed_restore(made, datadir, moves)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", ["restore", "import"])
async def test_a_kill_at_every_step_of_restoring_or_importing_foreign_data(tmp_path: Path, kind: str) -> None:
    """It is this machine's data with all its rights, or the other one's with none in force, and always marked as
    such.
    """
    own, archive, export = await prepare(tmp_path)
    mine = await granted(own.root)
    assert mine[0] == "mine"
    source = archive if kind == "restore" else export

    def place(step: int) -> Path:
        root = tmp_path / f"step-{step}"
        shutil.copytree(own.root, root) if kind == "restore" else root.mkdir()
        return root

    whole = await asyncio.to_thread(killed_at, 0, kind, place(0), source)
    assert whole.returncode == 0, whole.stderr
    assert await granted(tmp_path / "step-0") == ("theirs", [])
    seen = set()
    last = int(whole.stdout)
    # The last step is included even when few are tried: then everything is there.
    for step in sorted({*range(1, last + 1, int(os.environ.get("ATELIER_KILL_EVERY", "1"))), last}):
        root = place(step)
        killed = await asyncio.to_thread(killed_at, step, kind, root, source)
        assert killed.returncode in (-signal.SIGKILL, 0), (step, killed.stderr)
        name, found = await granted(root)
        seen.add(name)
        assert (name, found) == mine or (name in ("theirs", "") and not found), f"step {step}: {name} {found}"
        shutil.rmtree(root)
    assert seen == ({"mine", "theirs"} if kind == "restore" else {"", "theirs"})
