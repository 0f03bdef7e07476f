"""Names of requests that were sent and are not settled: each has a row among the usage totals, by which it counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from atelier_desk.storage.row_mapping import record

if TYPE_CHECKING:
    from surrealdb import RecordID

ID_PREFIX = "sent"
"""First part of the ids of their rows."""
OWN = "reply"
"""Name of the request for a run's own next reply, of which there is one at a time."""


class SentKey(NamedTuple):
    """What names a request: its run, empty outside runs, and a name within it."""

    run_id: str
    name: str


def sent_row(key: SentKey) -> RecordID:
    """Return the id of the row by which a request counts until its event, or its total, is committed."""
    return record("spent", [ID_PREFIX, *key])
