"""The schema: an ordered registry of migrations, and what applies them.

A migration is a coroutine registered under the version it leads to. It must be idempotent: after a kill midway it runs
again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from atelier_desk.domain.clock import Clock
from atelier_desk.storage import errors
from atelier_desk.storage.engine import Engine
from atelier_desk.storage.rows import record

VERSION_TABLE = "schema_version"


class Migrator:
    """Interface for migrations: statements that raise on failure."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def run(self, sql: str, **params: Any) -> list[Any]:
        """Run statements and return the result of each.

        Raises:
            StorageError: a statement failed.
        """
        outcomes = await self._engine.run(sql, params)
        for outcome in outcomes:
            if not outcome.ok:
                raise errors.from_text(str(outcome.value), self._engine.path)
        return [outcome.value for outcome in outcomes]


class Migration(NamedTuple):
    version: int
    name: str
    apply: Callable[[Migrator], Awaitable[None]]


_registry: dict[int, Migration] = {}


def migration(version: int, name: str) -> Callable[[Callable[[Migrator], Awaitable[None]]], Callable[[Migrator], Awaitable[None]]]:
    """Register a migration under the version it leads to."""

    def register(function: Callable[[Migrator], Awaitable[None]]) -> Callable[[Migrator], Awaitable[None]]:
        if version in _registry:
            raise ValueError(f"two migrations lead to version {version}")
        _registry[version] = Migration(version, name, function)
        return function

    return register


def migrations() -> list[Migration]:
    """Return all migrations in order; their versions are 1, 2, 3 … without gaps."""
    from atelier_desk.storage import migrations as package

    package.load()
    ordered = [_registry[version] for version in sorted(_registry)]
    if [item.version for item in ordered] != list(range(1, len(ordered) + 1)):
        raise ValueError("migration versions must be 1, 2, 3 … without gaps")
    return ordered


def latest() -> int:
    """Return the version this program writes."""
    return len(migrations())


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
    found = await definitions(engine)
    expected = await _migrated_definitions(clock, await current(engine))
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
    """Apply and record the migrations after ``start``, in order, up to ``stop`` (None: all).

    Returns the version reached.
    """
    migrator = Migrator(engine)
    reached = start
    for item in migrations():
        if item.version <= start or (stop is not None and item.version > stop):
            continue
        await item.apply(migrator)
        await migrator.run(
            "UPSERT $row SET version = $version, name = $name, applied_at = $now RETURN NONE",
            row=record(VERSION_TABLE, str(item.version)),
            version=item.version,
            name=item.name,
            now=clock.now(),
        )
        reached = item.version
    return reached
