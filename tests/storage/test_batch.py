"""Commits as statements and as text of the log: the same rows whichever way they go."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atelier_desk.domain.approval import ApprovalRequest
from atelier_desk.domain.chat import Usage
from atelier_desk.domain.context import PromptFrame
from atelier_desk.domain.events import RunEvent, UserMessage
from atelier_desk.domain.question import UserQuestion
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import Message, MessageRole, Run, RunStatus, ToolExecution, Workflow, WorkflowStatus
from atelier_desk.storage import batch, wire
from atelier_desk.storage.commit import Commit, PartialReply
from atelier_desk.storage.store import Store
from atelier_desk.storage.writer import Statement
from tests.storage.strategies import SPECS, TEXT, models
from tests.storage.test_rows import BODIES

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


def several(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(strategy, max_size=2).map(tuple)


PARTS: dict[str, st.SearchStrategy[Any]] = {
    "events": several(models(RunEvent, body=BODIES)),
    "runs": several(models(Run)),
    "workflow": st.fixed_dictionaries({"status": st.sampled_from(WorkflowStatus), "usage": models(Usage), "updated_at": st.just(NOW)}),
    "messages": several(models(Message)),
    "executions": several(models(ToolExecution)),
    "questions": several(models(UserQuestion, spec=SPECS)),
    "approvals": several(models(ApprovalRequest)),
    "frames": several(models(PromptFrame)),
    "tasks": several(models(Task)),
    "clear_partial": several(TEXT),
    "deleted_tasks": several(TEXT),
    "created": several(models(Workflow)),
    "partials": several(st.builds(PartialReply, TEXT, TEXT, TEXT, TEXT, TEXT, st.just(NOW))),
}


def sent(statements: list[Statement]) -> list[bytes]:
    """What the database is told."""
    return [wire.query(sql, params) for sql, params in statements]


@pytest.mark.parametrize("part", PARTS)
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_the_log_gives_back_the_same_statements(part: str, data: st.DataObject) -> None:
    commit = Commit(of="w", **{part: data.draw(PARTS[part])})
    content = batch.dump(commit)
    if content is not None:
        assert sent(batch.statements([batch.load(content)])) == sent(batch.statements([commit]))


def test_what_text_or_the_database_may_not_carry_goes_directly() -> None:
    def dumped(content: str) -> bytes | None:
        return batch.dump(Commit(events=(RunEvent(workflow_id="w", run_id="r", seq=1, body=UserMessage.model_construct(content=content)),)))

    assert dumped("plain") is not None
    assert dumped("half a character: \ud800") is None
    assert dumped("nul: \x00") is None
    huge = Commit(workflow={"context_tokens": 2**70}, of="w")
    assert batch.dump(huge) is None
    task = Task(workflow_id="w", name="t", position=1.0)
    assert batch.dump(Commit(tasks=(task,))) is not None
    assert batch.dump(Commit(tasks=(task.model_copy(update={"position": float("nan")}),))) is None


def test_what_is_kept_as_text_may_be_without_end() -> None:
    endless = Commit(workflow={"usage": Usage.model_construct(cost=float("inf"))}, of="w")
    content = batch.dump(endless)
    assert content is not None
    assert sent(batch.statements([batch.load(content)])) == sent(batch.statements([endless]))


async def rows(commits: list[list[Commit]]) -> dict[str, list[Any]]:
    """Everything a database in memory holds after these groups of commits."""
    async with await Store.open(None) as store:
        for group in commits:
            written = batch.statements(group)
            if written:
                await store.write(*written)
        return {table: await store.query(f"SELECT * FROM {table}") for table in await store.tables() if table != "schema_version"}


async def test_a_row_that_was_written_often_is_as_it_was_left() -> None:
    def run(number: int, status: RunStatus) -> Run:
        return Run(id="r", workflow_id="w", last_seq=number, status=status, created_at=NOW, updated_at=NOW)

    def event(number: int) -> RunEvent:
        body = UserMessage(content=str(number), message_id=f"b{number}")
        return RunEvent(id=f"e{number}", workflow_id="w", run_id="r", seq=number, stream_from=number, time=NOW, body=body)

    def message(key: str, content: str) -> Message:
        return Message(id=key, workflow_id="w", run_id="r", seq=1, role=MessageRole.ASSISTANT, content=content, created_at=NOW)

    task = Task(id="t", workflow_id="w", name="task", created_at=NOW)
    partial = PartialReply("r", "w", "m", "a", "", NOW)
    commits = [
        Commit(
            created=(
                Workflow(id="w", name="w", created_at=NOW, updated_at=NOW),
                Workflow(id="other", name="other", created_at=NOW, updated_at=NOW),
            )
        ),
        Commit(events=(event(1),), runs=(run(1, RunStatus.PROCESSING),), workflow={"stream_seq": 1}, messages=(message("m", "first"),)),
        Commit(events=(event(2),), runs=(run(2, RunStatus.PROCESSING),), tasks=(task,), partials=(partial,)),
        Commit(workflow={"name": "named"}, of="w"),
        Commit(events=(event(3),), deleted_tasks=("t",), messages=(message("m", "second"), message("n", "other")), clear_partial=("r",)),
        Commit(events=(event(4),), runs=(run(4, RunStatus.COMPLETED),), workflow={"stream_seq": 9}),
        Commit(tasks=(task.model_copy(update={"name": "again"}),)),
        Commit(partials=(PartialReply("r", "w", "m", "later", "", NOW),)),
    ]
    one_by_one = await rows([[commit] for commit in commits])
    assert await rows([commits]) == one_by_one
    assert await rows([commits[:3], commits[3:]]) == one_by_one
    assert [row["name"] for row in one_by_one["workflow"] if row["stream_seq"] == 9] == ["named"]
    assert [row["name"] for row in one_by_one["task"]] == ["again"]
    assert [row["content"] for row in one_by_one["partial_reply"]] == ["later"]
