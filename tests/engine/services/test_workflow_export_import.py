"""Exporting and importing a workflow: what is restored, and what a file cannot do."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest

from atelier_desk.domain import limits
from atelier_desk.domain.approval import ApprovalRequest, ApprovalStatus
from atelier_desk.domain.base_model import new_id
from atelier_desk.domain.errors import ConflictError, LimitError, StorageError, UsageError
from atelier_desk.domain.memory import MemoryType
from atelier_desk.domain.question import QuestionSpec, QuestionType, UserQuestion
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.domain.workflow import MessageRole, RunStatus
from atelier_desk.engine import Atelier
from atelier_desk.engine.services.common.import_conflict_choice import OnConflict
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.storage.writing.journal_commit import Commit
from tests.engine.conftest import Opener, create_workflow, exported_workflow, stored_status
from tests.engine.services.sample_workflow import AGENT, STEPS, full_workflow, turn


def as_told_here(file: dict[str, Any]) -> dict[str, Any]:
    """An exported file without what the import marks: all of it as outside content, and its requests."""
    for each in (
        file["workflow"],
        *file["runs"],
        *(event["body"] for event in file["events"] if event["body"]["type"] == "run_started"),
    ):
        assert [name.endswith(" (imported)") for name in each["tainted"]] == [True]
        each["tainted"] = []
    marks = [event["body"].pop("imported", False) for event in file["events"]]
    assert marks == [bool(event["body"].get("usage", {}).get("tokens_input")) for event in file["events"]]
    return file


async def test_an_exported_workflow_is_imported_unchanged(open_atelier: Opener, tmp_path: Path) -> None:
    async with open_atelier(ScriptedModel([*STEPS, "and more"])) as atelier:
        workflow_id = await full_workflow(atelier)
        text = await atelier.workflows.export(workflow_id)
        rows = await atelier.store.counts()
        replayed = [event.wire() async for event in atelier.runs.replay(workflow_id)]
        await atelier.workflows.purge(workflow_id)
        imported = await atelier.workflows.import_(text)
        assert (imported.action, imported.workflow.id) == ("created", workflow_id)
        assert await atelier.store.counts() == rows | {"audit": 0, "spent": 2}, (
            "what was decided elsewhere is not told of as decided here; what was spent here stays"
        )
        assert [event.wire() async for event in atelier.runs.replay(workflow_id)] == replayed
        assert await atelier.reports.read(workflow_id, "Findings") == "# Findings\n\nétude"
        again = as_told_here(await exported_workflow(atelier, workflow_id))
        first = json.loads(text)
        for volatile in ("exported_at", "memories"):
            again.pop(volatile)
            first.pop(volatile)
        assert again == first
        await turn(atelier, workflow_id, "go on")
        entries = await atelier.workflows.transcript(workflow_id)
        assert entries[-1].message.content == "and more"


@pytest.mark.parametrize("format", ["json", "md"])
async def test_no_format_has_the_unsent_draft(open_atelier: Opener, format: str) -> None:
    async with open_atelier(ScriptedModel(STEPS)) as atelier:
        workflow_id = await full_workflow(atelier)
        await atelier.workflows.set_draft(workflow_id, "My salary is a secret")
        assert "salary" not in await atelier.workflows.export(workflow_id, format)
        assert (await atelier.workflows.get(workflow_id)).draft == "My salary is a secret"


async def test_a_workflow_of_the_future_is_no_newer_than_its_import(atelier: Atelier) -> None:
    file = await exported_workflow(atelier, (await atelier.workflows.create("theirs")).id)
    file["workflow"] |= {"id": new_id(), "created_at": "2198-01-01T00:00:00Z", "updated_at": "2198-01-01T00:00:00Z"}
    await atelier.workflows.import_(json.dumps(file))
    mine = await atelier.workflows.create("mine")
    assert (await atelier.workflows.latest()).id == mine.id


async def test_a_preview_describes_the_file_and_stores_nothing(open_atelier: Opener) -> None:
    async with open_atelier(ScriptedModel(STEPS)) as atelier:
        workflow_id = await full_workflow(atelier)
        text = await atelier.workflows.export(workflow_id)
        name = (await atelier.workflows.get(workflow_id)).name
        entries = await atelier.workflows.transcript(workflow_id)
        said = [each for each in entries if each.message.role in (MessageRole.USER, MessageRole.ASSISTANT)]
        here = await atelier.workflows.preview(text)
        assert (here.title, here.messages, here.source) == (name, len(said), "")
        assert (here.there, here.deleted, here.new_turns) == (workflow_id, False, 0)
        await atelier.workflows.delete(workflow_id)
        assert (await atelier.workflows.preview(text)).deleted
        await atelier.workflows.purge(workflow_id)
        rows = await atelier.store.counts()
        gone = await atelier.workflows.preview(text)
        assert (gone.there, gone.new_turns > 0) == ("", True)
        assert await atelier.store.counts() == rows
        with pytest.raises(UsageError, match="not a workflow file"):
            await atelier.workflows.preview("{}")


@pytest.mark.parametrize(
    ("rule", "action", "count"), [("skip", "skipped", 1), ("overwrite", "overwritten", 1), ("rename", "renamed", 2)]
)
async def test_an_existing_workflow_is_not_overwritten_without_a_request(
    open_atelier: Opener, rule: str, action: str, count: int
) -> None:
    async with open_atelier(ScriptedModel(STEPS)) as atelier:
        workflow_id = await full_workflow(atelier)
        text = await atelier.workflows.export(workflow_id)
        await atelier.workflows.rename(workflow_id, "Changed")
        imported = await atelier.workflows.import_(text, rule)
        assert imported.action == action
        workflows = await atelier.workflows.list()
        assert len(workflows) == count
        names = {each.name for each in workflows}
        assert names == {"skip": {"Changed"}, "overwrite": {"Everything"}, "rename": {"Changed", "Everything"}}[rule]


async def test_a_copy_shares_no_row_with_its_original(open_atelier: Opener) -> None:
    async with open_atelier(ScriptedModel(STEPS)) as atelier:
        workflow_id = await full_workflow(atelier)
        copy = await atelier.workflows.duplicate(workflow_id)
        assert copy.name == "Everything (2)"
        assert copy.id != workflow_id
        tasks = {task.name: task for task in await atelier.tasks.list(copy.id)}
        assert tasks["Second"].dependencies == (tasks["First"].id,)
        entries = await atelier.workflows.transcript(copy.id)
        assert [entry.message.content for entry in entries if entry.message.role is MessageRole.USER] == [
            "What is 6*7?"
        ]
        assert any(entry.calls for entry in entries)
        before = await atelier.store.counts()
        await atelier.workflows.purge(copy.id)
        after = await atelier.store.counts()
        assert after["workflow"] == before["workflow"] - 1
        assert len(await atelier.tasks.list(workflow_id)) == 2
        assert await atelier.reports.read(workflow_id, "Findings")


async def test_an_active_run_is_imported_paused(open_atelier: Opener) -> None:
    import asyncio

    gate = asyncio.Event()
    async with open_atelier(ScriptedModel(["half", "done"], gate=gate)) as atelier:
        workflow = await atelier.workflows.create("x")
        run_id = await atelier.runs.send(workflow.id, "go", agent=AGENT)
        text = await atelier.workflows.export(workflow.id)
        await atelier.runs.cancel(run_id)
        await atelier.workflows.purge(workflow.id)
        await atelier.workflows.import_(text)
        assert await stored_status(atelier, run_id) is RunStatus.PAUSED
        statuses = [
            e.data.get("status") async for e in atelier.runs.replay(workflow.id) if e.chunk_type is ChunkType.RUN_STATUS
        ]
        assert statuses[-1] == "paused"


async def test_changes_during_an_export_do_not_make_it_inconsistent(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_atelier(ScriptedModel([*STEPS, "again", "and again"])) as atelier:
        workflow_id = await full_workflow(atelier)
        listed, busy = atelier.repos.messages.page, 1

        async def page(*given: Any, **named: Any) -> Any:
            nonlocal busy
            if busy:
                busy -= 1
                await turn(atelier, workflow_id, "One thing more.")
            return await listed(*given, **named)

        monkeypatch.setattr(atelier.repos.messages, "page", page)
        text = await atelier.workflows.export(workflow_id)
        assert len(json.loads(text)["runs"]) == 2
        assert (await atelier.workflows.import_(text, "rename")).action == "renamed"
        busy = 1
        monkeypatch.setattr("atelier_desk.engine.services.workflow.exporting.READ_ATTEMPTS", 1)
        with pytest.raises(ConflictError, match="Pause them"):
            await atelier.workflows.export(workflow_id)


async def test_an_export_has_every_memory(monkeypatch: pytest.MonkeyPatch, atelier: Atelier) -> None:
    workflow = await atelier.workflows.create("Well remembered")
    for number in range(5):
        await atelier.memories.add(f"Fact number {number}", type=MemoryType.DECISION, workflow_id=workflow.id)
    monkeypatch.setattr("atelier_desk.engine.services.common.paging.limits", SimpleNamespace(LIST_MAX=2))
    assert len((await exported_workflow(atelier, workflow.id))["memories"]) == 5
    assert len(json.loads(await atelier.memories.export(workflow.id))["memories"]) == 5


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "not json",
        '{"format": "other"}',
        '{"format": "atelier-workflow", "version": 9}',
        "\x00",
        '"' + "x" * 100,
    ],
)
async def test_other_files_are_refused(text: str, atelier: Atelier) -> None:
    with pytest.raises(UsageError):
        await atelier.workflows.import_(text)
    assert await atelier.workflows.list() == []


def used(file: dict[str, Any]) -> dict[str, Any]:
    """The usage of its first reply."""
    usage: dict[str, Any] = next(event["body"]["usage"] for event in file["events"] if "usage" in event["body"])
    return usage


async def test_damaged_and_too_large_files_are_refused_and_leave_nothing(open_atelier: Opener) -> None:
    async with open_atelier(ScriptedModel(STEPS)) as atelier:
        workflow_id = await full_workflow(atelier)
        text = await atelier.workflows.export(workflow_id)
        await atelier.workflows.purge(workflow_id)
        before = await atelier.store.counts()
        for break_it in (
            lambda file: file["events"].pop(1),
            lambda file: file["messages"][0].update(workflow_id="other"),
            lambda file: file["events"][0].update(run_id="unknown"),
            lambda file: file["runs"][0].update(last_seq=99),
            lambda file: file["workflow"].update(name="x" * 500),
            lambda file: file["reports"][0]["report"].update(name="../../escape"),
            lambda file: used(file).update(cost=math.inf),
            lambda file: used(file).update(cost=math.nan),
            lambda file: used(file).update(tokens_input=10**30),
            lambda file: file["events"][0].update(v=2**63),
            lambda file: file["events"][0].update(stream_from=2**64),
            lambda file: file["events"][-1].update(stream_from=file["workflow"]["stream_seq"] + 2),
            lambda file: file["events"][0].update(stream_from=0),
            lambda file: file["executions"][0].update(duration_ms=10**40),
        ):
            file = json.loads(text)
            break_it(file)
            with pytest.raises(UsageError):
                await atelier.workflows.import_(json.dumps(file))
            assert await atelier.store.counts() == before
        with pytest.raises(LimitError, match="the maximum is 10 MB"):
            await atelier.workflows.import_(text + " " * limits.IMPORT_FILE)
        with pytest.raises(UsageError, match="skip, overwrite, rename"):
            await atelier.workflows.import_(text, "merge")
        assert OnConflict.parse("skip") is OnConflict.SKIP


LISTS = ("runs", "events", "messages", "tasks", "questions", "approvals", "frames", "memories", "reports")


async def workflow_with_every_row(atelier: Atelier) -> str:
    """Like ``full_workflow``, with a question and an approval."""
    workflow_id = await full_workflow(atelier)
    run_id = (await atelier.workflows.get(workflow_id)).head_run_id or ""
    spec = QuestionSpec(question="Which?", question_type=QuestionType.TEXT)
    question = UserQuestion(workflow_id=workflow_id, run_id=run_id, call_id="c8", spec=spec)
    request = ApprovalRequest(
        workflow_id=workflow_id,
        run_id=run_id,
        root_run_id=run_id,
        call_id="c9",
        tool="TodoTool",
        status=ApprovalStatus.CANCELLED,
    )
    await atelier.repos.journal.commit(Commit(questions=(question,), approvals=(request,)))
    file = await exported_workflow(atelier, workflow_id)
    assert all(file[each] for each in (*LISTS, "executions"))
    return workflow_id


@pytest.mark.parametrize("id", ["..", ".", "../..", "x/../..", "", "short", "0" * 33, "A" * 32, "C:" + "0" * 30])
async def test_a_file_with_an_id_that_could_be_a_path_changes_nothing(
    tmp_path: Path, id: str, atelier: Atelier
) -> None:
    await atelier.reports.write(await create_workflow(atelier, "Precious"), "Plan", "keep me")
    (tmp_path / "data" / "precious.txt").write_text("x")
    await atelier.workflows.search("keep")  # the index is written
    before = sorted(tmp_path.rglob("*.*"))
    file = {"format": "atelier-workflow", "version": 1, "workflow": {"id": id, "name": "holiday"}}
    for reports in ([], [{"report": {"workflow_id": id, "name": "a"}, "text": "x"}]):
        with pytest.raises(UsageError, match="24 or 32 hexadecimal digits"):
            await atelier.workflows.import_(json.dumps(file | {"reports": reports}))
    assert [each.name for each in await atelier.workflows.list()] == ["Precious"]
    assert set(before) <= set(tmp_path.rglob("*.*"))


@pytest.mark.parametrize("kind", LISTS)
async def test_every_id_of_a_file_must_have_our_format(open_atelier: Opener, kind: str) -> None:
    async with open_atelier(ScriptedModel(STEPS)) as atelier:
        text = await atelier.workflows.export(await workflow_with_every_row(atelier))
        file = json.loads(text)
        row = file[kind][0]["report"] if kind == "reports" else file[kind][0]
        with pytest.raises(UsageError, match="24 or 32 hexadecimal digits"):
            await atelier.workflows.import_(text.replace(row["id"], "../" + row["id"][3:]))


async def everything(atelier: Atelier, workflow_id: str) -> Any:
    file = await exported_workflow(atelier, workflow_id)
    file.pop("exported_at")
    return file


def given_new_ids(text: str, *, but: str) -> str:
    """A hand-edited export: all ids are renamed except those of one kind of row."""
    file = json.loads(text)
    for kind in LISTS:
        for row in file[kind] if kind != but else ():
            text = text.replace((row["report"] if kind == "reports" else row)["id"], new_id())
    return text.replace(file["workflow"]["id"], new_id())


@pytest.mark.parametrize("kind", LISTS)
async def test_an_import_replaces_no_row_of_another_workflow(open_atelier: Opener, kind: str) -> None:
    async with open_atelier(ScriptedModel(STEPS)) as atelier:
        workflow_id = await workflow_with_every_row(atelier)
        before = await everything(atelier, workflow_id)
        imported = await atelier.workflows.import_(given_new_ids(json.dumps(before), but=kind))
        assert (imported.action, imported.workflow.name) == ("renamed", "Everything (2)")
        assert await everything(atelier, workflow_id) == before
        copy = await everything(atelier, imported.workflow.id)
        assert [len(copy[each]) for each in LISTS] == [len(before[each]) for each in LISTS]
        await atelier.workflows.purge(imported.workflow.id)
        assert await everything(atelier, workflow_id) == before


@pytest.mark.parametrize("kind", ["messages", "tasks"])
async def test_an_event_alone_gives_an_import_no_row_of_another_workflow(open_atelier: Opener, kind: str) -> None:
    async with open_atelier(ScriptedModel(STEPS)) as atelier:
        workflow_id = await workflow_with_every_row(atelier)
        before = await everything(atelier, workflow_id)
        file = json.loads(given_new_ids(json.dumps(before), but=kind)) | {kind: []}
        assert (await atelier.workflows.import_(json.dumps(file))).action == "renamed"
        assert await everything(atelier, workflow_id) == before


async def test_an_import_replaces_no_general_memory(open_atelier: Opener) -> None:
    async with open_atelier(ScriptedModel(STEPS)) as atelier:
        general = await atelier.memories.add("For all of us", type=MemoryType.DECISION)
        file = await exported_workflow(atelier, await full_workflow(atelier))
        text = json.dumps(file).replace(file["memories"][0]["id"], general.id)
        assert (await atelier.workflows.import_(text, "rename")).action == "renamed"
        with pytest.raises(ConflictError, match=f"{general.id}.*another workflow"):
            await atelier.workflows.import_(text, "overwrite")
        assert await atelier.memories.get(general.id) == general


@pytest.mark.parametrize("kind", LISTS)
async def test_rows_of_others_are_not_overwritten(open_atelier: Opener, kind: str) -> None:
    async with open_atelier(ScriptedModel([*STEPS, *STEPS])) as atelier:
        first, second = await workflow_with_every_row(atelier), await workflow_with_every_row(atelier)
        before = [await everything(atelier, first), await everything(atelier, second)]
        mine, yours = (
            (row["report"] if kind == "reports" else row)["id"] for row in (before[0][kind][0], before[1][kind][0])
        )
        with pytest.raises(ConflictError, match=f"{yours}.*another workflow"):
            await atelier.workflows.import_(json.dumps(before[0]).replace(mine, yours), "overwrite")
        assert [await everything(atelier, first), await everything(atelier, second)] == before
        assert not list(Path(atelier.datadir.reports).rglob("*.new"))


async def test_a_failed_overwrite_leaves_the_existing_workflow(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_atelier(ScriptedModel([*STEPS, "and more"])) as atelier:
        workflow_id = await workflow_with_every_row(atelier)
        older = await everything(atelier, workflow_id)
        await turn(atelier, workflow_id, "more")
        await atelier.reports.write(workflow_id, "Findings", "newer")
        await atelier.reports.write(workflow_id, "Later", "later")
        before = await everything(atelier, workflow_id)
        bad = json.dumps(older).replace('"Findings"', '"../../Findings"')
        with pytest.raises(UsageError, match="plain file name"):
            await atelier.workflows.import_(bad, "overwrite")
        assert await everything(atelier, workflow_id) == before
        with monkeypatch.context() as patch:
            refused = StorageError("The disk is full.", code="disk_full")
            patch.setattr(atelier.store, "write", AsyncMock(side_effect=refused))
            with pytest.raises(StorageError):
                await atelier.workflows.import_(json.dumps(older), "overwrite")
        assert await everything(atelier, workflow_id) == before
        assert (await atelier.workflows.import_(json.dumps(older), "overwrite")).action == "overwritten"
        after = await everything(atelier, workflow_id)
        as_told_here(after)
        assert {each: after[each] for each in LISTS if each not in ("memories", "reports")} == {
            each: older[each] for each in LISTS if each not in ("memories", "reports")
        }
        assert await atelier.reports.read(workflow_id, "Findings") == "# Findings\n\nétude"
        assert [path.name for path in (Path(atelier.datadir.reports) / workflow_id).iterdir()] == ["Findings.md"]
        assert (await atelier.memories.search("deadline", workflow_id=workflow_id)).hits[0].memory.id == older[
            "memories"
        ][0]["id"]


@pytest.mark.parametrize("way", ["rename", "overwrite"])
async def test_an_attachment_of_a_file_names_no_path_of_this_machine(open_atelier: Opener, way: str) -> None:
    async with open_atelier(ScriptedModel(STEPS)) as atelier:
        file = await exported_workflow(atelier, await full_workflow(atelier))
        said = next(event["body"] for event in file["events"] if event["body"]["type"] == "user_message")
        attached = {
            "name": "key",
            "media_type": "text/plain",
            "size": 1,
            "sha256": "0" * 64,
            "path": "/home/me/.ssh/id",
        }
        said["attachments"] = [attached]
        imported = await atelier.workflows.import_(json.dumps(file), way)
        text = await atelier.workflows.export(imported.workflow.id)
        assert '"name": "key"' in text
        assert ".ssh" not in text
