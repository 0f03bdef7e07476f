"""What a transcript shows: messages and tool calls."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from atelier_desk.domain import limits
from atelier_desk.domain.ids import is_id, made_at
from atelier_desk.domain.workflow import QUEUED, Message, ToolExecution
from atelier_desk.storage import tables
from atelier_desk.storage.repositories.base import Repository, page_size
from atelier_desk.storage.rows import plain_time, record


class MessageRepository(Repository[Message]):
    """Messages; the journal's commits write them."""

    table = tables.MESSAGES
    what = "message"

    async def page(
        self,
        workflow_id: str,
        *,
        before: int | None = None,
        limit: int = 100,
        run_ids: Sequence[str] | None = None,
        queued: bool = False,
    ) -> list[Message]:
        """The newest messages below the number ``before`` (None: of all), oldest first.

        Args:
            run_ids: only messages of these runs: the branch that is shown.
            queued: also those that wait their turn and are no part of the transcript yet.
        """
        conditions = "workflow = $workflow" if queued else "workflow = $workflow AND kind != $queued"
        if before is not None:
            conditions += " AND back > $back"
        if run_ids is not None:
            conditions += " AND run IN $runs"
        found = await self._select(
            f"WHERE {conditions} ORDER BY back LIMIT $limit",
            workflow=record("workflow", workflow_id),
            back=-(before or 0),
            runs=[record("run", each) for each in run_ids or ()],
            limit=page_size(limit),
            queued=QUEUED,
        )
        return found[::-1]

    async def pinned(self, workflow_id: str) -> list[Message]:
        """The pinned messages of a workflow, oldest first; the journal's commits pin them."""
        # Without ORDER BY the index is used, and gives them in this order; with it all messages are read: seconds where there are 10 000.
        found = await self._select(
            "WHERE workflow = $workflow AND pinned = true LIMIT $limit", workflow=record("workflow", workflow_id), limit=limits.LIST_MAX
        )
        return sorted(found, key=lambda message: message.seq)


class ExecutionRepository(Repository[ToolExecution]):
    """Tool calls; the journal's commits write them."""

    table = tables.EXECUTIONS
    what = "tool call"

    async def for_runs(self, run_ids: Sequence[str]) -> list[ToolExecution]:
        """All calls of some runs, in the order in which they began."""
        if not run_ids:
            return []
        return await self._select("WHERE run IN $runs ORDER BY started_at, id", runs=[record("run", each) for each in run_ids])

    async def recent(self, workflow_id: str, limit: int = 100) -> list[ToolExecution]:
        """The newest calls of a workflow, newest first."""
        return await self._select(
            "WHERE workflow = $workflow ORDER BY recency LIMIT $limit",
            workflow=record("workflow", workflow_id),
            limit=page_size(limit),
        )

    async def file_changes(self, workflow_id: str = "") -> dict[str, int]:
        """By workflow (this one alone, if one is named), how many changes of files its calls made. Those of a copy were made by another
        workflow, before the runs of the copy got their ids, and do not count."""
        rows = await self._store.query(
            "SELECT VALUE [record::id(workflow), record::id(run), started_at, parts] FROM tool_execution WHERE "  # noqa: S608
            f"{'workflow = $workflow AND ' if workflow_id else ''}string::contains(parts, $kind)",
            workflow=record("workflow", workflow_id),
            kind='"file_change"',
        )
        found: Counter[str] = Counter()
        for id, run_id, started_at, parts in rows:
            if not is_id(run_id) or plain_time(started_at).timestamp() * 1000 >= made_at(run_id):
                found[id] += sum(_changes_a_file(part) for part in json.loads(parts))
        return {id: count for id, count in found.items() if count}

    async def of_server(self, server: str, limit: int = 100) -> list[ToolExecution]:
        """The newest calls of an MCP server's tools in all workflows, newest first."""
        return await self._select("WHERE server = $server ORDER BY recency LIMIT $limit", server=server, limit=page_size(limit))


def _changes_a_file(part: dict[str, Any]) -> bool:
    """Not so a file that was written as it was."""
    return part.get("type") == "file_change" and (part.get("action") == "moved" or part.get("before") != part.get("after"))
