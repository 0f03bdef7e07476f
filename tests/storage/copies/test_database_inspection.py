"""Verifying a database in a separate process."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.workflow import Report, Workflow
from atelier_desk.storage import migration_registry
from atelier_desk.storage.copies import database_inspection as module
from atelier_desk.storage.copies.database_inspection import inspect
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.store import Store
from tests.helpers.error_codes import raises_code
from tests.storage.damaged_databases import ROWS, closed_database, flip, killed_database, only


async def test_the_rows_are_counted(tmp_path: Path, real_start: None) -> None:
    await closed_database(tmp_path / "database")
    for read in (True, False):
        found = await inspect(tmp_path / "database", read=read)
        assert found.schema == migration_registry.latest()
        assert found.counts["workflow"] == ROWS


async def test_reading_detects_damage_that_opening_does_not(tmp_path: Path) -> None:
    await closed_database(tmp_path / "database")
    flip(0.4)(only(tmp_path / "database", "*.sst"))
    with raises_code(StorageError, "damaged"):
        await inspect(tmp_path / "database")


async def test_reading_verifies_the_reports_next_to_it(datadir: DataDir) -> None:
    async with await Store.open(datadir.database) as store:
        repos = Repositories(store, datadir)
        workflow = await repos.workflows.create(Workflow(name="w"))
        for name in ("changed", "missing", "whole"):
            await repos.reports.save(Report(workflow_id=workflow.id, name=name), "text")
    (datadir.reports / workflow.id / "changed.md").write_text("texT")
    (datadir.reports / workflow.id / "missing.md").unlink()
    assert (await inspect(datadir.database)).damaged == (f"{workflow.id}/changed.md", f"{workflow.id}/missing.md")
    assert (await inspect(datadir.database, read=False)).damaged == ()


async def test_an_aborted_helper_means_damage(tmp_path: Path) -> None:
    killed_database(tmp_path / "database")
    flip(0.5)(only(tmp_path / "database", "*.manifest"))
    with raises_code(StorageError, "damaged"):
        await inspect(tmp_path / "database")


async def test_a_directory_without_a_database_is_not_opened(tmp_path: Path) -> None:
    with raises_code(StorageError, "missing_manifest"):
        await inspect(tmp_path)
    assert list(tmp_path.iterdir()) == []


async def test_an_open_database_is_reported_as_locked(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "database"):
        with pytest.raises(StorageError) as caught:
            await inspect(tmp_path / "database")
    assert caught.value.code == "locked"


async def test_a_failure_of_the_helper_itself_is_not_reported_as_damage(
    tmp_path: Path, real_start: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    await closed_database(tmp_path / "database")
    broken = tmp_path / "broken" / "atelier_desk"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('this installation is broken')")
    monkeypatch.setattr(module, "environment", lambda: {**os.environ, "PYTHONPATH": str(broken.parent)})
    with raises_code(StorageError, "query") as caught:
        await inspect(tmp_path / "database")
    assert "this installation is broken" in str(caught.value)


async def test_cancelling_ends_the_helper(tmp_path: Path) -> None:
    await closed_database(tmp_path / "database")
    job = asyncio.ensure_future(inspect(tmp_path / "database"))
    await asyncio.sleep(0)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    async with await Store.open(tmp_path / "database") as store:
        assert (await store.counts())["workflow"] == ROWS
