"""How the journal's events are stored. A module of its own: who lists workflows or agents need not load what an event can be."""

from __future__ import annotations

import json
from typing import Any

from atelier_desk.domain.events.run import RunEvent, event_body_adapter
from atelier_desk.storage.rows import Table, plain_time, record, to_json


class _EventTable(Table[RunEvent]):
    """Events keep their body as JSON text, beside its type."""

    def encode(self, value: RunEvent) -> dict[str, Any]:
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

    def decode(self, row: Any) -> RunEvent:
        run = row.get("run")
        return RunEvent(
            id=row["id"].id,
            v=row["v"],
            workflow_id=row["workflow"].id,
            run_id=run.id if run is not None else "",
            seq=row["seq"],
            stream_from=row["stream_from"],
            time=plain_time(row["time"]),
            body=event_body_adapter.validate_python(json.loads(row["body"])),
        )


EVENTS = _EventTable("run_event", RunEvent)
