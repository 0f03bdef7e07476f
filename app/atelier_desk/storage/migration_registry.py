"""The schema: a registry of migrations, and what applies them.

A migration is a coroutine registered with the versions it leads from and to. The one from 0 makes the complete tables
of the first version in a new database; databases of the version just before it are brought over, older ones are
refused. A migration must be idempotent: after a kill midway it runs again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import StorageError
from atelier_desk.storage import database_errors
from atelier_desk.storage import migrations as package
from atelier_desk.storage.database_engine import Engine
from atelier_desk.storage.row_mapping import record

VERSION_TABLE = "schema_version"


class Migrator:
    """Interface for migrations: statements that raise on failure."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def run(self, sql: str, **params: object) -> list[Any]:
        """Run statements and return the result of each.

        Raises:
            StorageError: a statement failed.
        """
        return await self._engine.results(sql, params)


Apply = Callable[[Migrator], Awaitable[None]]


class Migration(NamedTuple):
    since: int
    version: int
    name: str
    apply: Apply


_registry: dict[int, Migration] = {}
"""By the version that each begins at; 0 is an empty database."""


def migration(since: int, version: int, name: str) -> Callable[[Apply], Apply]:
    """Register a migration from one version (0: an empty database) to a later one."""

    def register(function: Apply) -> Apply:
        if since in _registry or since >= version:
            raise ValueError(f"a second migration begins at version {since}, or it does not lead to a later one")
        _registry[since] = Migration(since, version, name, function)
        return function

    return register


def migrations(start: int = 0) -> list[Migration]:
    """Return the migrations from a version to the newest, in order; none if no migration begins at it."""
    package.load()
    path: list[Migration] = []
    while (item := _registry.get(path[-1].version if path else start)) is not None:
        path.append(item)
    if path and path[-1].version != max(item.version for item in _registry.values()):
        raise ValueError(f"no migration leads on from version {path[-1].version}")
    return path


def latest() -> int:
    """Return the version this program writes."""
    return migrations()[-1].version


def check_version(found: int, path: Path) -> None:
    """Refuse a database of a version that this program neither writes nor migrates; 0 is an empty one.

    Raises:
        StorageError: ``newer_schema`` or ``older_schema``.
    """
    known = latest()
    if found > known:
        raise StorageError(database_errors.NEWER_SCHEMA, code="newer_schema", path=path, found=found, known=known)
    if found != known and not migrations(found):
        oldest = min(since for since in _registry if since)
        raise StorageError(database_errors.OLDER_SCHEMA, code="older_schema", path=path, found=found, oldest=oldest)


async def current(engine: Engine) -> int:
    """Return the version of an open database, 0 if it has none yet."""
    migrator = Migrator(engine)
    tables = (await migrator.run("INFO FOR DB"))[0]["tables"]
    if VERSION_TABLE not in tables:
        return 0
    rows = (await migrator.run(f"SELECT VALUE version FROM {VERSION_TABLE} WHERE version != NONE"))[0]  # noqa: S608
    return max(rows, default=0)


async def tables(engine: Engine) -> list[str]:
    """Return the sorted names of all tables of an open database."""
    return sorted((await Migrator(engine).run("INFO FOR DB"))[0]["tables"])


async def definitions(engine: Engine) -> dict[str, Any]:
    """Return the definitions of a database, by table and for the whole (``""``).

    Fields, indexes, events, functions, users …
    """
    migrator = Migrator(engine)
    whole = (await migrator.run("INFO FOR DB"))[0]
    names = sorted(whole["tables"])
    parts = await migrator.run(";".join(f"INFO FOR TABLE `{name}`" for name in names)) if names else []
    return {"": whole, **dict(zip(names, parts, strict=True))}


async def foreign_definitions(engine: Engine, clock: Clock) -> list[str]:
    """Return tables in which a database of this version has other definitions than the migrations make; ``""`` for the
    whole.

    Events and computed fields run by themselves: in a foreign file they could reverse whatever is disabled.
    """
    found, version, first = await definitions(engine), await current(engine), migrations()[0].version
    # The version that is brought over has the tables of the first one.
    expected = await _migrated_definitions(clock, max(version, first) if version else 0)
    return sorted(name for name in {*found, *expected} if found.get(name) != expected.get(name))


async def missing_definitions(engine: Engine, clock: Clock) -> list[str]:
    """Return tables of which a database lacks a definition that a new one has; additional definitions are harmless."""
    found = await definitions(engine)
    missing = set()
    for table, sections in (await _migrated_definitions(clock)).items():
        for section, named in sections.items():
            present = found.get(table, {}).get(section, {})
            missing |= {table or name for name, text in named.items() if present.get(name) != text}
    return sorted(missing)


async def _migrated_definitions(clock: Clock, version: int | None = None) -> dict[str, Any]:
    """Return the definitions of a database made by the migrations up to a version (None: all)."""
    fresh = await Engine.open(None)
    try:
        await migrate(fresh, 0, clock, version)
        return await definitions(fresh)
    finally:
        await fresh.close()


async def migrate(engine: Engine, start: int, clock: Clock, stop: int | None = None) -> int:
    """Apply and record the migrations from ``start`` on, in order, up to ``stop`` (None: all).

    Returns the version reached.
    """
    migrator = Migrator(engine)
    reached = start
    for item in migrations(start):
        if stop is not None and item.version > stop:
            break
        await item.apply(migrator)
        await migrator.run(
            "UPSERT $row SET version = $version, name = $name, applied_at = applied_at ?? $now RETURN NONE",
            row=record(VERSION_TABLE, str(item.version)),
            version=item.version,
            name=item.name,
            now=clock.now(),
        )
        reached = item.version
    return reached
