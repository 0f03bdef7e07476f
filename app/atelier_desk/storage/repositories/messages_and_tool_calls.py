"""Content of a transcript: messages and tool calls."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from atelier_desk.domain.base_model import Model
from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.ids import is_id, made_at
from atelier_desk.domain.workflow import QUEUED, Message, MessageRole, ToolExecution
from atelier_desk.storage import tables
from atelier_desk.storage.damage_report import CODE
from atelier_desk.storage.repositories.base_repository import Repository, page_size
from atelier_desk.storage.row_hash import named_in
from atelier_desk.storage.row_mapping import Table, plain_time, record
from atelier_desk.storage.store import Store
from atelier_desk.support.i18n import N_, _

M = TypeVar("M", bound=Model)
Row = Mapping[str, Any]
DAMAGED = "damaged"
"""Kind of the notice that replaces a damaged message."""


class MessageRepository(Repository[Message]):
    """Messages; written by the journal's commits.

    In lists a notice replaces a damaged one; ``get`` raises ``StorageError`` (``damaged_row``) for it.
    """

    table = tables.MESSAGES
    what = "message"
    absent = N_("There is no message {id}.")

    async def _select(self, tail: str, /, **params: object) -> list[Message]:
        rows = await self._store.query(f"SELECT {self.table.columns} FROM {self.table.name} {tail}", **params)  # noqa: S608
        return _decoded(self.table, rows, _damaged_message)

    async def page(
        self,
        workflow_id: str,
        *,
        before: int | None = None,
        limit: int = 100,
        run_ids: Sequence[str] | None = None,
        queued: bool = False,
    ) -> list[Message]:
        """Return the newest messages below the number ``before`` (None: of all), oldest first.

        Args:
            run_ids: only messages of these runs: the branch that is shown.
            queued: also include queued messages, which are not part of the transcript yet.
        """
        conditions = "workflow = $workflow" if queued else "workflow = $workflow AND kind != $queued"
        if before is not None:
            conditions += " AND back > $back"
        if run_ids is not None:
            conditions += " AND run IN $runs"
        try:
            found = await self._select(
                f"WHERE {conditions} ORDER BY back LIMIT $limit",
                workflow=record("workflow", workflow_id),
                back=-(before or 0),
                runs=[record("run", each) for each in run_ids or ()],
                limit=page_size(limit),
                queued=QUEUED,
            )
        except StorageError as error:
            if error.code != CODE:
                raise
            rows = await _one_by_one(self._store, self.table, workflow_id, None)
            every = sorted(_decoded(self.table, rows, _damaged_message), key=lambda message: -message.seq)
            there = [
                message
                for message in every
                if (before is None or message.seq < before) and (queued or message.kind != QUEUED)
            ]
            found = [message for message in there if run_ids is None or message.run_id in run_ids][:limit]
        return found[::-1]

    async def pinned(self, workflow_id: str) -> list[Message]:
        """Return the pinned messages of a workflow, oldest first; written by the journal's commits."""
        # Without ORDER BY the index is used and already gives this order; with it all messages are read: seconds for 10
        # 000.
        found = await self._select(
            "WHERE workflow = $workflow AND pinned = true", workflow=record("workflow", workflow_id)
        )
        return sorted(found, key=lambda message: message.seq)


class ExecutionRepository(Repository[ToolExecution]):
    """Tool calls; written by the journal's commits. A damaged one is returned as failed, with a note that says so."""

    table = tables.EXECUTIONS
    what = "tool call"
    absent = N_("There is no tool call {id}.")

    async def _select(self, tail: str, /, **params: object) -> list[ToolExecution]:
        rows = await self._store.query(f"SELECT {self.table.columns} FROM {self.table.name} {tail}", **params)  # noqa: S608
        return _decoded(self.table, rows, _damaged_call)

    async def for_runs(self, run_ids: Sequence[str]) -> list[ToolExecution]:
        """Return all calls of some runs, in the order in which they began."""
        try:
            rows = await self._rows_of_each("run", [record("run", each) for each in run_ids], "started_at, id")
            return _decoded(self.table, rows, _damaged_call)
        except StorageError as error:
            if error.code != CODE:
                raise
            calls = _decoded(self.table, await _one_by_one(self._store, self.table, None, run_ids), _damaged_call)
            return sorted(calls, key=lambda call: (call.started_at, call.id))

    async def recent(self, workflow_id: str, limit: int = 100) -> list[ToolExecution]:
        """Return the newest calls of a workflow, newest first."""
        return await self._select(
            "WHERE workflow = $workflow ORDER BY recency LIMIT $limit",
            workflow=record("workflow", workflow_id),
            limit=page_size(limit),
        )

    async def file_changes(self, workflow_id: str) -> dict[str, int]:
        """Return, by workflow (or for one), how many file changes its calls made.

        Calls in a copy were made by the original workflow, before the copied runs got their ids, and do not count.
        """
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
        """Return the newest calls of an MCP server's tools in all workflows, newest first."""
        return await self._select(
            "WHERE server = $server ORDER BY recency LIMIT $limit", server=server, limit=page_size(limit)
        )


def _changes_a_file(part: dict[str, object]) -> bool:
    """Whether a call changed a file; writing identical content does not count."""
    return part.get("type") == "file_change" and (
        part.get("action") == "moved" or part.get("before") != part.get("after")
    )


def _decoded(table: Table[M], rows: Iterable[Row], stand_in: Callable[[Row], M]) -> list[M]:
    return [table.decode(row) if table.is_intact(row) else stand_in(row) for row in rows]


async def _one_by_one(
    store: Store, table: Table[M], workflow_id: str | None, run_ids: Sequence[str] | None
) -> list[Row]:
    """Read rows one by one because the engine cannot read all of them.

    The rows are those named by the events of a workflow or of some runs. For unreadable ones the event's data is
    returned.

    Raises:
        StorageError: ``damaged_row``: an event cannot be read either.
    """
    condition = "workflow = $workflow" if run_ids is None else "run IN $runs"
    events = await store.query(
        f"SELECT workflow, run, stream_from, time, wrote FROM run_event WHERE {condition} AND wrote != NONE",  # noqa: S608
        workflow=record("workflow", workflow_id or ""),
        runs=[record("run", each) for each in run_ids or ()],
    )
    named = {key: event for event in events for of, key, _digest in named_in(event["wrote"]) if of == table.name}
    found: list[Row] = []
    for key, event in named.items():
        try:
            found += await store.query(f"SELECT {table.columns} FROM $row", row=table.record(key))  # noqa: S608
        except StorageError as error:
            if error.code != CODE:
                raise
            place = {"seq": event["stream_from"], "created_at": event["time"], "started_at": event["time"]}
            found.append(
                {"id": table.record(key), "workflow": event["workflow"], "run": event["run"], "hash": b"", **place}
            )
    return found


def _damaged_message(row: Row) -> Message:
    text = _(
        "A message cannot be shown here because its stored record is damaged. A replay of the workflow may still "
        "show its text."
    )
    return Message(
        id=row["id"].id,
        workflow_id=_id(row, "workflow"),
        run_id=_id(row, "run"),
        seq=row["seq"],
        role=MessageRole.NOTICE,
        kind=DAMAGED,
        content=text,
        created_at=_time(row.get("created_at")),
    )


def _damaged_call(row: Row) -> ToolExecution:
    text = _("The stored record of this tool call is damaged. A replay of the workflow may still show the call.")
    run_id, _colon, call_id = str(row["id"].id).partition(":")
    return ToolExecution(
        id=row["id"].id,
        workflow_id=_id(row, "workflow"),
        run_id=run_id,
        call_id=call_id,
        tool=str(row.get("tool") or DAMAGED),
        status="error",
        error=text,
        started_at=_time(row.get("started_at")),
    )


def _id(row: Row, link: str) -> str:
    found = row.get(link)
    return str(found.id) if found is not None else ""


def _time(found: object) -> datetime:
    return plain_time(found) if isinstance(found, datetime) else datetime.fromtimestamp(0, UTC)
