"""How the journal's events are stored.

A separate module, so that listing workflows or agents does not load the event types.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from atelier_desk.domain.events.run import RunEvent, event_body_adapter
from atelier_desk.storage.compressed_text import unpack
from atelier_desk.storage.damage_report import damaged_row
from atelier_desk.storage.row_mapping import Table, has_hash, plain_time, record, rows_of_each, to_json


class _EventTable(Table[RunEvent]):
    """Events, with their body as JSON text beside the type.

    Hash and compression are applied at commit time (``hash_chain``): ``prev_hash`` is the hash of the previous event,
    ``wrote`` names the rows written in the same commit. A single row shows whether it is unchanged, two show whether
    one between them is missing.
    """

    def is_intact(self, row: Mapping[str, object]) -> bool:
        return has_hash(self.name, row, HASHED)

    def encode(self, value: RunEvent) -> dict[str, object]:
        return {
            "id": self.record(value.id),
            "workflow": record("workflow", value.workflow_id),
            "run": record("run", value.run_id) if value.run_id else None,
            "seq": value.seq,
            "stream_from": value.stream_from,
            "v": value.v,
            "type": value.body.type,
            "time": value.time,
            "body": to_json(value.body),
        }

    def open(self, rows: Iterable[dict[str, Any]]) -> None:
        """Unpack the bodies of rows in place, once for all users; unreadable ones stay packed and fail the check."""
        for row in rows:
            with contextlib.suppress(ValueError):
                row["body"] = unpack(row["body"])

    def decode(self, row: Any) -> RunEvent:
        if not self.is_intact(row):
            raise damaged_row(self.name, row)
        return self.decode_intact(row)

    def decode_intact(self, row: Any) -> RunEvent:
        """Return the event of a row that was just verified, as by a ``Chain``."""
        try:
            body = json.loads(unpack(row["body"]))
        except ValueError:  # for a row without a hash
            raise damaged_row(self.name, row) from None
        run = row.get("run")
        return RunEvent(
            id=row["id"].id,
            v=row["v"],
            workflow_id=row["workflow"].id,
            run_id=run.id if run is not None else "",
            seq=row["seq"],
            stream_from=row["stream_from"],
            time=plain_time(row["time"]),
            body=event_body_adapter.validate_python(body),
        )


HASHED = ("id", "workflow", "run", "seq", "stream_from", "v", "type", "time", "body", "prev_hash", "wrote")
EVENT_COLUMNS = ", ".join((*HASHED, "hash"))
EVENTS = _EventTable("run_event", RunEvent)


def events_of_runs(condition: str = "") -> str:
    """Return a source for FROM: the events of ``$runs``, one run after the other; ``condition`` starts with AND."""
    return rows_of_each("runs", f"SELECT {EVENT_COLUMNS} FROM run_event WHERE run = $each {condition}")  # noqa: S608
