"""Folders of earlier schemas: opened completely, also from their backups; refused unchanged when they cannot be."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
from pathlib import Path
from typing import Any, get_args

import pytest

from atelier_desk.domain.errors import StorageError
from atelier_desk.storage import database_errors, migration_registry, tables
from atelier_desk.storage.copies import backup_file
from atelier_desk.storage.copies import upgrade as upgrade_module
from atelier_desk.storage.copies.restore import restore
from atelier_desk.storage.data_folder import database_preflight, schema_version
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.data_folder.free_space import MIN_FREE_BYTES
from atelier_desk.storage.data_folder.schema_version import UpgradeStep
from atelier_desk.storage.database_engine import Engine
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.row_mapping import Table, record
from atelier_desk.storage.store import Statement, Store
from tests.helpers.error_codes import raises_code
from tests.helpers.manual_clock import ManualClock
from tests.storage.child_programs import content, run
from tests.storage.samples.unpack_sample import Rows, rows_of, unpack, versions

NEXT = migration_registry.latest() + 1
"""The version after the newest one."""
OLDEST = min(versions())


@pytest.fixture
def next_migration(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more version for the duration of a test: it gives every workflow a colour."""
    assert migration_registry.migrations()[-1].version == NEXT - 1
    monkeypatch.setattr(migration_registry, "_registry", dict(migration_registry._registry))

    @migration_registry.migration(NEXT - 1, NEXT, "colours")
    async def colours(db: migration_registry.Migrator) -> None:
        await db.run(
            "DEFINE FIELD IF NOT EXISTS colour ON workflow TYPE option<string>; UPDATE workflow SET colour = 'grey' "
            "RETURN NONE;"
        )


def sample(number: int, folder: Path) -> tuple[Path, Rows]:
    """Unpack a sample; returns its folder, and the rows its program wrote."""
    unpacked = unpack(number, folder)
    return unpacked, json.loads((unpacked / "rows.json").read_text())


async def check_content(store: Store, datadir: DataDir, rows: Rows) -> None:
    """Check that every row is as the earlier program wrote it, every model can be read from it, and a report's
    file exists.
    """
    now = await rows_of(store.query_all)
    for table in rows.keys() - {migration_registry.VERSION_TABLE}:
        assert {key: {**now[table].get(key, {}), **row} for key, row in rows[table].items()} == now[table], table
    for table in vars(tables).values():
        if isinstance(table, Table):
            found = await store.query(f"SELECT {table.columns} FROM {table.name}")
            assert len(table.decode_all(found)) == len(rows.get(table.name, ())), table.name
    repos = Repositories(store, datadir)
    (report,) = rows["report"].values()
    home = report["workflow"]["$record"][1]
    assert await repos.reports.read(home, "journey") == "# Journey\n\nÀ Lyon, 07:58.\n"
    events = await repos.journal.workflow_events(home)
    assert "The train to Lyon leaves at 07:58." in str(events)
    for row in await store.query("SELECT id FROM workflow"):  # a row without a field could be read, but not written
        await repos.workflows.update(row["id"].id, draft="more")
    for name in await store.tables():
        await store.write(Statement(f"UPDATE {name} RETURN NONE", {}))


def test_every_supported_version_has_a_sample() -> None:
    assert versions() == list(range(13, migration_registry.latest() + 1)), (
        "make one: python -m tests.storage.samples.make_sample"
    )


@pytest.mark.parametrize("number", versions())
async def test_a_folder_of_an_earlier_version_opens_completely(tmp_path: Path, clock: ManualClock, number: int) -> None:
    folder, rows = sample(number, tmp_path / "sample")
    datadir = DataDir(folder / "data").ensure()
    told: list[tuple[UpgradeStep, int]] = []
    async with await Store.open(datadir.database, clock=clock, upgrading=lambda *step: told.append(step)) as store:
        assert store.version == migration_registry.latest()
        steps = [step for step, percent in told if not percent]
        assert steps == (list(get_args(UpgradeStep)) if number < migration_registry.latest() else [])
        for each in steps:
            percents = [percent for step, percent in told if step == each]
            assert len(percents) > 1, f"{each} does not tell how far it is"
            assert percents == sorted(set(percents))
        await check_content(store, datadir, rows)
    backups = list(datadir.backups.iterdir())
    if number < migration_registry.latest():
        (backup,) = backups
        info = await backup_file.verify(backup)
        assert (info.schema, info.counts["run_event"]) == (number, len(rows["run_event"]))
    async with await Store.open(datadir.database, clock=clock) as store:
        assert list(datadir.backups.iterdir()) == backups, "an up to date database needs no backup"
    assert not list(datadir.root.glob("*ing-*"))


@pytest.mark.parametrize("number", versions())
async def test_a_backup_of_an_earlier_version_is_restored_completely(tmp_path: Path, number: int) -> None:
    folder, rows = sample(number, tmp_path / "sample")
    datadir = DataDir(tmp_path / "data")
    info = await restore(folder / "backup.zip", datadir, from_elsewhere=True)
    assert info.schema == number
    async with await Store.open(datadir.database) as store:
        await check_content(store, datadir, rows)


async def test_a_migrated_folder_has_the_tables_of_a_new_one(store: Store, tmp_path: Path) -> None:
    folder, rows = sample(OLDEST, tmp_path / "sample")
    datadir = DataDir(folder / "data").ensure()
    new = await migration_registry.definitions(store._engine)
    engine = await Engine.open(datadir.database)
    assert await migration_registry.definitions(engine) == new
    await engine.close()
    async with await Store.open(datadir.database) as opened:
        assert await migration_registry.definitions(opened._engine) == new
        assert opened.commits == rows["schema_version"]["schema_version:commits"]["commits"]
        kept = (await rows_of(opened.query_all))["schema_version"]
    made = min(row["applied_at"]["$time"] for row in rows["schema_version"].values() if "applied_at" in row)
    assert kept.keys() == {"schema_version:⟨14⟩", "schema_version:commits"}
    assert kept["schema_version:⟨14⟩"]["applied_at"]["$time"] == made, "the search index knows the database by it"


async def make_older(database: Path) -> None:
    """Turn the oldest sample into a folder of the version before it."""
    engine = await Engine.open(database)
    await migration_registry.Migrator(engine).run(f"DELETE schema_version:`{OLDEST}`")
    await engine.close()


@pytest.mark.parametrize("noted", [True, False])
async def test_a_folder_before_the_oldest_version_is_refused_and_unchanged(tmp_path: Path, noted: bool) -> None:
    folder, _ = sample(OLDEST, tmp_path / "sample")
    datadir = DataDir(folder / "data").ensure()
    await make_older(datadir.database)
    if noted:
        schema_version.note(datadir.database, OLDEST - 1)
    else:
        (datadir.database / schema_version.FILE).unlink()
    before = content(datadir.root)
    for _ in range(2):
        with raises_code(StorageError, "older_schema") as caught:
            await Store.open(datadir.database)
        said = str(caught.value)
        for words in (
            f"format is {OLDEST - 1};",
            f"{OLDEST} and later",
            "with the version of Atelier that wrote it",
            "a new folder (--data-dir)",
            str(datadir.database),
        ):
            assert words in said
        assert content(datadir.root) == before


async def test_a_backup_before_the_oldest_version_is_refused_and_replaces_nothing(tmp_path: Path) -> None:
    folder, rows = sample(OLDEST, tmp_path / "sample")
    await make_older(folder / "data" / "database")
    manifest = backup_file.manifest_of(OLDEST - 1, {"run_event": len(rows["run_event"])}, ManualClock().now())
    backup_file.pack(folder / "data", folder / "data", tmp_path / "older.zip", manifest)
    datadir = DataDir(tmp_path / "data").ensure()
    await (await Store.open(datadir.database)).close()
    before = content(datadir.root)
    with raises_code(StorageError, "older_schema") as caught:
        await restore(tmp_path / "older.zip", datadir, from_elsewhere=True)
    assert f"older.zip was made by an early version of Atelier (its format is {OLDEST - 1};" in str(caught.value)
    assert content(datadir.root) == before


async def test_a_migration_after_the_newest_runs_once(tmp_path: Path, clock: ManualClock, next_migration: None) -> None:
    folder, _ = sample(OLDEST, tmp_path / "sample")
    for _ in range(2):
        async with await Store.open(folder / "data" / "database", clock=clock, backups=tmp_path / "kept") as store:
            assert store.version == NEXT
            assert set(await store.query("SELECT VALUE colour FROM workflow")) == {"grey"}
    (backup,) = (tmp_path / "kept").iterdir()
    assert (await backup_file.verify(backup)).schema == OLDEST


# The upgrade of the oldest sample makes 63 requests: 1 reads the number of commits, 2 to 4 migrate, up to 10 it
# inspects the definitions, and then it reads every row. Of the 83 steps for the test of kills 69 to 79 are the
# swap, 80 to 82 the opening.


async def check_failure_at(number: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Open the oldest sample while one request of the upgrade fails after half of its statements."""
    real, left = migration_registry.Migrator.run, number

    async def run(self: migration_registry.Migrator, sql: str, **params: Any) -> list[Any]:
        nonlocal left
        left -= 1
        if left == 0:
            statements = sql.split(";\n")
            if len(statements) > 1:
                await real(self, ";\n".join(statements[: len(statements) // 2]), **params)
            raise RuntimeError("no such field")
        return await real(self, sql, **params)

    unpacked, _ = sample(OLDEST, folder)
    datadir = DataDir(unpacked / "data").ensure()
    before = content(datadir.root)
    with monkeypatch.context() as patch:
        patch.setattr(migration_registry.Migrator, "run", run)
        with pytest.raises(StorageError) as caught:
            await (await Store.open(datadir.database)).close()
    assert caught.value.code == "cannot_migrate"
    said = str(caught.value)
    for words in (
        f"(format {OLDEST}) ",
        f"to format {migration_registry.latest()} ",
        "no such field",
        "Nothing was changed",
        str(datadir.database),
    ):
        assert words in said
    assert content(datadir.root) == before


@pytest.mark.parametrize("number", [2, 4, 40])
async def test_a_failed_migration_leaves_the_folder_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    await check_failure_at(number, tmp_path / "sample", monkeypatch)


@pytest.mark.parametrize("what", ["pack", "verify"])
async def test_nothing_is_changed_when_the_backup_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    folder, rows = sample(OLDEST, tmp_path / "sample")
    datadir = DataDir(folder / "data").ensure()
    before = content(datadir.database)

    def fail(*_given: Any, **_fields: Any) -> None:
        raise StorageError("the copy is wrong", code="damaged")

    with monkeypatch.context() as patch:
        patch.setattr(backup_file, what, fail)
        with pytest.raises(StorageError):
            await Store.open(datadir.database)
    assert content(datadir.database) == before
    assert not list(datadir.backups.iterdir())
    async with await Store.open(datadir.database) as store:
        await check_content(store, datadir, rows)


async def test_tables_that_do_not_match_their_version_are_refused_unchanged(tmp_path: Path) -> None:
    folder, _ = sample(OLDEST, tmp_path / "sample")
    datadir = DataDir(folder / "data").ensure()
    engine = await Engine.open(datadir.database)
    await migration_registry.Migrator(engine).run("REMOVE TABLE spent; REMOVE INDEX by_status ON run;")
    await engine.close()
    before = content(datadir.root)
    with raises_code(StorageError, "cannot_migrate") as caught:
        await Store.open(datadir.database)
    assert "(run, spent)" in str(caught.value)
    assert content(datadir.root) == before


@pytest.mark.parametrize("noted", [True, False])
async def test_a_newer_database_is_refused_and_unchanged(tmp_path: Path, noted: bool) -> None:
    datadir = DataDir(tmp_path / "data").ensure()
    async with await Store.open(datadir.database, fsync=False) as store:
        newer = {"row": record("schema_version", "99"), "version": 99}
        await store.write(Statement("UPSERT $row SET version = $version, name = 'future' RETURN NONE", newer))
    if noted:
        schema_version.note(datadir.database, 99)
    else:
        (datadir.database / schema_version.FILE).unlink()
    before = content(datadir.root)
    for _ in range(2):
        with raises_code(StorageError, "newer_schema") as caught:
            await Store.open(datadir.database)
        assert str(datadir.database) in str(caught.value)
        assert "99" in str(caught.value)
        assert "Update Atelier" in str(caught.value)
        assert content(datadir.root) == before


async def test_a_version_file_that_contradicts_the_database_is_noticed(tmp_path: Path) -> None:
    folder, rows = sample(OLDEST, tmp_path / "sample")
    datadir = DataDir(folder / "data").ensure()
    schema_version.note(datadir.database, migration_registry.latest())
    with raises_code(StorageError, "start_again"):
        await Store.open(datadir.database)
    async with await Store.open(datadir.database) as store:
        await check_content(store, datadir, rows)


async def test_an_upgrade_needs_room_for_three_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, _ = sample(OLDEST, tmp_path / "sample")
    before = content(folder / "data")
    room = MIN_FREE_BYTES + 3 * database_preflight.size_of(folder / "data" / "database") - 1
    monkeypatch.setattr(database_preflight, "free_bytes", lambda path: room)
    with raises_code(StorageError, "disk_full"):
        await Store.open(folder / "data" / "database")
    assert content(folder / "data") == before


async def test_a_disk_that_fills_up_during_an_upgrade_says_what_the_upgrade_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = sample(OLDEST, tmp_path / "sample")
    database = folder / "data" / "database"
    before, size = content(folder / "data"), database_preflight.size_of(database)
    free = 10**9

    async def inspect(copy: Path, **_options: object) -> None:
        nonlocal free
        free = 5_000_000
        raise database_errors.from_text("IO error: No space left on device (os error 28)", copy)

    monkeypatch.setattr(database_preflight, "free_bytes", lambda path: free)
    monkeypatch.setattr(upgrade_module, "inspect", inspect)
    with pytest.raises(StorageError, match="Nothing that was saved is lost") as caught:
        await Store.open(database)
    assert (caught.value.code, caught.value.params["path"]) == ("disk_full", database)
    assert caught.value.params["needed_mb"] == (3 * size + MIN_FREE_BYTES) // 1_000_000
    assert caught.value.params["free_mb"] == (free + size) // 1_000_000, "the copy is deleted again"
    assert content(folder / "data") == before


async def test_foreign_data_keeps_its_mark(tmp_path: Path) -> None:
    folder, _ = sample(OLDEST, tmp_path / "sample")
    datadir = DataDir(tmp_path / "data")
    await restore(folder / "backup.zip", datadir, from_elsewhere=True)
    marks = [file.name for file in datadir.root.iterdir() if file.name == "from-elsewhere"]
    async with await Store.open(datadir.database):
        assert (
            [file.name for file in datadir.root.iterdir() if file.name == "from-elsewhere"]
            == marks
            == ["from-elsewhere"]
        )


@pytest.mark.parametrize("step", [4, 70, 76])
async def test_a_killed_upgrade_is_completed_or_repeated(tmp_path: Path, step: int) -> None:
    await check_killed_upgrade(tmp_path, step)


async def test_the_unfinished_backup_of_a_killed_upgrade_is_removed(tmp_path: Path) -> None:
    folder, _rows = sample(OLDEST, tmp_path / "sample")
    datadir = DataDir(folder / "data").ensure()
    left = datadir.backups / ".before-schema-14-20260101T000000000000Z.zip.tmp"
    left.write_bytes(b"PK")
    (datadir.root / "backing-up-1").write_text(str(left))
    async with await Store.open(datadir.database):
        assert not left.exists()
        assert [path.suffix for path in datadir.backups.iterdir()] == [".zip"]


async def check_killed_upgrade(tmp_path: Path, step: int) -> bool:
    """Kill an upgrade before one of its steps; the next start has everything. Returns whether the step existed."""
    folder, rows = sample(OLDEST, tmp_path / "sample")
    datadir = DataDir(folder / "data").ensure()
    before = content(datadir.database)
    ended = await asyncio.to_thread(run, "upgrade-until-killed", datadir.root, step)
    assert ended.returncode == -signal.SIGKILL or "whole" in ended.stdout, ended.stderr
    if datadir.database.exists() and not (datadir.database / schema_version.FILE).exists():
        assert content(datadir.database) == before
    async with await Store.open(datadir.database) as store:
        assert store.version == migration_registry.latest()
        await check_content(store, datadir, rows)
    assert not list(datadir.root.glob("*ing-*"))
    shutil.rmtree(folder)
    return ended.returncode != 0
