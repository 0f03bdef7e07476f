"""Queries about one workflow or a few rows take the same time among 100 000 runs as among ten: none scans a table,
or the part of an index shared by all workflows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.workflow import Workflow
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.repositories.usage_totals import requests_of_workflow
from atelier_desk.storage.store import Store

ASKED: dict[str, Callable[[Repositories, str], Awaitable[object]]] = {
    "turns of a run": lambda repos, home: repos.runs.turns(home, "r"),
    "links of runs": lambda repos, home: repos.runs.links(home),
    "runs of a workflow": lambda repos, home: repos.runs.list(home),
    "taint of a workflow": lambda repos, home: repos.runs.tainted(home),
    "events beside runs": lambda repos, home: repos.journal.runless_events(home),
    "events of a type": lambda repos, home: repos.journal.of_type(home, "queue_changed"),
    "runs that used something": lambda repos, home: repos.used.runs(["r"]),
    "what runs used": lambda repos, home: repos.used.events(["r"]),
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
        plan = str((await store.query_all(f"{sql} EXPLAIN", **params))[-1])
        assert "TableScan" not in plan, plan
        assert "'= NONE'" not in plan, f"one index entry that all workflows share: {plan}"
