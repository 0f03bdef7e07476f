"""A data folder recognises its own backups, and no backup made elsewhere, unsigned, or modified."""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.clock import SystemClock
from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.workflow import Workflow
from atelier_desk.storage import migration_registry
from atelier_desk.storage.copies import backup, backup_file, backup_signature
from atelier_desk.storage.copies.backup_file import MANIFEST, MANIFEST_BYTES, BackupInfo, verify
from atelier_desk.storage.copies.restore import finish_restore, restore
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.database_engine import Engine
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.store import Store
from tests.helpers.backup_inspection_cache import inspected_once
from tests.helpers.database_templates import PlaceDatabase
from tests.helpers.error_codes import raises_code

Change = Callable[[dict[str, Any], dict[str, bytes]], None]


__all__ = ["inspected_once"]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, place_database: PlaceDatabase) -> DataDir:
    """A data folder with a backup, made once because that takes most of the time."""
    datadir = DataDir(tmp_path_factory.mktemp("template") / "data").ensure()

    async def make() -> None:
        async with await Store.open(place_database(datadir.database), fsync=False) as store:
            await Repositories(store, datadir).workflows.create(Workflow(name="kept"))
            (datadir.tools / "own.py").write_text("x = 1\n")
            await backup.create(store, datadir, datadir.backups / "mine.zip")

    asyncio.run(make())
    return datadir


@pytest.fixture
async def made(template: DataDir, datadir: DataDir, inspected_once: None) -> BackupInfo:
    shutil.copytree(template.root, datadir.root, dirs_exist_ok=True)
    return await verify(datadir.backups / "mine.zip", datadir.root)


def rewritten(path: Path, change: Change) -> Path:
    """A copy of a complete backup with a change by somebody who knows the format."""
    with zipfile.ZipFile(path) as source:
        files = {name: source.read(name) for name in source.namelist()}
    manifest = json.loads(files.pop(MANIFEST))
    change(manifest, files)
    manifest["files"] = {
        name: hashlib.sha256(data).hexdigest() for name, data in files.items() if not name.endswith("/")
    }
    target = path.with_name("rewritten.zip")
    with target.open("w+b") as file:
        with zipfile.ZipFile(file, "w") as copy:
            for name, data in files.items():
                copy.writestr(name, data)
            copy.writestr(MANIFEST, json.dumps(manifest))
            copy.comment = bytes(backup_file.SEAL_BYTES)
        file.write(backup_file._seal(file))
    return target


def before_signing(manifest: dict[str, Any], files: dict[str, bytes]) -> None:
    del manifest["signature"]


def a_tool_more(manifest: dict[str, Any], files: dict[str, bytes]) -> None:
    files["tools/evil.py"] = b"import os\n"


def a_tool_changed(manifest: dict[str, Any], files: dict[str, bytes]) -> None:
    files["tools/own.py"] = b"import os\n"


def a_tool_less(manifest: dict[str, Any], files: dict[str, bytes]) -> None:
    del files["tools/own.py"]


def another_time(manifest: dict[str, Any], files: dict[str, bytes]) -> None:
    manifest["created_at"] = "2020-01-01T00:00:00+00:00"


def no_text(manifest: dict[str, Any], files: dict[str, bytes]) -> None:
    manifest["signature"] = 7


def not_ascii(manifest: dict[str, Any], files: dict[str, bytes]) -> None:
    manifest["signature"] = "é" * 64


def emptied(manifest: dict[str, Any], files: dict[str, bytes]) -> None:
    manifest["signature"] = ""


CHANGES = (before_signing, a_tool_more, a_tool_changed, a_tool_less, another_time, no_text, not_ascii, emptied)


async def test_its_own_backup_is_restored_without_a_question(made: BackupInfo, datadir: DataDir) -> None:
    assert (await verify(made.path, datadir.root)).own
    assert backup_signature.made_here(made.path, datadir.root, MANIFEST, MANIFEST_BYTES)
    assert (await restore(made.path, datadir)).own
    assert backup_signature.marked(datadir.root) == b""
    key = datadir.root / backup_signature.KEY
    assert (key.stat().st_mode & 0o777, len(key.read_bytes())) == (0o600, 32)
    with zipfile.ZipFile(made.path) as file:
        assert not [name for name in file.namelist() if "key" in name], "the key is part of no backup"


@pytest.mark.parametrize("change", CHANGES)
async def test_a_modified_or_unsigned_backup_is_refused_unless_declared_foreign(
    made: BackupInfo, datadir: DataDir, change: Change
) -> None:
    path = rewritten(made.path, change)
    assert not (await verify(path, datadir.root)).own
    assert not backup_signature.made_here(path, datadir.root, MANIFEST, MANIFEST_BYTES)
    before = sorted(each.name for each in datadir.root.iterdir())
    with raises_code(StorageError, "from_elsewhere", match="--from-elsewhere"):
        await restore(path, datadir)
    assert sorted(each.name for each in datadir.root.iterdir()) == before, "nothing was changed"
    assert not (await restore(path, datadir, from_elsewhere=True)).own
    assert backup_signature.marked(datadir.root) == backup_signature.GRANTS


@pytest.mark.parametrize("key", ["none", "another", "empty", "a folder"])
async def test_on_a_new_machine_a_backup_is_foreign(made: BackupInfo, tmp_path: Path, key: str) -> None:
    fresh = DataDir(tmp_path / "fresh").ensure()
    if key == "a folder":
        (fresh.root / backup_signature.KEY).mkdir()
    elif key != "none":
        (fresh.root / backup_signature.KEY).write_bytes(b"k" * 32 if key == "another" else b"")
    with pytest.raises(StorageError, match="--from-elsewhere"):
        await restore(made.path, fresh)
    assert not (await restore(made.path, fresh, from_elsewhere=True)).own


async def test_backups_before_a_migration_are_the_folders_own(made: BackupInfo, datadir: DataDir) -> None:
    assert backup_signature.is_own(datadir.root, json.loads(zipfile.ZipFile(made.path).read(MANIFEST)))
    backup_file.pack(
        datadir.root, datadir.root, datadir.backups / "before.zip", {"format": 1, "schema": 1, "counts": {}}
    )
    assert backup_signature.made_here(datadir.backups / "before.zip", datadir.root, MANIFEST, MANIFEST_BYTES)


async def test_the_foreign_mark_is_set_before_the_data_and_survives_a_kill(made: BackupInfo, datadir: DataDir) -> None:
    ready = datadir.root / "restoring-1"
    (ready / "database").mkdir(parents=True)
    backup_signature.mark(ready)
    (datadir.root / "tools").rename(datadir.root / "elsewhere")
    (ready / "tools").write_text("not a folder")  # so that nothing is moved into its place
    finish_restore(datadir.root)
    assert backup_signature.marked(datadir.root) == backup_signature.GRANTS
    (datadir.root / "restoring-2" / "database").mkdir(parents=True)
    finish_restore(datadir.root)
    assert backup_signature.marked(datadir.root) == b"", "one of its own takes the place of both"


async def test_a_kill_at_the_end_of_a_restore_keeps_the_mark(datadir: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    ready = datadir.root / "restoring-1"
    (ready / "database").mkdir(parents=True)
    backup_signature.mark(ready)

    def killed(path: Path) -> None:
        (path / backup_signature.MARKER).unlink()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            finish_restore(datadir.root)
    finish_restore(datadir.root)
    assert backup_signature.marked(datadir.root) == backup_signature.GRANTS
    assert not list(datadir.root.glob("*ing-*"))


async def test_a_file_that_is_no_backup_has_no_origin(datadir: DataDir, tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(b"PK")
    for path in (tmp_path / "x.zip", tmp_path / "missing.zip", tmp_path):
        assert not backup_signature.made_here(path, datadir.root, MANIFEST, MANIFEST_BYTES)


@pytest.mark.parametrize("stage", [backup_signature.GRANTS, backup_signature.RUNS])
async def test_a_backup_made_while_foreign_rights_are_active_is_not_signed(datadir: DataDir, stage: bytes) -> None:
    """Like the one before a migration: restoring it as this folder's own would put all grants in force."""
    async with await Store.open(datadir.database) as store:
        backup_signature.mark(datadir.root, stage)
        info = await backup.create(store, datadir, datadir.backups / "between.zip")
    assert not (await verify(info.path, datadir.root)).own


ACTING = (
    "DEFINE FIELD OVERWRITE held ON permission_rule TYPE option<bool> VALUE false",
    "DEFINE FIELD OVERWRITE held ON permission_rule TYPE option<bool> READONLY",
    "DEFINE EVENT ev ON permission_rule WHEN $event = 'UPDATE' THEN (UPDATE $after.id SET held = NONE)",
    "DEFINE EVENT late ON run WHEN $event = 'CREATE' THEN (UPDATE permission_rule SET held = NONE)",
    "DEFINE FUNCTION fn::evil() { RETURN 1 }",
    "DEFINE TABLE view AS SELECT * FROM permission_rule",
    "DEFINE USER me ON DATABASE PASSWORD 'x' ROLES OWNER",
)


@pytest.mark.parametrize("statement", ACTING, ids=lambda text: " ".join(text.split()[:4]))
async def test_active_definitions_are_foreign(template: DataDir, tmp_path: Path, statement: str) -> None:
    shutil.copytree(template.database, tmp_path / "database")
    engine = await Engine.open(tmp_path / "database", fsync=False)
    assert all(outcome.ok for outcome in await engine.run(statement, {}))
    assert await migration_registry.foreign_definitions(engine, SystemClock())
    await engine.close()


async def test_a_foreign_database_with_active_definitions_is_refused(template: DataDir, tmp_path: Path) -> None:
    foreign, here = DataDir(tmp_path / "foreign").ensure(), DataDir(tmp_path / "here").ensure()
    shutil.copytree(template.database, foreign.database, dirs_exist_ok=True)
    engine = await Engine.open(foreign.database, fsync=False)
    assert all(outcome.ok for outcome in await engine.run(ACTING[0], {}))
    await engine.close()
    async with await Store.open(foreign.database, fsync=False) as store:
        await backup.create(store, foreign, foreign.backups / "evil.zip")
    with raises_code(StorageError, "damaged", match="contains definitions that Atelier did not create"):
        await restore(foreign.backups / "evil.zip", here, from_elsewhere=True)
    assert not here.database.exists(), "nothing was put in place"
