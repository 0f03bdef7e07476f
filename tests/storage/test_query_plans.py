"""Queries about one workflow or a few rows take the same time among 100 000 runs as among ten: none scans a table,
or the part of an index shared by all workflows. A page of a whole table or workflow takes the same time as the first.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.workflow import Message, MessageRole, Run, Workflow
from atelier_desk.storage import damaged_row_search, table_pages
from atelier_desk.storage.copies import database_inspection
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.repositories.memories import MemoryRepository
from atelier_desk.storage.repositories.usage_totals import requests_of_workflow
from atelier_desk.storage.store import Store
from atelier_desk.storage.writing.journal_commit import Commit

MANY = [f"r{number}" for number in range(60)]
"""With IN and up to 32 values the engine uses an index, with more it reads the table."""
ASKED: dict[str, Callable[[Repositories, str], Awaitable[object]]] = {
    "turns of a run": lambda repos, home: repos.runs.turns(home, "r"),
    "links of runs": lambda repos, home: repos.runs.links(home),
    "runs of a workflow": lambda repos, home: repos.runs.list(home),
    "taint of a workflow": lambda repos, home: repos.runs.tainted(home),
    "events beside runs": lambda repos, home: repos.journal.runless_events(home),
    "events of a type": lambda repos, home: repos.journal.of_type(home, "queue_changed"),
    "runs that used something": lambda repos, home: repos.used.runs(["r"]),
    "what runs used": lambda repos, home: repos.used.events(MANY),
    "journals of runs": lambda repos, home: repos.journal.journals(MANY),
    "events of runs": lambda repos, home: repos.journal.of_runs(MANY, types=("run_started",)),
    "calls of runs": lambda repos, home: repos.executions.for_runs(MANY),
    "runs of teams": lambda repos, home: repos.runs.teams(MANY),
    "unfinished runs": lambda repos, home: repos.runs.alive(),
    "memories of turns": lambda repos, home: repos.memories.of_turns(MANY),
    "requests of a workflow": lambda repos, home: requests_of_workflow(repos.store, home),
    "names for the usage": lambda repos, home: repos.used.names([home]),
    "names for the audit trail": lambda repos, home: repos.audit.workflows([home]),
}


@pytest.mark.parametrize("asked", ASKED)
async def test_a_small_query_reads_few_rows(
    asked: str, repos: Repositories, store: Store, workflow: Workflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[tuple[str, dict[str, Any]]] = []
    query = store.query

    async def heard(sql: str, /, **params: Any) -> list[Any]:
        said.append((sql, params))
        return await query(sql, **params)

    with monkeypatch.context() as patch:
        patch.setattr(store, "query", heard)
        with contextlib.suppress(NotFoundError):
            await ASKED[asked](repos, workflow.id)
    assert said
    for sql, params in said:
        # The plan of a query over the rows of each value does not contain that of its inner query.
        inner = re.findall(r"\|\$each\| \((.*?)\)\)\)", sql)
        for text in (sql, *inner):
            plan = str((await store.query_all(f"{text} EXPLAIN", **params, each="r"))[-1])
            assert "TableScan" not in plan, plan
            assert "'= NONE'" not in plan, f"one index entry that all workflows share: {plan}"


async def test_a_page_of_a_workflows_events_is_read_in_the_order_of_an_index(
    repos: Repositories, store: Store, workflow: Workflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans: list[str] = []
    query = store.query

    async def explain(sql: str, /, **params: Any) -> list[Any]:
        plans.append(str((await store.query_all(f"{sql} EXPLAIN", **params))[-1]))
        return await query(sql, **params)

    monkeypatch.setattr(store, "query", explain)
    await repos.journal.workflow_events(workflow.id, after_stream=5)
    assert len(plans) == 1
    assert "by_stream" in plans[0]
    assert "Sort" not in plans[0], plans[0]


async def count_pages(store: Store) -> None:
    assert [len(rows) async for rows in table_pages.read_pages(store.query_all, "run")] == [2, 1]


READ: dict[str, Callable[[Store], Awaitable[object]]] = {
    "count": lambda store: table_pages.count_by_reading(store.query_all, "run"),
    "read": count_pages,
    "check": lambda store: damaged_row_search.damaged_anywhere(store),
    "attachments": lambda store: database_inspection.damaged_attachments(store.query_all, Path("none"), ["message"]),
    "index of memories": lambda store: MemoryRepository(store).entries(after="b", limit=2),
}


@pytest.mark.parametrize("read", READ)
async def test_a_later_page_of_a_table_is_not_searched_from_the_beginning(
    read: str, repos: Repositories, store: Store, workflow: Workflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in (
        (table_pages, "COUNT_PAGE"),
        (table_pages, "READ_PAGE"),
        (database_inspection, "READ_PAGE"),
        (damaged_row_search, "PAGE"),
    ):
        monkeypatch.setattr(module, name, 2)
    for key in ("a", "b", "c"):
        attached = Message(
            workflow_id=workflow.id, run_id=key, seq=1, role=MessageRole.USER, details={"sha256": key * 64}
        )
        await repos.journal.commit(Commit(runs=(Run(id=key, workflow_id=workflow.id),), messages=(attached,)))
    asked: list[tuple[str, dict[str, Any]]] = []
    query = store.query_all

    async def heard(sql: str, /, **params: Any) -> list[Any]:
        asked.append((sql, params))
        return await query(sql, **params)

    with monkeypatch.context() as patch:
        patch.setattr(store, "query_all", heard)
        await READ[read](store)
    for sql, params in asked:
        if "LIMIT" in sql:
            plan = str((await query(f"{sql} EXPLAIN", **params))[-1])
            assert "SortTopK" not in plan, plan
            assert params.get("after") is None or "TableScan" not in plan, plan
