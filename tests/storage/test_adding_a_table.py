"""A new table as a contributor would add it: model, migration, repository, and its entry where a workflow's rows
are deleted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from atelier_desk.domain.base_model import Model, Timestamp, new_id, utc_now
from atelier_desk.domain.errors import StorageError
from atelier_desk.storage import damage_report, migration_registry, migrations, row_mapping, tables
from atelier_desk.storage.damaged_row_search import damaged_anywhere
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.repositories.base_repository import Repository, upsert
from atelier_desk.storage.row_mapping import Table
from atelier_desk.storage.store import Statement, Store

NEXT = migration_registry.latest() + 1
MIGRATION = '''"""Postcards: pictures that a workflow sends."""

from atelier_desk.storage.migration_registry import Migrator, migration


@migration(LATEST, NEXT, "postcards")
async def postcards(db: Migrator) -> None:
    link = "record<workflow> REFERENCE ON DELETE CASCADE READONLY"
    fields = {"workflow": link, "text": "string", "stamps": "string", "sent_at": "datetime", "hash": "option<bytes>"}
    defined = ";".join(f"DEFINE FIELD IF NOT EXISTS {name} ON postcard TYPE {kind}" for name, kind in fields.items())
    await db.run(f"DEFINE TABLE IF NOT EXISTS postcard SCHEMAFULL; {defined};")
'''.replace("NEXT", str(NEXT)).replace("LATEST", str(migration_registry.latest()))


class Postcard(Model):
    id: str
    workflow_id: str
    text: str
    stamps: dict[str, int] = {}
    sent_at: Timestamp


class Postcards(Repository[Postcard]):
    what = "postcard"

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.table = Table(
            "postcard",
            Postcard,
            links={"workflow_id": "workflow"},
            json_fields={"stamps"},
            hashed="The postcard {row} is damaged.",
        )

    async def save(self, card: Postcard) -> None:
        await self._store.write(upsert(self.table, card))


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Adds the new file to the migrations; it is found by its name."""
    migration_registry.migrations()
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "postcards.py").write_text(MIGRATION)
    monkeypatch.setattr(migrations, "__path__", [*migrations.__path__, str(tmp_path / "more")])
    monkeypatch.setattr(migration_registry, "_registry", dict(migration_registry._registry))
    monkeypatch.setattr(tables, "OWNED", ("postcard", *tables.OWNED))
    # Forgotten again afterwards: a table registers itself.
    monkeypatch.setitem(row_mapping.HASHED_TABLES, "postcard", tables.TASKS)
    monkeypatch.setitem(damage_report.WHERE, ("postcard", damage_report.CHANGED), "")
    yield
    sys.modules.pop("atelier_desk.storage.migrations.postcards", None)


async def test_its_rows_are_stored_read_and_deleted_with_their_workflow(added: None, datadir: DataDir) -> None:
    from atelier_desk.domain.workflow import Workflow

    async with await Store.open(datadir.database) as store:
        assert store.version == NEXT
        repos, postcards = Repositories(store, datadir), Postcards(store)
        workflow = await repos.workflows.create(Workflow(name="Holiday"))
        card = Postcard(
            id=new_id(), workflow_id=workflow.id, text="Wish you were here", stamps={"blue": 2}, sent_at=utc_now()
        )
        await postcards.save(card)
        assert await postcards.get(card.id) == card
        assert await damaged_anywhere(store) == []
        other = card.model_copy(update={"id": new_id()})
        await postcards.save(other)
        await store.write(Statement("UPDATE $row SET text = 'Wish'", {"row": postcards.table.record(other.id)}))
        [found] = await damaged_anywhere(store)
        assert str(found.error()) == f"The postcard {other.id} is damaged."
        with pytest.raises(StorageError, match=f"The postcard {other.id}"):
            await postcards.get(other.id)
    async with await Store.open(datadir.database) as store:
        assert await Postcards(store).get(card.id) == card
        removed = await Repositories(store, datadir).workflows.purge(workflow.id)
        assert removed["postcard"] == 2
        assert (await store.counts())["postcard"] == 0
