"""Databases with their tables already created: creating them takes longer than most tests, so they are
copied.

Databases that a test opens in an empty folder itself are created by the program as usual, unless it uses
``copied_databases``; so are those of programs it starts.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.limits import DATABASE_PAUSE_S
from atelier_desk.storage.store import Store

PlaceDatabase = Callable[[Path], Path]
"""Puts a database without rows at a new path and returns the path."""


@pytest.fixture(scope="session", autouse=True)
def _one_pause() -> Iterator[None]:
    """Wait once for the engine's threads, after the last test: they must end before the interpreter."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("atelier_desk.storage.database_engine.DATABASE_PAUSE_S", 0)
        yield
    time.sleep(DATABASE_PAUSE_S)


@pytest.fixture(scope="session")
def place_database(tmp_path_factory: pytest.TempPathFactory, _one_pause: None) -> PlaceDatabase:
    made = tmp_path_factory.mktemp("made") / "database"

    async def make() -> None:
        async with await Store.open(made, fsync=False):
            pass

    asyncio.run(make())

    def place(directory: Path) -> Path:
        if not directory.exists():
            directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copytree(made, directory)
        return directory

    return place


@pytest.fixture
def copied_databases(place_database: PlaceDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that the test opens where none is, is a copy, too."""
    real = Store.open

    async def opened(directory: Path | None, **options: Any) -> Store:
        return await real(directory and place_database(directory), **options)

    monkeypatch.setattr(Store, "open", opened)
