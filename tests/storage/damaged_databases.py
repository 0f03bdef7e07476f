"""Databases with known content, and ways to damage them."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

from atelier_desk.domain.workflow import Workflow
from atelier_desk.storage import tables
from atelier_desk.storage.repositories.base_repository import upsert
from atelier_desk.storage.store import Store

ROWS = 60
COMMITS = "atelier-commits.json"


async def closed_database(directory: Path) -> None:
    """60 commits, closed cleanly: everything is in one table file."""
    async with await Store.open(directory) as store:
        await write_rows(store)


async def write_rows(store: Store) -> None:
    for number in range(ROWS):
        await store.write(upsert(tables.WORKFLOWS, Workflow(name=str(number), draft="text " * 100)))


def killed_database(directory: Path) -> None:
    """The same 60 commits, killed after the last: everything is in the write-ahead log."""
    import subprocess

    root = Path(__file__).resolve().parents[2]
    subprocess.run(
        [sys.executable, "-m", "tests.storage.damaged_databases", str(directory)], cwd=root, timeout=90, check=False
    )


def only(directory: Path, pattern: str) -> Path:
    """The largest file of a kind."""
    return max(directory.rglob(pattern), key=lambda path: path.stat().st_size)


def flip(part: float) -> Callable[[Path], None]:
    """Invert one byte at a relative position (0–1) of a file."""

    def damage(path: Path) -> None:
        content = bytearray(path.read_bytes())
        content[int(len(content) * part)] ^= 0xFF
        path.write_bytes(content)

    return damage


def cut(count: int) -> Callable[[Path], None]:
    """Truncate a file by a number of bytes."""

    def damage(path: Path) -> None:
        path.write_bytes(path.read_bytes()[:-count])

    return damage


async def _write_and_die(directory: Path) -> None:
    store = await Store.open(directory)
    await write_rows(store)
    os._exit(9)


if __name__ == "__main__":
    asyncio.run(_write_and_die(Path(sys.argv[1])))
