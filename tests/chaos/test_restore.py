"""Restores against starting runs and openers, and a kill at every step of one: the folder is the old one or the new one, whole."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from atelier_desk.storage.copies import backup
from atelier_desk.storage.folder.datadir import DataDir
from atelier_desk.storage.store import Store
from tests.chaos.restoring import race
from tests.storage.copies.test_backup import MOVES, check_killed_restore, fill

RESTORES = 50


@pytest.mark.timeout(1800)
async def test_fifty_restores_against_runs_and_openers(tmp_path: Path) -> None:
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
