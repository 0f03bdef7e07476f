"""Workflows: order, bin, complete deletion, search."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from atelier_desk.domain import limits
from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.approval import ApprovalRequest
from atelier_desk.domain.audit import AuditDecision, AuditEntry
from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.errors import LimitError, NotFoundError, StorageError
from atelier_desk.domain.events.run import RunEvent, RunStarted, TaskChanged
from atelier_desk.domain.memory import Memory, MemoryType
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.question import QuestionSpec, QuestionType, UserQuestion
from atelier_desk.domain.system_prompt_and_tools import PromptFrame
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import Message, MessageRole, Report, Run, ToolExecution, Workflow
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.row_mapping import record
from atelier_desk.storage.store import Statement, Store
from atelier_desk.storage.tables import OWNED, WORKFLOWS
from atelier_desk.storage.writing.commit_statements import insert_all
from atelier_desk.storage.writing.journal_commit import Commit


async def fill(repos: Repositories, workflow: Workflow, word: str = "word") -> None:
    """Write one row in every table that belongs to a workflow."""
    run = Run(workflow_id=workflow.id)
    config = AgentConfig(name="A", provider="p", model="m")
    task = Task(workflow_id=workflow.id, name="task")
    call = ToolExecution(
        id=f"{run.id}:c",
        workflow_id=workflow.id,
        run_id=run.id,
        call_id="c",
        tool="Search",
        arguments={"query": f"{word} input"},
    )
    spec = QuestionSpec(question="?", question_type=QuestionType.TEXT)
    question = UserQuestion(workflow_id=workflow.id, run_id=run.id, call_id="q", spec=spec)
    await repos.journal.commit(
        Commit(
            events=(
                RunEvent(workflow_id=workflow.id, run_id=run.id, seq=1, body=RunStarted(agent=config)),
                RunEvent(workflow_id=workflow.id, body=TaskChanged(action="create", task=task)),
            ),
            runs=(run,),
            messages=(
                Message(
                    workflow_id=workflow.id, run_id=run.id, seq=1, role=MessageRole.USER, content=f"about {word} said"
                ),
            ),
            executions=(call.model_copy(update={"result": {"text": f"{word} output"}}),),
            questions=(question,),
            approvals=(ApprovalRequest(workflow_id=workflow.id, run_id=run.id, call_id="a", tool="Search"),),
            audit=(
                AuditEntry(
                    workflow_id=workflow.id, run_id=run.id, call_id="a", tool="Search", decision=AuditDecision.ALLOWED
                ),
            ),
            frames=(PromptFrame(id=f"{workflow.id}:frame", workflow_id=workflow.id, system="Be brief."),),
            tasks=(task,),
        )
    )
    await repos.journal.save_partial(run.id, workflow.id, "m", "half", "")
    memory = Memory(type=MemoryType.DECISION, content=f"{word} remembered", workflow_id=workflow.id, embedder="e")
    await repos.memories.save(memory, np.ones(3))
    gone = await repos.memories.save(Memory(type=MemoryType.DECISION, content="forgotten", workflow_id=workflow.id))
    await repos.memories.delete(gone.id)
    await repos.reports.save(Report(workflow_id=workflow.id, name="Plan"), f"# {word} written")


async def test_pinned_workflows_come_first_then_the_latest_changed(repos: Repositories) -> None:
    now = utc_now()
    for name, age, pinned in (("old", 3, False), ("new", 1, False), ("old pin", 4, True), ("new pin", 2, True)):
        await repos.workflows.create(Workflow(name=name, pinned=pinned, updated_at=now - timedelta(days=age)))
    assert [each.name for each in await repos.workflows.list()] == ["new pin", "old pin", "new", "old"]
    assert [each.name for each in await repos.workflows.list(limit=2, offset=1)] == ["old pin", "new"]
    assert [each.name for each in await repos.workflows.list(search="PIN")] == ["new pin", "old pin"]


async def test_the_list_uses_its_index(repos: Repositories) -> None:
    plan = str(
        await repos.store.query(
            "SELECT id, unpinned, recency FROM workflow WHERE deleted = false ORDER BY unpinned, recency LIMIT 5 "
            "EXPLAIN"
        )
    )
    assert "'index': 'shown'" in plan
    assert "Sort" not in plan


async def test_update_changes_only_the_given_fields_and_validates_them(repos: Repositories, workflow: Workflow) -> None:
    changed = await repos.workflows.update(
        workflow.id, name="new name", usage=Usage(tokens_input=2**40), head_run_id="r"
    )
    assert changed == workflow.model_copy(
        update={"name": "new name", "usage": Usage(tokens_input=2**40), "head_run_id": "r"}
    )
    assert (await repos.workflows.update(workflow.id, head_run_id=None)).head_run_id is None
    with pytest.raises(ValidationError):
        await repos.workflows.update(workflow.id, name="x" * 300)
    with pytest.raises(ValidationError):
        await repos.workflows.update(workflow.id, colour="red")


async def test_a_missing_workflow_is_not_found(repos: Repositories) -> None:
    for attempt in (
        repos.workflows.get,
        repos.workflows.update,
        repos.workflows.soft_delete,
        repos.workflows.restore,
        repos.workflows.purge,
    ):
        with pytest.raises(NotFoundError):
            await attempt("missing")
    assert await repos.workflows.list() == []


async def test_the_same_id_cannot_be_created_twice(repos: Repositories, workflow: Workflow) -> None:
    with pytest.raises(StorageError):
        await repos.workflows.create(workflow.model_copy(update={"name": "other"}))
    assert (await repos.workflows.get(workflow.id)).name == workflow.name


async def test_the_bin_hides_and_restores_workflows(repos: Repositories, workflow: Workflow) -> None:
    await fill(repos, workflow)
    await repos.workflows.soft_delete(workflow.id)
    assert await repos.workflows.list() == []
    assert [each.id for each in await repos.workflows.list(deleted=True)] == [workflow.id]
    assert await repos.history.search("word") == []
    assert await repos.questions.pending() == []
    assert await repos.approvals.pending() == []
    restored = await repos.workflows.restore(workflow.id)
    assert restored == workflow
    assert len(await repos.workflows.list()) == 1
    assert len(await repos.history.search("word")) == 4


async def test_purge_empties_every_table_of_the_workflow_only(repos: Repositories, workflow: Workflow) -> None:
    other = await repos.workflows.create(Workflow(name="other"))
    await fill(repos, workflow)
    before = await repos.store.counts()
    await fill(repos, other)
    await repos.memories.save(Memory(type=MemoryType.USER_PREF, content="general word"))
    removed = await repos.workflows.purge(other.id)
    assert removed == {"workflow": 1, "run_event": 2, **{table: 1 for table in OWNED if table != "run_event"}}
    after = await repos.store.counts()
    assert after == {**before, "workflow": 1, "memory": before["memory"] + 1}
    assert not (repos.datadir.reports / other.id).exists()
    assert await repos.reports.read(workflow.id, "Plan") == "# word written"
    await repos.workflows.purge(workflow.id)
    left = {table: count for table, count in (await repos.store.counts()).items() if count}
    assert set(left) == {"memory", "schema_version", "setting"}


async def test_every_table_that_links_to_a_workflow_is_purged(store: Store) -> None:
    linked = {
        name
        for name in await store.tables()
        if "workflow" in (await store.query_all(f"INFO FOR TABLE {name}"))[0]["fields"]
    }
    assert linked == set(OWNED)


async def test_nothing_can_be_written_to_a_purged_workflow(repos: Repositories, workflow: Workflow) -> None:
    run = Run(workflow_id=workflow.id)
    await repos.workflows.purge(workflow.id)
    late: list[Any] = [
        repos.journal.commit(Commit(runs=(run,))),
        repos.journal.save_partial(run.id, workflow.id, "m", "late", ""),
        repos.runs.save(run),
        repos.journal.commit(Commit(tasks=(Task(workflow_id=workflow.id, name="late"),))),
        repos.frames.save(PromptFrame(id="late", workflow_id=workflow.id, system="late")),
        repos.journal.commit(Commit(frames=(PromptFrame(id="late", workflow_id=workflow.id, system="late"),))),
        repos.journal.commit(
            Commit(approvals=(ApprovalRequest(workflow_id=workflow.id, run_id=run.id, call_id="a", tool="t"),))
        ),
        repos.memories.save(Memory(type=MemoryType.DECISION, content="late", workflow_id=workflow.id)),
        repos.reports.save(Report(workflow_id=workflow.id, name="late"), ""),
    ]
    for attempt in late:
        with pytest.raises(NotFoundError):
            await attempt
    assert (
        sum(
            count for table, count in (await repos.store.counts()).items() if table not in ("schema_version", "setting")
        )
        == 0
    )
    assert not (repos.datadir.reports / workflow.id).exists()


async def test_search_finds_every_kind_with_its_location(repos: Repositories, workflow: Workflow) -> None:
    await fill(repos, workflow, "réunions")
    hits = await repos.history.search("la réunion")
    assert {hit.kind for hit in hits} == {"message", "tool_execution", "memory", "report"}
    (message,) = [hit for hit in hits if hit.kind == "message"]
    assert (message.workflow_id, message.workflow_name, message.seq) == (workflow.id, workflow.name, 1)
    assert "réunions" in message.excerpt
    (call,) = await repos.history.search("input reunion")
    assert (call.kind, call.tool) == ("tool_execution", "Search")
    assert call.excerpt == "réunions input · réunions output", (
        "as it was written: no bag of words, no JSON, no names of fields"
    )
    assert {hit.kind for hit in await repos.history.search("output")} == {"tool_execution"}
    assert {hit.kind for hit in await repos.history.search("written")} == {"report"}
    assert await repos.history.search("reunion zebra") == [], "every word must be there"
    assert await repos.history.search(" ?! ") == []


async def test_search_returns_the_newest_up_to_the_limit(repos: Repositories, workflow: Workflow) -> None:
    now = utc_now()
    messages = tuple(
        Message(
            workflow_id=workflow.id,
            run_id="r",
            seq=seq,
            role=MessageRole.USER,
            content="budget",
            created_at=now + timedelta(seconds=seq),
        )
        for seq in range(1, 8)
    )
    await repos.journal.commit(Commit(messages=messages))
    assert [hit.seq for hit in await repos.history.search("budget", 3)] == [7, 6, 5]


async def test_messages_to_a_sub_agent_are_found_with_its_name(repos: Repositories, workflow: Workflow) -> None:
    lead, helper = (
        Run(workflow_id=workflow.id, agent_name="Ada"),
        Run(workflow_id=workflow.id, agent_name="Bea", depth=1),
    )
    said = [
        Message(workflow_id=workflow.id, run_id=run.id, seq=seq, role=MessageRole.USER, content="budget")
        for seq, run in enumerate((lead, helper))
    ]
    await repos.journal.commit(Commit(runs=(lead, helper), messages=tuple(said)))
    assert {hit.seq: hit.to for hit in await repos.history.search("budget")} == {0: "", 1: "Bea"}


async def test_general_memories_are_found_too(repos: Repositories) -> None:
    await repos.memories.save(Memory(type=MemoryType.USER_PREF, content="prefers tea"))
    (hit,) = await repos.history.search("tea")
    assert (hit.kind, hit.workflow_id, hit.workflow_name) == ("memory", "", "")


@pytest.mark.parametrize("limit", [0, -1])
async def test_a_list_has_at_least_one_row(repos: Repositories, limit: int) -> None:
    with pytest.raises(LimitError, match="1 or more"):
        await repos.workflows.list(limit=limit)


async def test_lists_of_workflows_are_not_truncated(repos: Repositories) -> None:
    """Rows are written directly, because a thousand calls of a service take too long."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    made = [Workflow(name=f"n{number}", collection="work", deleted_at=at) for number in range(limits.LIST_MAX + 5)]
    await repos.store.write(*insert_all(WORKFLOWS, made))
    assert len(await repos.workflows.list(deleted=True)) == len(made)
    assert len(await repos.workflows.list(deleted=True, limit=len(made) + 1)) == len(made)
    assert len(await repos.workflows.list(deleted=True, offset=len(made) - 2)) == 2
    assert set(await repos.workflows.deleted_before(at)) == {each.id for each in made}
    assert await repos.workflows.existing_names(["n0"]) == set()
    await repos.store.write(Statement("UPDATE workflow SET deleted_at = NONE RETURN NONE", {}))
    assert len(await repos.workflows.list(filed=True, archived=False)) == len(made)
    assert await repos.workflows.existing_names(["n0", "n7", "other"]) == {"n0", "n7"}


async def test_purging_an_id_that_is_a_path_deletes_no_folder(repos: Repositories, datadir: DataDir) -> None:
    for id in ("..", ".", "../reports"):
        await repos.workflows.create(Workflow(id=id, name="holiday"))
        kept = datadir.reports / "0" / "Plan.md"
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text("keep me")
        await repos.workflows.purge(id)
        assert kept.read_text() == "keep me"
        assert await repos.workflows.list() == []


async def test_no_row_can_be_moved_to_another_workflow(repos: Repositories, workflow: Workflow) -> None:
    other = await repos.workflows.create(Workflow(name="other"))
    await fill(repos, other)
    for table in OWNED:
        row = (
            await repos.store.query(
                f"SELECT VALUE id FROM {table} WHERE workflow = $other", other=record("workflow", other.id)
            )
        )[0]
        with pytest.raises(StorageError, match=r"readonly|must conform"):
            await repos.store.write(
                Statement("UPDATE $row SET workflow = $taker", {"row": row, "taker": record("workflow", workflow.id)})
            )
