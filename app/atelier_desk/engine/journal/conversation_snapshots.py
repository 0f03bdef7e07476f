"""Snapshots: what a run inherits, kept beside the journal so that a start need not fold every turn of a long workflow.

A snapshot says which turns it was folded from and what their rows said of their newest events. It counts only for a
conversation that begins with just these turns, unchanged; else the journal is folded from the start. What summaries
stand for is not in it: it is folded when somebody looks at it or undoes one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from pydantic import TypeAdapter

from atelier_desk.engine.run.reducer.conversation_entries import NO_HISTORY, ContextEntry, History, without_replaced
from atelier_desk.storage.repositories.runs import Turn

FORM = 2
"""Goes up when a snapshot is made in another way, or when folding the same events gives something else, which a test
tells.
"""
MADE_BY = f"{FORM} {' '.join(each.name for each in fields(ContextEntry))}"
"""What a snapshot has to say of itself to be read."""
LEAST = 64
"""Turns after which a snapshot is worth its bytes: folding them takes less than a tenth of a second."""
ENTRIES_A_TURN = 50
"""Of a conversation that no summary shortens, a snapshot is made after one turn for so many entries: what is written
grows with it.
"""

_entries = TypeAdapter(tuple[ContextEntry, ...])


@dataclass(frozen=True, slots=True)
class InheritedState:
    """What a run goes on with: the conversation of the runs before it, and what was read from outside in it.

    Attributes:
        folded: digest of the turns it was folded from and of how many events each had; None when that is not known.
        since: turns folded since there is a snapshot.
    """

    history: History = NO_HISTORY
    tainted: tuple[str, ...] = ()
    folded: bytes | None = b""
    since: int = 0

    @property
    def due(self) -> bool:
        """Whether it is time for a snapshot."""
        return self.since >= max(LEAST, len(self.history) // ENTRIES_A_TURN)


def folded(before: bytes | None, run_id: str, last_seq: int) -> bytes | None:
    """``InheritedState.folded`` after one more turn."""
    return None if before is None else _digest(before, f"{run_id} {last_seq}".encode())


def encode(before: InheritedState, turns: Sequence[Turn]) -> bytes | None:
    """A snapshot of what follows ``turns``; None when it was folded from others, or would not be the same when it is
    read again.
    """
    if not turns or _folded(turns) != before.folded:
        return None
    entries = without_replaced(before.history)
    head = {"made_by": MADE_BY, "run": turns[-1].id, "turns": _rows(turns).hex(), "tainted": before.tainted}
    try:
        text = _entries.dump_json(entries, exclude_defaults=True)
        same = _entries.validate_json(text) == entries
    except ValueError:  # a number or a character that JSON does not have
        return None
    return json.dumps(head).encode() + b"\n" + text if same else None


def decode(data: bytes, turns: Sequence[Turn]) -> tuple[int, InheritedState] | None:
    """How many of the turns a snapshot is of, the oldest ones, and what follows them; None when it is not of these."""
    line, _newline, text = data.partition(b"\n")
    try:
        head = json.loads(line)
        if head["made_by"] != MADE_BY:
            return None
        count = next((number for number, turn in enumerate(turns, 1) if turn.id == head["run"]), 0)
        if not count or _rows(turns[:count]).hex() != head["turns"]:
            return None
        before = InheritedState(History(_entries.validate_json(text)), tuple(head["tainted"]))
    except (ValueError, KeyError, TypeError):
        return None
    return count, replace(before, folded=_folded(turns[:count]))


def _folded(turns: Sequence[Turn]) -> bytes | None:
    """``InheritedState.folded`` after these turns; nothing was folded of those whose events cannot be read."""
    made_of: bytes | None = b""
    for turn in turns:
        made_of = made_of if turn.unread else folded(made_of, turn.id, turn.last_seq)
    return made_of


def _rows(turns: Sequence[Turn]) -> bytes:
    """A digest of the turns and of the hashes of their newest events, in which those of all others are."""
    digest = hashlib.blake2b(digest_size=16)
    for turn in turns:
        digest.update(f"{turn.id} {turn.last_seq} {(turn.last_hash or b'').hex()}\n".encode())
    return digest.digest()


def _digest(*parts: bytes) -> bytes:
    return hashlib.blake2b(b"".join(parts), digest_size=16).digest()
