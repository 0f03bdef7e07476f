"""What is said when a turn is answered again: what its earlier answer did stays done."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from atelier_desk.i18n import ngettext

if TYPE_CHECKING:
    from atelier_desk.desktop.chat.transcript.entries import Entry

CHANGES = frozenset({"write", "execute", "spawn"})
"""Effects that outlast the answer, of ``tools.call.Effect``."""


def again_words(entries: Iterable[Entry], run_id: str) -> str:
    """A sentence about the calls of a turn that changed something, as far as it is loaded; empty when there are none."""
    calls = [call for entry in entries if entry.run_id == run_id for call in entry.calls]
    done = sum(call.status == "ok" and call.effect in CHANGES for call in calls)
    if not done:
        return ""
    return ngettext(
        "{n} call of the earlier answer changed something. That stays, and may be done again.",
        "{n} calls of the earlier answer changed something. That stays, and may be done again.",
        done,
    )
