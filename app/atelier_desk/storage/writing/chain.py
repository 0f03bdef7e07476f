"""Hashes that tie the events of a run, and the rows that follow from them, to each other.

Each event has the hash of the one before it in its own; the run's row has that of the newest one. The events of a workflow that belong to
no run are tied the same way, to the workflow's row. The last event of a commit names the messages and tool calls that were written with
it, with their hashes. So a row that changed is noticed, and also one that is missing, came twice or took the place of another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any

from atelier_desk.domain.workflow import QUEUED
from atelier_desk.storage.compressed_text import pack
from atelier_desk.storage.damage import MISSING, Damage, of_row
from atelier_desk.storage.row_hash import row_hash
from atelier_desk.storage.writing.event_table import EVENTS, HASHED

Row = dict[str, Any]
FIRST = b""
"""Stands for the hash before the first event that has one."""


def link(events: Sequence[Row], written: Iterable[Row], last: MutableMapping[str, bytes]) -> None:
    """Give the events of a commit, in their order, the columns ``prev_hash``, ``wrote`` and ``hash``, and compress their bodies.

    Args:
        written: the messages and tool calls of the same commit.
        last: by run, and by workflow for events of no run, the hash of the newest event; it is changed to what it is after the commit.
    """
    newest = {owner(row): row for row in events}
    named: dict[str, list[str]] = {}
    for row in written:
        # One that waits is nobody's yet: it may go on to the next turn, or back to its person.
        if row.get("kind") != QUEUED and row.get("run") is not None:
            named.setdefault(row["run"].id, []).append(name_of(row))
    for row in events:
        key = owner(row)
        row["prev_hash"] = FIRST if row["seq"] == 1 else last.get(key, FIRST)
        row["wrote"] = named.get(key) if newest[key] is row else None
        row["hash"] = last[key] = row_hash(row, HASHED)
        row["body"] = pack(row["body"])


def owner(event: Row) -> str:
    """The run of an event; its workflow, when it belongs to no run."""
    return str((event["run"] or event["workflow"]).id)


def name_of(row: Row) -> str:
    """What ``wrote`` says of a row: its table, its id and its hash."""
    return f"{row['id'].table_name}:{row['id'].id}:{row['hash'].hex()}"


def named_in(wrote: Iterable[str] | None) -> Iterator[tuple[str, str, bytes]]:
    """The inverse: tables, ids and hashes."""
    for each in wrote or ():
        table, _colon, rest = each.partition(":")
        key, _colon, digest = rest.rpartition(":")
        yield table, key, bytes.fromhex(digest)


class Chain:
    """Goes along the events of one run, in their order, and says where they do not follow each other.

    Attributes:
        seq: number of the newest event that was taken; of an event that came before those that are taken, where it is not 0.
        hash: its hash; None when it has none or is not known.
    """

    def __init__(self, seq: int = 0) -> None:
        self.seq = seq
        self.hash: bytes | None = None
        self._known = seq == 0

    def take(self, row: Mapping[str, Any]) -> Damage | None:
        """One more event; what is wrong with it, or that the one before it is missing."""
        before, known, seq = self.hash, self._known, row["seq"]
        expected = self.seq + 1
        # Nothing follows from the hash of a damaged row.
        self.seq, self.hash, self._known = seq, row.get("hash"), False
        if not EVENTS.is_whole(row) or seq < expected or (self.hash is None and before is not None):
            return of_row(EVENTS.name, row)
        self._known = True
        if seq > expected:
            return of_row(EVENTS.name, {**row, "id": None, "seq": expected}, MISSING)
        if known and self.hash is not None and row.get("prev_hash") != (before or FIRST):
            return of_row(EVENTS.name, row)
        return None

    def end(self, run_row: Mapping[str, Any]) -> Damage | None:
        """That the newest events are missing, by the run's row, which names the last one."""
        last = run_row.get("last_hash")
        if last is None or last == self.hash:
            return None
        return of_row(EVENTS.name, {"workflow": run_row["workflow"], "run": run_row["id"], "seq": self.seq + 1}, MISSING)
