"""Migrations: in order, repeatable, with nothing in them that may change."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from atelier_desk.storage import migrations, schema, tables
from atelier_desk.storage.engine import Engine
from atelier_desk.storage.folder.datadir import DataDir
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.store import Store
from tests.support.clock import ManualClock

MIGRATIONS = Path(migrations.__file__).parent
NEEDED = {"__future__": {"annotations"}, "atelier_desk.storage.schema": {"Migrator", "migration"}}
"""All that a migration may import: what registers it, and what runs its statements."""
NEXT = schema.latest() + 1
"""The version after the newest one."""


async def test_a_new_database_has_the_newest_version_and_what_every_migration_defines(store: Store) -> None:
    assert store.version == schema.latest()
    rows = await store.query("SELECT version, name FROM schema_version WHERE version != NONE")
    assert sorted(row["version"] for row in rows) == list(range(1, schema.latest() + 1))
    definitions = (await store.query_all("INFO FOR DB"))[0]["tables"]
    assert set(tables.OWNED) <= set(definitions)
    assert all("SCHEMAFULL" in definition for definition in definitions.values())


@pytest.mark.parametrize("file", sorted(MIGRATIONS.glob("m*.py")), ids=lambda file: file.stem)
def test_a_migration_calls_nothing_that_may_change(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        assert not isinstance(node, ast.Import), ast.unparse(node)
        if isinstance(node, ast.ImportFrom):
            names = {alias.name for alias in node.names}
            assert names <= NEEDED.get(node.module or "", set()), ast.unparse(node)


@pytest.mark.parametrize("stop", [1, schema.latest()])
async def test_the_making_of_a_new_database_that_was_cut_off_is_done_again(datadir: DataDir, clock: ManualClock, stop: int) -> None:
    engine = await Engine.open(datadir.database)
    await schema.migrate(engine, 0, clock, stop - 1)
    await schema.migrations()[stop - 1].apply(schema.Migrator(engine))
    await engine.close()
    async with await Store.open(datadir.database, clock=clock) as store:
        assert store.version == schema.latest()
        assert await Repositories(store, datadir).workflows.list() == []


def test_versions_are_unique_and_without_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    schema.migrations()
    monkeypatch.setattr(schema, "_registry", dict(schema._registry))
    with pytest.raises(ValueError, match="version 1"):
        schema.migration(1, "again")(schema._registry[1].apply)
    schema.migration(NEXT + 1, "too far")(schema._registry[1].apply)
    with pytest.raises(ValueError, match="gaps"):
        schema.migrations()
