"""How the journal's events are stored. A module of its own: who lists workflows or agents need not load what an event can be."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from atelier_desk.domain.events.run import RunEvent, event_body_adapter
from atelier_desk.storage.compressed_text import unpack
from atelier_desk.storage.damage import damaged_row
from atelier_desk.storage.rows import Table, has_hash, plain_time, record, to_json


class _EventTable(Table[RunEvent]):
    """Events keep their body as JSON text, beside its type.

    Their hash is given when they are committed (``chain``), and only then is the body compressed: ``prev_hash`` is that of the event
    before, and ``wrote`` names the rows that the commit wrote with it. A row alone tells whether it is as it was written, and two
    whether nothing is missing between them.
    """

    def is_whole(self, row: Mapping[str, Any]) -> bool:
        return has_hash(self.name, row, HASHED)

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

    def open(self, rows: Iterable[dict[str, Any]]) -> None:
        """Unpack the bodies of rows in place, once for all that looks at them; what cannot be unpacked stays, and is not whole."""
        for row in rows:
            with contextlib.suppress(ValueError):
                row["body"] = unpack(row["body"])

    def decode(self, row: Any) -> RunEvent:
        if not self.is_whole(row):
            raise damaged_row(self.name, row)
        return self.decode_whole(row)

    def decode_whole(self, row: Any) -> RunEvent:
        """The event of a row that was found to be whole just now, as a ``Chain`` does."""
        try:
            body = json.loads(unpack(row["body"]))
        except ValueError:  # of a row without a hash
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
