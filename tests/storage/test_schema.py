"""Migrations: in order, repeatable, after a verified backup, never backwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.workflow import Workflow
from atelier_desk.storage import schema, tables
from atelier_desk.storage.copies import archive
from atelier_desk.storage.engine import Engine
from atelier_desk.storage.folder.datadir import DataDir
from atelier_desk.storage.migrations import (
    m0001_first_tables,
    m0002_attachments_and_taint,
    m0003_mcp_servers,
    m0005_projects,
    m0006_memory_bin,
    m0008_from_elsewhere,
)
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.rows import record
from atelier_desk.storage.store import Statement, Store
from tests.support.clock import ManualClock

TABLES = {
    **m0001_first_tables.TABLES,
    **m0003_mcp_servers.TABLES,
    **m0005_projects.TABLES,
    **m0005_projects.RELATIONS,
    **m0006_memory_bin.TABLES,
}
NEXT = schema.latest() + 1
"""The version after the newest one."""


@pytest.fixture
def next_migration(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One more version for the time of a test: it gives every workflow a colour. Returns the versions it led to, as often as it ran."""
    applied: list[int] = []
    assert len(schema.migrations()) == NEXT - 1
    monkeypatch.setattr(schema, "_registry", dict(schema._registry))

    @schema.migration(NEXT, "colours")
    async def colours(db: schema.Migrator) -> None:
        applied.append(NEXT)
        await db.run("DEFINE FIELD IF NOT EXISTS colour ON workflow TYPE option<string>; UPDATE workflow SET colour = 'grey' RETURN NONE;")

    return applied


WORKFLOW = Workflow(name="old", pending_questions=1)


async def older_database(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What version 1 left before its tables got more fields: a workflow."""
    schema.migrations()
    with monkeypatch.context() as patch:
        patch.setattr(schema, "_registry", {1: schema._registry[1]})
        patch.setattr("atelier_desk.storage.migrations.load", lambda: None)
        async with await Store.open(directory) as store:
            assert store.version == 1
            row = tables.WORKFLOWS.encode(WORKFLOW)
            for field in m0008_from_elsewhere.FIELDS["workflow"]:
                del row[field]
            await store.write(Statement("UPSERT $row CONTENT $content RETURN NONE", {"row": row.pop("id"), "content": row}))
            for table, field in m0002_attachments_and_taint.FILLED:
                await store.write(Statement(f"REMOVE FIELD {field} ON {table}", {}))
                await store.write(Statement(f"UPDATE {table} UNSET {field} RETURN NONE", {}))


async def test_a_new_database_has_every_table_and_the_newest_version(store: Store) -> None:
    assert await store.tables() == sorted(TABLES)
    assert store.version == schema.latest()
    rows = await store.query("SELECT version, name FROM schema_version WHERE version != NONE")
    assert sorted(row["version"] for row in rows) == list(range(1, schema.latest() + 1))


async def test_every_index_is_there_and_every_table_is_schemafull(store: Store) -> None:
    definitions = (await store.query_all("INFO FOR DB"))[0]["tables"]
    assert all("SCHEMAFULL" in definition for definition in definitions.values())
    for table, indexes in m0001_first_tables.INDEXES.items():
        found = (await store.query_all(f"INFO FOR TABLE {table}"))[0]["indexes"]
        assert set(indexes) <= set(found)


async def test_an_older_database_is_backed_up_then_migrated(
    tmp_path: Path, clock: ManualClock, next_migration: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, backups = tmp_path / "database", tmp_path / "kept"
    await older_database(directory, monkeypatch)
    async with await Store.open(directory, clock=clock, backups=backups) as store:
        assert store.version == NEXT
        assert await store.query("SELECT name, colour FROM workflow") == [{"name": "old", "colour": "grey"}]
        assert await store.query("SELECT VALUE version FROM schema_version WHERE version != NONE ORDER BY version") == [
            *range(1, NEXT),
            NEXT,
        ]
    assert next_migration == [NEXT]
    (copy,) = backups.iterdir()
    info = await archive.verify(copy)
    assert info.schema == 1
    assert info.counts["workflow"] == 1
    async with await Store.open(directory, backups=backups):
        assert len(list(backups.iterdir())) == 1, "an up to date database needs no backup"


async def test_nothing_is_migrated_when_the_backup_fails(
    tmp_path: Path, next_migration: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    await older_database(tmp_path / "database", monkeypatch)

    async def fail(path: Path) -> None:
        raise StorageError("the copy is wrong", code="damaged")

    monkeypatch.setattr(archive, "verify", fail)
    with pytest.raises(StorageError):
        await Store.open(tmp_path / "database")
    assert next_migration == []
    engine = await Engine.open(tmp_path / "database")
    assert await schema.current(engine) == 1
    await engine.close()


@pytest.mark.parametrize("version", [1, NEXT])
async def test_a_migration_that_was_cut_off_runs_again(
    datadir: DataDir, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, next_migration: list[int], version: int
) -> None:
    if version > 1:
        await older_database(datadir.database, monkeypatch)
    engine = await Engine.open(datadir.database)
    await schema.migrations()[version - 1].apply(schema.Migrator(engine))
    await engine.close()
    async with await Store.open(datadir.database, clock=clock) as store:
        assert store.version == schema.latest()
        assert await store.tables() == sorted(TABLES)
        found = await Repositories(store, datadir).workflows.list()
        assert found == ([WORKFLOW] if version > 1 else [])


async def test_a_newer_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    directory = tmp_path / "database"
    async with await Store.open(directory) as store:
        newer = {"row": record("schema_version", "99"), "version": 99}
        await store.write(Statement("UPSERT $row SET version = $version, name = 'future' RETURN NONE", newer))
    for _ in range(2):
        with pytest.raises(StorageError) as caught:
            await Store.open(directory)
        assert caught.value.code == "newer_schema"
        assert "99" in str(caught.value)
        assert "Update Atelier" in str(caught.value)


def test_versions_are_unique_and_without_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    schema.migrations()
    monkeypatch.setattr(schema, "_registry", dict(schema._registry))
    with pytest.raises(ValueError, match="version 1"):
        schema.migration(1, "again")(schema._registry[1].apply)
    schema.migration(NEXT + 1, "too far")(schema._registry[1].apply)
    with pytest.raises(ValueError, match="gaps"):
        schema.migrations()
