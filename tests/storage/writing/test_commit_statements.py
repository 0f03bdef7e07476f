"""Commits as statements: all rows of a commit are written, a row written twice in its last form, and nothing of a
refused commit.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from atelier_desk.domain.errors import NotFoundError, StorageError
from atelier_desk.domain.events.run import RunEvent, UserMessage
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import Message, MessageRole, Run, RunStatus, Workflow
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.store import Store
from atelier_desk.storage.writing import commit_statements
from atelier_desk.storage.writing.journal_commit import Commit

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


def run(number: int, status: RunStatus = RunStatus.PROCESSING) -> Run:
    return Run(id="r", workflow_id="w", last_seq=number, status=status, created_at=NOW, updated_at=NOW)


def event(number: int) -> RunEvent:
    body = UserMessage(content=str(number), message_id=f"b{number}")
    return RunEvent(id=f"e{number}", workflow_id="w", run_id="r", seq=number, stream_from=number, time=NOW, body=body)


def message(key: str, content: str) -> Message:
    return Message(
        id=key, workflow_id="w", run_id="r", seq=1, role=MessageRole.ASSISTANT, content=content, created_at=NOW
    )


TASK = Task(id="t", workflow_id="w", name="task", created_at=NOW)


@pytest.fixture
async def repos(store: Store, datadir: DataDir) -> Repositories:
    repos = Repositories(store, datadir)
    await repos.workflows.create(Workflow(id="w", name="w", created_at=NOW, updated_at=NOW))
    return repos


async def test_all_of_a_commit_is_written(repos: Repositories) -> None:
    await repos.journal.save_partial("r", "w", "m", "half", "")
    await repos.journal.commit(Commit(events=(event(1),), runs=(run(1),), workflow={"stream_seq": 1}, tasks=(TASK,)))
    await repos.journal.commit(
        Commit(
            events=(event(2), event(3)),
            runs=(run(2), run(3, RunStatus.COMPLETED)),
            messages=(message("m", "first"), message("m", "last")),
            clear_partial=("r",),
            deleted_tasks=("t",),
        )
    )
    assert [each.seq for each in await repos.journal.events("r")] == [1, 2, 3]
    assert await repos.runs.get("r") == run(3, RunStatus.COMPLETED)
    assert [each.content for each in await repos.messages.page("w")] == ["last"]
    assert (await repos.workflows.get("w")).stream_seq == 1
    assert await repos.tasks.list("w") == []
    assert await repos.journal.partial("r") is None


async def test_an_existing_number_refuses_the_commit(repos: Repositories) -> None:
    await repos.journal.commit(Commit(events=(event(1),), runs=(run(1),)))
    again = event(1).model_copy(update={"id": "other"})
    with pytest.raises(StorageError):
        await repos.journal.commit(Commit(events=(again,), runs=(run(9),), tasks=(TASK,), workflow={"stream_seq": 5}))
    assert await repos.runs.get("r") == run(1)
    assert await repos.tasks.list("w") == []
    assert (await repos.workflows.get("w")).stream_seq == 0


async def test_a_commit_of_a_deleted_workflow_is_refused(repos: Repositories) -> None:
    await repos.workflows.purge("w")
    with pytest.raises(NotFoundError):
        await repos.journal.commit(Commit(events=(event(1),), runs=(run(1),)))
    assert await repos.journal.events("r") == []


def test_an_empty_commit_has_no_statement_and_a_change_needs_its_workflow() -> None:
    assert commit_statements.statements(Commit(), {}) == []
    with pytest.raises(ValueError, match="which"):
        commit_statements.statements(Commit(workflow={"stream_seq": 1}), {})


def test_rows_of_all_tables_are_one_statement() -> None:
    """Each statement costs the database as much as several rows."""
    commit = Commit(events=(event(2),), runs=(run(2),), messages=(message("m", "text"),), tasks=(TASK,))
    together = commit_statements.statements(commit, {})
    assert len(together) == len(commit_statements.statements(Commit(events=(event(2),), runs=(run(2),)), {}))
    rows = together[-1].params["rows"]
    assert isinstance(rows, list)
    assert [row["id"].table_name for row in rows] == ["run", "message", "task"]
