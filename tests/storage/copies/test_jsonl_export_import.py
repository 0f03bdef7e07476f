"""The logical export is exact, readable and validated."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import json
import os
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.agent import Agent, AgentConfig
from atelier_desk.domain.approval import ApprovalRequest
from atelier_desk.domain.errors import ConflictError, StorageError
from atelier_desk.domain.events.run import RunEvent, UserMessage
from atelier_desk.domain.memory import Memory, MemoryType
from atelier_desk.domain.provider import ModelInfo, ProviderConfig
from atelier_desk.domain.system_prompt_and_tools import PromptFrame
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import Message, MessageRole, Report, Run, ToolExecution, Workflow
from atelier_desk.storage import damaged_row_search, table_pages, tables
from atelier_desk.storage.copies import jsonl_export_import
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.row_mapping import Table, record
from atelier_desk.storage.store import Statement, Store
from atelier_desk.storage.writing.journal_commit import Commit
from tests.helpers.error_codes import raises_code
from tests.storage.model_strategies import JSON, TIMES
from tests.storage.samples.unpack_sample import SAMPLES, versions

OLDEST = min(versions())
"""The oldest version whose folders are opened."""
BIG = {"big": 2**70}


async def fill(repos: Repositories, messages: int = 3) -> Workflow:
    """Something in nearly every table."""
    workflow = await repos.workflows.create(
        Workflow(name="été \0 'x'", head_run_id="run", stream_seq=1, workspace=("/a", "/b"))
    )
    run = Run(id="run", workflow_id=workflow.id)
    await repos.journal.commit(
        Commit(
            events=(RunEvent(workflow_id=workflow.id, run_id="run", seq=1, body=UserMessage(content="é")),),
            runs=(run,),
            messages=tuple(
                Message(
                    workflow_id=workflow.id,
                    run_id="run",
                    seq=seq,
                    role=MessageRole.USER,
                    content=f"message {seq}",
                    details={"big": 2**70},
                )
                for seq in range(1, messages + 1)
            ),
            executions=(
                ToolExecution(
                    id="run:c", workflow_id=workflow.id, run_id="run", call_id="c", tool="t", result={"a": None}
                ),
            ),
            approvals=(
                ApprovalRequest(workflow_id=workflow.id, run_id="run", call_id="c", tool="t", arguments={"a": None}),
            ),
            frames=(PromptFrame(id="frame", workflow_id=workflow.id, system="é"),),
            tasks=(Task(workflow_id=workflow.id, name="task"),),
        )
    )
    await repos.memories.save(
        Memory(type=MemoryType.KNOWLEDGE, content="fact", workflow_id=workflow.id, embedder="e"), np.array([0.5, -1.0])
    )
    await repos.reports.save(Report(workflow_id=workflow.id, name="Plan"), "# Plan")
    await repos.providers.save(ProviderConfig(name="p", kind="ollama"))
    await repos.models.save(ModelInfo(provider="p", name="m:1/x", price_input=0.5))
    await repos.agents.save(Agent(config=AgentConfig(name="A", provider="p", model="m")))
    return workflow


def content(folder: Path) -> dict[str, Any]:
    """Every exported file except the time of the export."""
    found: dict[str, Any] = {path.name: path.read_text() for path in folder.glob("*.jsonl")}
    manifest = json.loads((folder / jsonl_export_import.MANIFEST).read_text())
    return {**found, "manifest": {**manifest, "created_at": ""}}


async def test_export_and_import_are_exact(repos: Repositories, tmp_path: Path) -> None:
    workflow = await fill(repos)
    written = await jsonl_export_import.export_jsonl(repos.store, tmp_path / "one", datadir=repos.datadir)
    other_dir = DataDir(tmp_path / "other").ensure()
    async with await Store.open(other_dir.database) as store:
        read = await jsonl_export_import.import_jsonl(store, tmp_path / "one", datadir=other_dir)
        assert read.counts == written.counts
        other = Repositories(store, other_dir)
        assert await other.workflows.list() == await repos.workflows.list()
        assert await other.messages.page(workflow.id) == await repos.messages.page(workflow.id)
        assert await other.reports.read(workflow.id, "Plan") == "# Plan"
        assert (await other.memories.vectors("e"))[1].tolist() == [[0.5, -1.0]]
        assert (await other.history.search("message"))[0].kind == "message", "the search index was built"
        await jsonl_export_import.export_jsonl(store, tmp_path / "two", datadir=other_dir)
    assert content(tmp_path / "one") == content(tmp_path / "two")


async def test_more_rows_than_a_page_are_exported(
    repos: Repositories, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl_export_import, "PAGE", 7)
    monkeypatch.setattr(table_pages, "READ_PAGE", 7)
    await fill(repos, messages=50)
    seen: list[int] = []
    written = await jsonl_export_import.export_jsonl(repos.store, tmp_path / "out", progress=seen.append)
    assert written.counts["message"] == 50
    assert seen == sorted(seen)
    assert seen[-1] == sum(written.counts.values())
    async with await Store.open(None) as store:
        assert (await jsonl_export_import.import_jsonl(store, tmp_path / "out")).counts["message"] == 50


async def test_an_export_that_fills_the_disk_leaves_its_folder_empty(
    repos: Repositories, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(repos)

    def full(*_given: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(jsonl_export_import, "write_atomic", full)
        with pytest.raises(StorageError) as caught:
            await jsonl_export_import.export_jsonl(repos.store, tmp_path / "out", datadir=repos.datadir)
    assert (caught.value.code, caught.value.params["path"]) == ("disk_full", tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())
    await jsonl_export_import.export_jsonl(repos.store, tmp_path / "out", datadir=repos.datadir)


async def test_one_file_of_json_lines_per_table(repos: Repositories, tmp_path: Path) -> None:
    await fill(repos)
    written = await jsonl_export_import.export_jsonl(repos.store, tmp_path / "out")
    assert {path.stem for path in (tmp_path / "out").glob("*.jsonl")} == set(written.counts)
    lines = (tmp_path / "out" / "message.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["seq"] for line in lines) == [1, 2, 3]
    assert "back" not in json.loads(lines[0]), "what the schema computes is not exported"


async def test_an_export_of_a_newer_version_is_refused(store: Store, tmp_path: Path) -> None:
    await jsonl_export_import.export_jsonl(store, tmp_path / "out")
    for change in ({"schema": 99}, {"format": 99}):
        manifest = json.loads((tmp_path / "out" / jsonl_export_import.MANIFEST).read_text())
        folder = tmp_path / f"newer {next(iter(change))}"
        folder.mkdir()
        (folder / jsonl_export_import.MANIFEST).write_text(json.dumps({**manifest, **change}))
        with raises_code(StorageError, "newer_schema"):
            await jsonl_export_import.import_jsonl(store, folder)


@pytest.mark.parametrize(
    "kind", ["cut line", "missing line", "missing file", "unknown table", "no manifest", "bad name"]
)
async def test_a_damaged_export_leaves_the_database_empty(repos: Repositories, tmp_path: Path, kind: str) -> None:
    await fill(repos)
    folder = tmp_path / "out"
    await jsonl_export_import.export_jsonl(repos.store, folder)
    messages, manifest = folder / "message.jsonl", folder / jsonl_export_import.MANIFEST
    if kind == "cut line":
        messages.write_bytes(messages.read_bytes()[:-20])
    elif kind == "missing line":
        messages.write_text("\n".join(messages.read_text().splitlines()[:-1]) + "\n")
    elif kind == "missing file":
        messages.unlink()
    elif kind == "no manifest":
        manifest.unlink()
    else:
        listed = json.loads(manifest.read_text())
        listed["counts"]["strange" if kind == "unknown table" else "x; DELETE workflow"] = 1
        manifest.write_text(json.dumps(listed))
    async with await Store.open(None) as store:
        with raises_code(StorageError, "damaged"):
            await jsonl_export_import.import_jsonl(store, folder)
        assert sum(count for table, count in (await store.counts()).items() if table != "schema_version") == 0


async def test_import_refuses_a_database_in_use_and_export_a_folder_in_use(repos: Repositories, tmp_path: Path) -> None:
    await fill(repos)
    await jsonl_export_import.export_jsonl(repos.store, tmp_path / "out")
    with pytest.raises(ConflictError):
        await jsonl_export_import.import_jsonl(repos.store, tmp_path / "out")
    with pytest.raises(ConflictError):
        await jsonl_export_import.export_jsonl(repos.store, tmp_path / "out")
    assert len(await repos.workflows.list()) == 1


VALUES = st.recursive(
    JSON
    | TIMES
    | st.binary(max_size=20)
    | st.builds(record, st.just("run"), st.text(min_size=1) | st.lists(st.text(), min_size=1, max_size=2)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text() | st.sampled_from(["$time", "$bytes", "$object"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(VALUES)
def test_any_value_survives_json(value: Any) -> None:
    assert jsonl_export_import.from_plain(json.loads(json.dumps(jsonl_export_import.to_plain(value)))) == value


def test_times_are_human_readable() -> None:
    assert jsonl_export_import.to_plain(datetime(2026, 1, 2, tzinfo=UTC)) == {"$time": "2026-01-02T00:00:00+00:00"}


async def test_modified_files_are_refused_until_their_line_is_removed(repos: Repositories, tmp_path: Path) -> None:
    workflow = await fill(repos)
    (repos.datadir.tools / "mine.py").write_text("mine")
    (repos.datadir.attachments / "a.png").write_bytes(b"picture")
    await jsonl_export_import.export_jsonl(repos.store, tmp_path / "one", datadir=repos.datadir)
    report = tmp_path / "one" / "reports" / workflow.id / "Plan.md"
    report.write_text("# Changed")
    manifest = tmp_path / "one" / jsonl_export_import.MANIFEST
    other_dir = DataDir(tmp_path / "other").ensure()
    async with await Store.open(other_dir.database) as store:
        with pytest.raises(StorageError) as caught:
            await jsonl_export_import.import_jsonl(store, tmp_path / "one", datadir=other_dir)
        assert (caught.value.code, caught.value.params["path"]) == ("damaged", report)
        assert (await store.counts())["workflow"] == 0
        listed = json.loads(manifest.read_text())
        del listed["files"][f"reports/{workflow.id}/Plan.md"]
        manifest.write_text(json.dumps(listed))
        await jsonl_export_import.import_jsonl(store, tmp_path / "one", datadir=other_dir)
        assert (other_dir.tools / "mine.py").read_text() == "mine"
        assert (other_dir.attachments / "a.png").read_bytes() == b"picture"
        other = Repositories(store, other_dir)
        with raises_code(StorageError, "damaged_file"):
            await other.reports.read(workflow.id, "Plan")
        await other.reports.accept(workflow.id, "Plan")
        assert await other.reports.read(workflow.id, "Plan") == "# Changed"


@pytest.mark.parametrize("version", range(1, OLDEST))
async def test_an_export_of_a_version_whose_folders_are_refused_is_read(
    repos: Repositories, store: Store, tmp_path: Path, version: int
) -> None:
    """The advice of ``older_schema`` holds: ``samples/exports.tar.xz`` has what a program of each version exported."""
    with tarfile.open(SAMPLES / "exports.tar.xz") as archive:
        archive.extractall(tmp_path, [one for one in archive if one.name.split("/")[0] == str(version)], filter="data")
    datadir = DataDir(tmp_path / "data").ensure()
    done = await jsonl_export_import.import_jsonl(store, tmp_path / str(version), datadir=datadir)
    assert (done.schema, done.counts["run_event"] > 40) == (version, True)
    for table in vars(tables).values():
        if isinstance(table, Table):
            found = await store.query(f"SELECT {table.columns} FROM {table.name}")
            assert len(table.decode_all(found)) == done.counts.get(table.name, 0), table.name
    for name in await store.tables():  # a row that lacks a field could be read, but not written
        await store.write(Statement(f"UPDATE {name} RETURN NONE", {}))
    assert await damaged_row_search.damaged_anywhere(store) == []
    home = next(path.name for path in (tmp_path / str(version) / "reports").iterdir())
    assert "The train to Lyon leaves at 07:58." in str(await repos.journal.workflow_events(home))
    assert await Repositories(store, datadir).reports.read(home, "journey") == "# Journey\n\nÀ Lyon, 07:58.\n"


def changed(folder: Path, **rows: list[dict[str, Any]] | None) -> None:
    """Write an export's tables anew (None: by hand) and adapt its manifest, as a forger would; no hashes are listed."""
    manifest = json.loads((folder / jsonl_export_import.MANIFEST).read_text()) | {"files": {}}
    for table, found in rows.items():
        if found is not None:
            (folder / f"{table}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in found))
            manifest["counts"][table] = len(found)
    (folder / jsonl_export_import.MANIFEST).write_text(json.dumps(manifest))


async def refused(folder: Path) -> None:
    """An import of the folder is refused and changes nothing, in a moment."""
    async with await Store.open(None) as store:
        before = await store.query("SELECT * FROM schema_version")
        async with asyncio.timeout(60):
            with pytest.raises(StorageError) as caught:
                await jsonl_export_import.import_jsonl(store, folder)
        assert caught.value.code == "damaged"
        assert await store.query("SELECT * FROM schema_version") == before
        assert sum(count for table, count in (await store.counts()).items() if table != "schema_version") == 0


async def test_an_export_does_not_set_the_version_of_the_data_folder(repos: Repositories, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    await jsonl_export_import.export_jsonl(repos.store, folder)
    changed(folder, schema_version=[{"id": {"$record": ["schema_version", "current"]}, "version": 1}])
    await refused(folder)


@pytest.mark.parametrize(
    "id", [{"$record": ["schema_version", "current"]}, {"$record": ["setting", "x"]}, "setting:x", None, 3]
)
async def test_a_row_is_written_into_no_other_table(repos: Repositories, tmp_path: Path, id: Any) -> None:
    folder = tmp_path / "out"
    await jsonl_export_import.export_jsonl(repos.store, folder)
    changed(folder, prompt=[{"id": id, "version": 1}])
    await refused(folder)


@pytest.mark.parametrize("name", ["/etc/hostname", "../secret.txt", "link.txt", "reports/../../secret.txt"])
async def test_no_file_elsewhere_is_named(repos: Repositories, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "out"
    await jsonl_export_import.export_jsonl(repos.store, folder)
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    manifest = json.loads((folder / jsonl_export_import.MANIFEST).read_text())
    path = folder / name
    manifest["files"] = {name: hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""}
    (folder / jsonl_export_import.MANIFEST).write_text(json.dumps(manifest))
    await refused(folder)


@pytest.mark.parametrize("name", [jsonl_export_import.MANIFEST, "prompt.jsonl"])
@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
async def test_pipes_and_links_are_not_read(repos: Repositories, tmp_path: Path, name: str, kind: str) -> None:
    folder = tmp_path / "out"
    await jsonl_export_import.export_jsonl(repos.store, folder)
    changed(folder)
    (folder / name).rename(tmp_path / "elsewhere")
    if kind == "pipe":
        os.mkfifo(folder / name)
    elif kind == "link":
        (folder / name).symlink_to(tmp_path / "elsewhere")
    else:
        (folder / name).mkdir()
    await refused(folder)


@pytest.mark.parametrize(
    "line",
    [
        "[" * 200_000,
        '{"id":' * 200_000,
        "[]",
        "3",
        '{"id": {"$record": []}}',
        "{" + " " * 70,
        '{"id": {"$record": ["prompt", "x"]}, "name": "\\ud800"}',
        '{"id": {"$record": ["prompt", "x"]}, "name": 9223372036854775808}',
    ],
)
async def test_rows_of_no_form_are_refused(
    repos: Repositories, tmp_path: Path, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    await jsonl_export_import.export_jsonl(repos.store, folder)
    changed(folder)
    (folder / "prompt.jsonl").write_text(line + "\n")
    await refused(folder)
    monkeypatch.setattr(jsonl_export_import, "LINE_BYTES", 10)
    await refused(folder)


async def test_links_and_pipes_among_the_files_are_left_out(repos: Repositories, tmp_path: Path) -> None:
    folder, secret = tmp_path / "out", tmp_path / "secret"
    await jsonl_export_import.export_jsonl(repos.store, folder)
    changed(folder)
    secret.mkdir()
    (secret / "key").write_text("secret")
    (folder / "tools").symlink_to(secret)
    (folder / "attachments" / "w").mkdir(parents=True)
    (folder / "attachments" / "a.png").write_bytes(b"picture")
    (folder / "attachments" / "w" / "b").symlink_to(secret / "key")
    os.mkfifo(folder / "attachments" / "w" / "c")
    other = DataDir(tmp_path / "other").ensure()
    async with await Store.open(other.database) as store, asyncio.timeout(60):
        await jsonl_export_import.import_jsonl(store, folder, datadir=other)
    assert [each.name for each in other.attachments.rglob("*") if each.is_file()] == ["a.png"]
    assert list(other.tools.iterdir()) == []
