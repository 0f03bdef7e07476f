"""The notice shown before a turn is answered again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from atelier_desk.presentation.regenerate_warning_text import CHANGES, changed_text, repeated_text

if TYPE_CHECKING:
    from atelier_desk.presentation.rows.transcript_entries import Entry

_NOT_A_PERSONS = frozenset({"prompt", "from_parent", "agent_report"})


def regenerate_text(entries: Iterable[Entry], run_id: str, message_id: str) -> str:
    """What is sent again with an edited message or regenerated reply, and the changes by the turn's calls.

    As far as it is loaded; empty if there is nothing to mention.
    """
    turn = [entry for entry in entries if entry.run_id == run_id]
    at = next((place for place, entry in enumerate(turn) if entry.id == message_id), len(turn))
    messages = [entry for entry in turn[:at] if entry.kind == "user" and entry.topic not in _NOT_A_PERSONS]
    changed = at < len(turn) and turn[at].kind == "user"
    done = sum(call.status == "ok" and call.effect in CHANGES for entry in turn for call in entry.calls)
    return " ".join(filter(None, (repeated_text(len(messages) - (not changed)), changed_text(done))))
