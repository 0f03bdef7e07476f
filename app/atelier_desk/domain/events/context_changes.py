"""Events of people's changes of a conversation's context: pins, and undone compactions."""

from __future__ import annotations

from typing import Literal

from atelier_desk.domain.events.base_event import Event
from atelier_desk.support.i18n import N_


class EntryPinned(Event):
    """A person pinned or unpinned an entry of the conversation: a pinned entry is never cut, summarised or omitted.

    ``origin`` is the entry: run and number of its event, joined by a colon; empty for a message that is no longer sent
    to the model. ``message_id`` is the transcript message that shows it, empty if none does.
    """

    type: Literal["entry_pinned"] = "entry_pinned"
    label = N_("Pin changed")
    origin: str
    pinned: bool = True
    message_id: str = ""


class CompactionUndone(Event):
    """A person undid a compaction.

    What it cut or replaced is sent in full again. ``origin`` is the ``ContextCompacted`` event.
    """

    type: Literal["compaction_undone"] = "compaction_undone"
    label = N_("Older messages restored")
    origin: str
