"""Migrations: one path from each version, repeatable, without dependencies that may change."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.storage import migration_registry, migrations, tables
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.database_engine import Engine
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.store import Store
from tests.helpers.manual_clock import ManualClock

MIGRATIONS = Path(migrations.__file__).parent
NEEDED = {"__future__": {"annotations"}, "atelier_desk.storage.migration_registry": {"Migrator", "migration"}}
"""Everything a migration may import: its registration, and the function that runs its statements."""
NEXT = migration_registry.latest() + 1
"""The version after the newest one."""


async def test_a_new_database_has_the_newest_version_and_all_tables(store: Store) -> None:
    assert store.version == migration_registry.latest()
    rows = await store.query("SELECT version, name FROM schema_version WHERE version != NONE")
    assert sorted(row["version"] for row in rows) == [item.version for item in migration_registry.migrations()]
    definitions = (await store.query_all("INFO FOR DB"))[0]["tables"]
    assert set(tables.OWNED) <= set(definitions)
    assert all("SCHEMAFULL" in definition for definition in definitions.values())


@pytest.mark.parametrize("file", sorted(MIGRATIONS.glob("[!_]*.py")), ids=lambda file: file.stem)
def test_a_migration_calls_nothing_that_may_change(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        assert not isinstance(node, ast.Import), ast.unparse(node)
        if isinstance(node, ast.ImportFrom):
            names = {alias.name for alias in node.names}
            assert names <= NEEDED.get(node.module or "", set()), ast.unparse(node)


class PartOfIt(migration_registry.Migrator):
    """Runs the first part of the statements, as when the program is killed meanwhile."""

    def __init__(self, engine: Engine, part: float) -> None:
        super().__init__(engine)
        self._part = part

    async def run(self, sql: str, **params: Any) -> list[Any]:
        statements = sql.split(";\n")
        return await super().run(";\n".join(statements[: int(len(statements) * self._part)]) + ";", **params)


@pytest.mark.parametrize("part", [0.1, 0.5, 1])
async def test_an_interrupted_creation_of_a_database_is_repeated(
    datadir: DataDir, clock: ManualClock, part: float
) -> None:
    engine = await Engine.open(datadir.database)
    await migration_registry.migrations()[0].apply(PartOfIt(engine, part))
    await engine.close()
    async with await Store.open(datadir.database, clock=clock) as store:
        assert store.version == migration_registry.latest()
        assert await migration_registry.foreign_definitions(store._engine, clock) == []
        assert await Repositories(store, datadir).workflows.list() == []


def test_one_migration_starts_at_each_version_and_all_lead_to_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    apply = migration_registry.migrations()[0].apply
    monkeypatch.setattr(migration_registry, "_registry", dict(migration_registry._registry))
    for since, version in ((0, NEXT), (NEXT, NEXT)):
        with pytest.raises(ValueError, match=f"version {since}"):
            migration_registry.migration(since, version, "again")(apply)
    migration_registry.migration(NEXT, NEXT + 1, "too far")(apply)
    with pytest.raises(ValueError, match=f"from version {migration_registry.migrations(NEXT)[0].since - 1}"):
        migration_registry.migrations()
