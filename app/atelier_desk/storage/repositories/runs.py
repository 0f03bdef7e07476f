"""The rows of runs, which summarise their journals."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from atelier_desk.domain.workflow import Run, RunStatus
from atelier_desk.domain.workflow_branches import RunLink
from atelier_desk.storage import tables
from atelier_desk.storage.repositories.base_repository import Repository, guard
from atelier_desk.storage.repositories.usage_totals import UsageRecord, save_usage
from atelier_desk.storage.row_mapping import record
from atelier_desk.storage.search.index_changes import Change, RemovedDocument
from atelier_desk.storage.search.request_usage_tables import RequestsRemoved
from atelier_desk.storage.store import Statement
from atelier_desk.support.i18n import N_


class Turn(NamedTuple):
    """What shows whether the journal of a root run is unchanged: the number of events, and the hash of the newest,
    which covers all others.

    The hash is None for rows written before schema 9, and where it was not requested.
    """

    id: str
    previous_run_id: str | None
    last_seq: int
    last_hash: bytes | None
    final: bool
    unread: bool = False
    """Whether a person ended it although its events cannot be read: see ``Run.unread``."""


_ALIVE = [status.value for status in RunStatus if not status.final]


class RunRepository(Repository[Run]):
    """The rows that summarise the journals."""

    table = tables.RUNS
    what = "run"
    absent = N_("There is no run {id}.")

    async def list(self, workflow_id: str) -> list[Run]:
        """Return all runs of a workflow, including sub-agents' runs, oldest first."""
        return await self._select(
            "WHERE workflow = $workflow ORDER BY created_at, id", workflow=record("workflow", workflow_id)
        )

    async def links(self, workflow_id: str) -> builtins.list[RunLink]:
        """Return how the runs of a workflow follow each other, oldest first, without deleted branches.

        Six times faster than ``list`` for thousands of runs.
        """
        rows = await self._store.query(
            "SELECT VALUE [record::id(id), previous_run && record::id(previous_run), parent_run && "
            "record::id(parent_run), "
            "time::micros(created_at)] FROM run WHERE workflow = $workflow AND deleted_at = NONE",
            workflow=record("workflow", workflow_id),
        )
        return [RunLink(*row) for row in sorted(rows, key=lambda row: (row[3], row[0]))]

    async def turns(self, workflow_id: str, run_id: str) -> builtins.list[Turn]:
        """Return a root run and its predecessors, oldest first, including deleted branches.

        Raises:
            NotFoundError: one of them is gone.
        """
        rows = await self._store.query(
            "SELECT VALUE [record::id(id), previous_run && record::id(previous_run), last_seq, last_hash, status, "
            "error] FROM run "
            # Without the index the engine scans all root runs: a second among 100 000 runs, against a millisecond.
            "WITH INDEX by_workflow WHERE workflow = $workflow AND parent_run = NONE",
            workflow=record("workflow", workflow_id),
        )
        there = {row[0]: row for row in rows}
        found: dict[str, Turn] = {}
        at: str | None = run_id
        while at is not None and at not in found:
            if at not in there:
                raise self.missing(at)
            run, previous, last_seq, last_hash, status, error = there[at]
            unread = status == RunStatus.CANCELLED and bool(error)
            found[at] = Turn(run, previous, last_seq, last_hash, RunStatus(status).final, unread)
            at = found[at].previous_run_id
        return list(reversed(found.values()))

    async def tainted(self, workflow_id: str) -> builtins.list[str]:
        """Return the distinct outside sources read by the runs of a workflow, on all its branches."""
        rows = await self._store.query(
            "SELECT VALUE tainted FROM run WHERE workflow = $workflow AND tainted != []",
            workflow=record("workflow", workflow_id),
        )
        return list(dict.fromkeys(name for names in rows for name in names))

    async def deleted(self, workflow_id: str) -> set[str]:
        """Return the runs of a workflow's deleted branches."""
        rows = await self._store.query(
            "SELECT VALUE record::id(id) FROM run WHERE workflow = $workflow AND deleted_at != NONE",
            workflow=record("workflow", workflow_id),
        )
        return set(rows)

    async def alive(self) -> builtins.list[Run]:
        """Return runs without a final status, oldest first."""
        return await self._select("WHERE status IN $alive ORDER BY created_at, id", alive=_ALIVE)

    async def children(self, run_id: str) -> builtins.list[Run]:
        """Return the runs of a run's sub-agents, oldest first."""
        return await self._select("WHERE parent_run = $parent ORDER BY created_at, id", parent=record("run", run_id))

    async def teams(self, root_run_ids: Sequence[str]) -> builtins.list[Run]:
        """Return some root runs and all runs below them, oldest first; one query at any depth."""
        return self.readable(await self._rows_of_each("correlation_id", root_run_ids, "created_at, id"))

    async def deleted_before(self, moment: datetime) -> builtins.list[Run]:
        """Return runs of branches that were deleted at or before ``moment``."""
        return await self._select("WHERE deleted_at != NONE AND deleted_at <= $moment", moment=moment)

    async def purge(self, run_ids: Sequence[str], spent: Sequence[UsageRecord] = ()) -> None:
        """Delete runs with all their rows in one transaction. No other run may follow one of them.

        ``spent`` is their usage, which is kept.
        """
        if not run_ids:
            return
        runs = [record("run", each) for each in run_ids]
        removed: list[Change] = [RequestsRemoved(tuple(run_ids))]
        for kind in ("message", "tool_execution"):
            ids = await self._store.query(f"SELECT VALUE record::id(id) FROM {kind} WHERE run IN $runs", runs=runs)  # noqa: S608
            removed.append(RemovedDocument(kind, tuple(ids)))
        statements = [
            Statement(f"DELETE {name} WHERE run IN $runs RETURN NONE", {"runs": runs})
            for name in ("message", "tool_execution", "user_question", "approval_request")
        ]
        statements += [
            # With IN the engine silently deletes nothing through an index of two columns.
            Statement("FOR $run IN $runs { DELETE run_event WHERE run = $run RETURN NONE }", {"runs": runs}),
            Statement(
                (
                    "FOR $home IN array::distinct($runs.workflow) { DELETE audit WHERE workflow = $home AND run IN "
                    "$runs "
                    "RETURN NONE }"
                ),
                {"runs": runs},
            ),
            Statement("DELETE $partial RETURN NONE", {"partial": [record("partial_reply", each) for each in run_ids]}),
            Statement("DELETE $runs RETURN NONE", {"runs": runs}, tuple(removed)),
            *save_usage(spent),
        ]
        await self._store.write(*statements)
        self._store.last_hashes.clear()

    async def save(self, run: Run) -> None:
        """Insert or replace a run's row, except the columns that the journal maintains.

        Raises:
            NotFoundError: its workflow is gone.
        """
        row = self.table.encode(run)
        statement = Statement("UPSERT $row MERGE $content RETURN NONE", {"row": row["id"], "content": row})
        await self._store.write(guard(run.workflow_id), statement)
