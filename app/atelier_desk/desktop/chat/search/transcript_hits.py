"""Search in a transcript: in messages, reasoning, and cards of calls and questions, open or closed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from atelier_desk.desktop.chat.markdown.plain_text import plain_text
from atelier_desk.desktop.chat.transcript.tool_call_texts import call_text, details_of
from atelier_desk.desktop.chat.transcript.transcript_position import (
    CALL,
    HEAD,
    QUESTION,
    TEXT,
    THOUGHTS,
    TranscriptPosition,
)
from atelier_desk.presentation.rows.transcript_entries import Entry

_MARKS = str.maketrans("", "", "*_`~\\")
"""Markdown characters that may occur within a word."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A match: its entry, and the position within."""

    entry: Entry
    place: TranscriptPosition


def hits(entries: Iterable[Entry], needle: str) -> list[Hit]:
    """All matches of ``needle``, ignoring case, in display order."""
    searched = needle.casefold()
    if not searched:
        return []
    return [
        Hit(entry, TranscriptPosition(part, key, number))
        for entry in entries
        for part, key, text in _texts(entry, searched)
        for number in range(text.casefold().count(searched))
    ]


def _texts(entry: Entry, searched: str) -> Iterator[tuple[str, str, str]]:
    """The rendered texts of an entry that contain the needle, with their part and key."""
    if searched in entry.reasoning.casefold():
        yield THOUGHTS, "", entry.reasoning
    content = entry.content.casefold()
    if searched in content or searched in content.translate(_MARKS):  # only then parsing is worthwhile
        yield TEXT, "", entry.content if entry.kind == "user" else plain_text(entry.content)
    for call in entry.calls:
        asked = next((each for each in entry.asked if each.call_id == call.call_id), None)
        yield HEAD, call.call_id, " ".join(dict.fromkeys((*call_text(call, asked), call.tool)))
        for number, (_title, text, _language) in enumerate(details_of(call)):
            yield CALL, f"{call.call_id}\n{number}", text
    for asked in entry.asked:
        yield QUESTION, asked.question_id, f"{asked.question}\n{asked.answer}"
