"""What a commit changes for the full-text index and the sums of what requests used. The statements of a transaction
carry it; the store hands it on after the commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from atelier_desk.storage.compressed_text import readable
from atelier_desk.storage.search.request_usage_tables import RequestChange
from atelier_desk.storage.search.text_tokenizer import json_text

KINDS = ("message", "tool_execution", "memory", "report")
"""Searchable tables."""
TIMES = {"message": "created_at", "tool_execution": "started_at", "memory": "updated_at", "report": "updated_at"}
"""Column with the time at which a row was said, done or changed."""
COLUMNS = {
    "message": "content",
    "tool_execution": "tool, error, arguments, result",
    "memory": "content, tags",
    "report": "name",
}
"""Columns whose text is searchable; the text of a report is in a file."""


class Document(NamedTuple):
    """A new or changed row.

    Attributes:
        kind: one of ``KINDS``.
        workflow_id: empty for a general memory.
        at: when it was said, done or changed.
        texts: its searchable texts; JSON where ``kind`` stores it so.
    """

    kind: str
    id: str
    workflow_id: str
    at: datetime
    texts: tuple[str, ...]

    def text(self) -> str:
        """The joined words of all texts."""
        return "\n".join(map(json_text, self.texts) if self.kind == "tool_execution" else self.texts)


class RemovedDocument(NamedTuple):
    """Deleted rows."""

    kind: str
    ids: tuple[str, ...]


class WorkflowRemoved(NamedTuple):
    """A workflow deleted with all its rows."""

    workflow_id: str


class WorkflowAt(NamedTuple):
    """The number of a workflow's newest stream event after the commit.

    Attributes:
        after: its newest one before; an index that has not read as far misses what lies between, and stays where it is.
            None: all of it is in the index now.
    """

    workflow_id: str
    stream_seq: int
    after: int | None = None


Change = Document | RemovedDocument | WorkflowRemoved | WorkflowAt | RequestChange


def document(kind: str, row: Mapping[str, object], *more: str) -> Document:
    """Return the document of a row as written or read; ``more`` are texts from outside the row."""
    row = readable(kind, row)
    texts: list[str] = []
    for column in COLUMNS[kind].split(", "):
        value = row.get(column)
        texts += [value] if isinstance(value, str) else value or []
    workflow = row.get("workflow")
    at = row[TIMES[kind]]
    return Document(kind, row["id"].id, workflow.id if workflow is not None else "", at, (*texts, *more))


def documents(kind: str, rows: Iterable[Mapping[str, object]]) -> tuple[Document, ...]:
    """Return the documents of rows; none for a table that is not searchable."""
    return tuple(document(kind, row) for row in rows) if kind in KINDS else ()


def micros(at: datetime) -> int:
    """Return microseconds since 1970."""
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
