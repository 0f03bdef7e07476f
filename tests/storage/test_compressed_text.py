"""Texts survive compression; rows of earlier versions and damaged bytes are recognised."""

from __future__ import annotations

import hashlib
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.audit import AuditDecision, AuditEntry
from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.workflow import Message, MessageRole, Run, Workflow
from atelier_desk.storage import compressed_text as packing
from atelier_desk.storage import tables
from atelier_desk.storage.compressed_text import COLUMNS, pack, packed, readable, unpack, unpacked
from atelier_desk.storage.copies.jsonl_export_import import export_jsonl, import_jsonl
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.row_mapping import record
from atelier_desk.storage.store import Statement, Store
from atelier_desk.storage.writing.journal_commit import Commit
from tests.helpers.error_codes import raises_code

LONG = "A heron stands in the river, and what it looks at is a fish. " * 20
DICTIONARY_1 = "aadae830dfbbb5b461ab4de8e9de5f1591664bb79e7bf452462542eb5cf65782"
USAGE = (
    '{"tokens_input":11,"tokens_output":7,"tokens_cached":0,'
    '"tokens_stored":0,"tokens_reasoning":0,"cost":0.0,"estimated":false}'
)
ARGUMENTS = '{"operation":"eval","expression":"7*7"}'


@given(st.one_of(st.text(), st.text(min_size=100).map(lambda text: text * 5)))
def test_every_text_survives(text: str) -> None:
    stored = pack(text)
    assert unpack(stored) == text
    assert isinstance(stored, str) or len(stored) < len(text.encode())


@pytest.mark.parametrize(("text", "at_most"), [(LONG, 100), (USAGE, 30), (ARGUMENTS, 24)])
def test_repetitive_text_and_journal_rows_become_short(text: str, at_most: int) -> None:
    assert len(pack(text)) <= at_most


@pytest.mark.parametrize("text", ["", "short", "\ud83d" + "half a character " * 10, "x" * 31])
def test_text_that_gains_nothing_or_cannot_be_encoded_is_stored_as_text(text: str) -> None:
    assert pack(text) == text


def test_rows_need_the_dictionary_they_were_written_with() -> None:
    assert hashlib.sha256(packing._DICTIONARY).hexdigest() == DICTIONARY_1


PACKED = pack(LONG)
assert isinstance(PACKED, bytes)
BOMB = b"\x01" + zlib.compress(bytes(packing.LARGEST + 1), wbits=-15)


@pytest.mark.parametrize(
    "stored",
    [b"", b"\x02abc", b"\x01", b"\x01\xff\xff", PACKED[:-2], PACKED + b"x", BOMB],
    ids=range(7),
)
def test_bytes_that_are_no_compressed_text_are_refused(stored: bytes) -> None:
    with pytest.raises(ValueError):
        unpack(stored)
    assert readable("message", {"content": stored, "hash": b"1"}) == {"content": "", "hash": b"1"}


def test_only_texts_of_some_columns_are_compressed() -> None:
    row = {"content": LONG, "details": LONG, "hash": b"x", "usage": None}
    assert packed("message", row) == {**row, "content": pack(LONG)}
    assert packed("task", row) == row
    assert unpacked("message", packed("message", row)) == row


async def test_rows_of_earlier_versions_and_compressed_ones_are_read_alike(repos: Repositories, store: Store) -> None:
    workflow = await repos.workflows.create(Workflow(name="w"))
    new, old = (
        Message(workflow_id=workflow.id, run_id="r", seq=seq, role=MessageRole.USER, content=LONG) for seq in (1, 2)
    )
    await repos.journal.commit(Commit(messages=(new, old)))
    plain = unpacked("message", tables.MESSAGES.encode(old))
    await store.write(Statement("UPSERT $row CONTENT $plain RETURN NONE", {"row": plain["id"], "plain": plain}))
    stored = await store.query("SELECT VALUE content FROM message ORDER BY seq")
    assert [type(each) for each in stored] == [bytes, str]
    assert await repos.messages.page(workflow.id) == [new, old]


async def test_damaged_bytes_are_a_damaged_row(repos: Repositories, store: Store) -> None:
    workflow = await repos.workflows.create(Workflow(name="w"))
    message = Message(workflow_id=workflow.id, run_id="r", seq=1, role=MessageRole.USER, content=LONG)
    await repos.journal.commit(
        Commit(messages=(message,), runs=(Run(id="r", workflow_id=workflow.id, agent_name="a"),))
    )
    for table, column in (("message", "content"), ("run", "usage")):
        await store.write(Statement(f"UPDATE {table} SET {column} = $bytes RETURN NONE", {"bytes": b"\x01\xff\xff"}))
    for reading in (repos.messages.get(message.id), repos.runs.get("r")):
        with raises_code(StorageError, "damaged_row"):
            await reading
    (shown,) = await repos.messages.page(workflow.id)
    assert shown.kind == "damaged"


async def test_no_query_uses_a_compressed_column(store: Store) -> None:
    """An index or a condition would see the compressed bytes."""
    for table, columns in COLUMNS.items():
        indexes = (await store.query_all(f"INFO FOR TABLE {table}"))[0]["indexes"].values()
        assert not [text for text in indexes for column in columns if f" {column}" in text.partition("FIELDS")[2]]


async def test_a_purged_run_deletes_its_audit_entries(disk_store: Store, datadir: DataDir) -> None:
    repos = Repositories(disk_store, datadir)
    workflow = await repos.workflows.create(Workflow(name="w"))
    runs = tuple(Run(id=id, workflow_id=workflow.id, agent_name="a") for id in ("r1", "r2", "r3"))
    entries = tuple(
        AuditEntry(
            workflow_id=workflow.id, run_id=run.id, call_id=f"{run.id}{n}", tool="t", decision=AuditDecision.ALLOWED
        )
        for run in runs
        for n in range(3)
    )
    await repos.journal.commit(Commit(runs=runs, audit=entries))
    await repos.runs.purge(["r1", "r3"])
    assert await disk_store.query("SELECT VALUE run FROM audit") == [record("run", "r2")] * 3


async def test_an_export_has_plain_texts_and_an_import_compresses_them(
    repos: Repositories, store: Store, datadir: DataDir, tmp_path: Path
) -> None:
    workflow = await repos.workflows.create(Workflow(name="w"))
    message = Message(workflow_id=workflow.id, run_id="r", seq=1, role=MessageRole.USER, content=LONG)
    await repos.journal.commit(Commit(messages=(message,)))
    await export_jsonl(store, tmp_path / "export")
    assert LONG in (tmp_path / "export" / "message.jsonl").read_text()
    async with await Store.open(None) as other:
        await import_jsonl(other, tmp_path / "export")
        assert await other.query("SELECT VALUE content FROM message") == [pack(LONG)]
        assert await Repositories(other, datadir).messages.page(workflow.id) == [message]
