"""Hash chain over the events of a run and the rows that follow from them.

The hash of each event covers that of the event before it; the run's row has the hash of the newest. Events of a
workflow that belong to no run form a chain of their own, whose newest hash is in the workflow's row. The last event of
a commit names the messages and tool calls written with it, with their hashes. So changed, missing, duplicated and
swapped rows are all noticed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Any

from atelier_desk.domain.workflow import QUEUED
from atelier_desk.storage.compressed_text import pack
from atelier_desk.storage.damage_report import MISSING, Damage, of_row
from atelier_desk.storage.row_hash import name_of, row_hash
from atelier_desk.storage.writing.event_rows import EVENTS, HASHED

Row = dict[str, Any]
FIRST = b""
"""Stands for the hash before the first event that has one."""


def link(events: Sequence[Row], written: Iterable[Row], last: MutableMapping[str, bytes]) -> None:
    """Set ``prev_hash``, ``wrote`` and ``hash`` of a commit's events, in order, and compress their bodies.

    Args:
        written: the messages and tool calls of the same commit.
        last: by run, and by workflow for events of no run, the hash of the newest event; updated in place.
    """
    newest = {owner(row): row for row in events}
    named: dict[str, list[str]] = {}
    for row in written:
        # A queued message is not chained yet: it may join the next turn, or return to its author.
        if row.get("kind") != QUEUED and row.get("run") is not None:
            named.setdefault(row["run"].id, []).append(name_of(row))
    for row in events:
        key = owner(row)
        row["prev_hash"] = FIRST if row["seq"] == 1 else last.get(key, FIRST)
        row["wrote"] = named.get(key) if newest[key] is row else None
        row["hash"] = last[key] = row_hash(row, HASHED)
        row["body"] = pack(row["body"])


def owner(event: Row) -> str:
    """Return the run of an event, or its workflow if it belongs to no run."""
    return str((event["run"] or event["workflow"]).id)


class Chain:
    """Check that the events of one run follow each other.

    Attributes:
        seq: number of the last event taken; initially the number before the first one, if not 0.
        hash: its hash; None if it has none or is not known.
    """

    def __init__(self, seq: int = 0) -> None:
        self.seq = seq
        self.hash: bytes | None = None
        self._known = seq == 0

    def check_next(self, row: Mapping[str, Any]) -> Damage | None:
        """Take the next event; return its damage, or that its predecessor is missing."""
        before, known, expected = self.hash, self._known, self.seq + 1
        seq = found if isinstance(found := row["seq"], int) else 0
        # A damaged row's hash proves nothing about the next row.
        self.seq, self.hash, self._known = seq, row.get("hash"), False
        if not EVENTS.is_intact(row) or seq < expected or (self.hash is None and before is not None):
            return of_row(EVENTS.name, row)
        self._known = True
        if seq > expected:
            return of_row(EVENTS.name, {**row, "id": None, "seq": expected}, MISSING)
        if known and self.hash is not None and row.get("prev_hash") != (before or FIRST):
            return of_row(EVENTS.name, row)
        return None

    def end(self, run_row: Mapping[str, object]) -> Damage | None:
        """Return damage if the newest events are missing, according to the run's row."""
        last = run_row.get("last_hash")
        if last is None or last == self.hash:
            return None
        return of_row(
            EVENTS.name, {"workflow": run_row["workflow"], "run": run_row["id"], "seq": self.seq + 1}, MISSING
        )
