"""A store without syncs, one like the program's, and repositories for each."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from atelier_desk.domain.workflow import Workflow
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.store import Store
from tests.helpers.database_templates import PlaceDatabase
from tests.helpers.manual_clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def datadir(tmp_path: Path) -> DataDir:
    return DataDir(tmp_path / "data").ensure()


@pytest.fixture
async def store(datadir: DataDir, clock: ManualClock, place_database: PlaceDatabase) -> AsyncIterator[Store]:
    """Nothing is synced: for logic, not for durability."""
    async with await Store.open(place_database(datadir.database), clock=clock, fsync=False) as store:
        yield store


@pytest.fixture
async def disk_store(datadir: DataDir, clock: ManualClock, place_database: PlaceDatabase) -> AsyncIterator[Store]:
    async with await Store.open(place_database(datadir.database), clock=clock) as store:
        yield store


@pytest.fixture
def repos(store: Store, datadir: DataDir) -> Repositories:
    return Repositories(store, datadir)


@pytest.fixture
async def workflow(repos: Repositories) -> Workflow:
    return await repos.workflows.create(Workflow(name="a workflow"))
