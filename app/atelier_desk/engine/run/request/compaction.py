"""Compactions of a conversation.

Applying, undoing, and pins against them. Pure; removed content stays in the state and can be restored.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from atelier_desk.domain.events.run import ContextCompacted, RunEvent
from atelier_desk.engine.run.reducer.conversation_entries import (
    ContextEntry,
    EntryKind,
    History,
    attachments_of,
    without_reasoning,
)
from atelier_desk.engine.run.reducer.handler_registry import evolve
from atelier_desk.engine.run.reducer.state import RunState

CUT_TO = 400
"""Characters kept of a tool result that is cut to make room."""
CUT_MARK = "\n[… {missing} characters were cut to save room {hint}…]\n"


def shortened(text: str, kept: int = CUT_TO, hint: str = "; call the tool again to read them ") -> str:
    """Return the beginning and end of a long text, ``kept`` characters in all, with the size of the gap."""
    if len(text) <= kept + 80:
        return text
    half = kept // 2
    return f"{text[:half]}{CUT_MARK.format(missing=len(text) - 2 * half, hint=hint)}{text[-half:]}"


def compacted(state: RunState, body: ContextCompacted, event: RunEvent) -> RunState:
    """Shorten the given entries, or replace them by a summary."""
    dropped = frozenset(body.dropped)
    origin = f"{event.run_id}:{event.seq}"
    if body.method in ("cut_results", "cut_message"):
        kept, hint = (
            (CUT_TO, "; call the tool again to read them ") if body.method == "cut_results" else (body.kept, "")
        )

        def cut(entry: ContextEntry) -> ContextEntry:
            return replace(
                entry, text=shortened(entry.text, kept, hint), cut=True, full=entry.full or entry.text, cut_by=origin
            )

        return mapped(state, cut, dropped)
    numbered = tuple(zip(state.numbers, state.conversation, strict=True))
    gone = tuple(entry for number, entry in numbered if number in dropped)
    history = [(number, entry) for number, entry in numbered[: len(state.history)] if number not in dropped]
    summary = ContextEntry(
        seq=event.seq,
        kind=EntryKind.SUMMARY,
        text=body.summary,
        origin=origin,
        replaced=gone,
        earlier=tuple(attachments_of(gone).values()),
        order=tuple(entry.origin for entry in state.conversation),
    )
    return evolve(
        state,
        history=History((summary, *(entry for _number, entry in history))),
        numbered=(event.seq, *(number for number, _entry in history)),
        entries=tuple(entry for entry in state.entries if entry.seq not in dropped),
    )


def pinned(state: RunState, origin: str, pin: bool) -> RunState:
    """Pin or unpin an entry; an unknown origin changes nothing."""
    return mapped(state, lambda entry: replace(entry, pinned=pin) if origin and entry.origin == origin else entry)


def can_undo(state: RunState, origin: str) -> bool:
    """Whether a compaction can be undone: its effect is in the conversation and not inside a later summary."""
    return any(_made_by(entry, origin) for entry in state.conversation)


def undone(state: RunState, origin: str) -> RunState:
    """Undo a compaction; a missing one changes nothing."""
    summary = next((e for e in state.conversation if e.kind is EntryKind.SUMMARY and e.origin == origin), None)
    if summary is None:
        return mapped(state, lambda entry: _restore_full(entry) if _made_by(entry, origin) else entry)
    # Entries of this run keep their number; earlier ones are numbered anew, as are summaries of them.
    own = f"{state.run_id}:"
    positions = {name: index for index, name in enumerate(summary.order)}
    rest = [entry for entry in state.conversation if entry is not summary]
    older = [entry for entry in (*summary.replaced, *rest) if entry.origin in positions]
    everything = [
        *sorted(older, key=lambda entry: positions[entry.origin]),
        *(entry for entry in rest if entry.origin not in positions),
    ]
    new = [entry for entry in everything if entry.origin.startswith(own) and entry.kind is not EntryKind.SUMMARY]
    before = [entry for entry in everything if entry not in new]
    return evolve(state, history=History(without_reasoning(before)), numbered=None, restored=True, entries=tuple(new))


def _made_by(entry: ContextEntry, origin: str) -> bool:
    return (entry.kind is EntryKind.SUMMARY and entry.origin == origin) or (entry.cut and entry.cut_by == origin)


def _restore_full(entry: ContextEntry) -> ContextEntry:
    return replace(entry, text=entry.full, full="", cut=False, cut_by="")


def mapped(
    state: RunState, change: Callable[[ContextEntry], ContextEntry], only: Collection[int] | None = None
) -> RunState:
    """Change the entries of a conversation; ``only``: those with these numbers."""
    numbered = zip(state.numbers, state.conversation, strict=True)
    changed = tuple(change(entry) if only is None or number in only else entry for number, entry in numbered)
    size = len(state.history)
    return evolve(state, history=History(changed[:size]), entries=changed[size:])
