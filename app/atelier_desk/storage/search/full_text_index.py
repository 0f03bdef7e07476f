"""The index: an SQLite file with FTS5, which is part of Python.

The file can be deleted at any time. It contains only the compressed tokens of each row, because FTS5 needs them to
remove the row.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from atelier_desk.domain.errors import StorageError
from atelier_desk.storage.search import request_usage_tables
from atelier_desk.storage.search.index_changes import (
    Change,
    Document,
    RemovedDocument,
    WorkflowAt,
    WorkflowRemoved,
    micros,
)
from atelier_desk.storage.search.text_tokenizer import PART_MIN, document_tokens, long_words, query_tokens
from atelier_desk.support.i18n import N_

T = TypeVar("T")
_log = logging.getLogger(__name__)
FORM = 4
"""Goes up when the file is made in another way; a file of another form is made anew."""
DAMAGED = (sqlite3.Error, zlib.error, UnicodeDecodeError)
"""Errors from reading or writing a damaged file; SQLite does not check the stored tokens."""
REMOVED = "removed"
"""Name in the state which records that rows were removed since the last ``wipe``."""
SIMILAR_MAX = 128
"""Maximum number of longer words that a query word also matches."""
# Small pages: a write changes a few bytes in each of some 25 pages. A run indexed alone writes 74 kB, with pages of 4
# kB 128. A file keeps the size it was made with.
_TABLES = f"""
PRAGMA page_size = 1024;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA secure_delete = ON;
PRAGMA journal_size_limit = 1048576;
CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS workflow (id TEXT PRIMARY KEY, stream_seq INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS document (
    place INTEGER PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL, workflow TEXT NOT NULL, tokens BLOB NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS document_id ON document (kind, id);
CREATE INDEX IF NOT EXISTS document_workflow ON document (workflow);
{request_usage_tables.TABLES}
"""
_WORDS = """
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
    tokens, content='', columnsize=0, detail=none,
    tokenize="porter unicode61 remove_diacritics 0 categories 'L* N* M* S* Co' tokenchars '+#'"
);
CREATE TABLE IF NOT EXISTS word (id INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE);
CREATE VIRTUAL TABLE IF NOT EXISTS parts USING fts5(word, content='', columnsize=0, detail=none, tokenize='trigram');
"""
UNAVAILABLE = N_(
    "The history cannot be searched: this Python uses SQLite {version} without FTS5. Use a Python whose SQLite "
    "includes it."
)


FREE_KNOWN = 100_000
"""Maximum number of times for which a free place is known."""


class IndexMatch(NamedTuple):
    """A row that matches a query. ``place`` orders by time: a later row has a higher one."""

    place: int
    kind: str
    id: str


class SearchIndex:
    """One open index. Every method blocks: call them in a thread, one at a time.

    Args:
        path: its file, created if missing or damaged; None for one in memory.

    Raises:
        StorageError: ``index``: the file cannot be made.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._free: dict[int, int] = {}
        """By a taken time, a place from which on there may be a free one."""
        self._db = self._open()

    def _open(self) -> sqlite3.Connection:
        try:
            return _connect(self._path)
        except sqlite3.DatabaseError as error:
            _log.warning("the search index is made anew: %s", error)
        self._delete_files()
        try:
            return _connect(self._path)
        except DAMAGED as error:
            raise _storage_error(error, self._path) from error

    def _delete_files(self) -> None:
        if self._path is not None:
            for path in (self._path, *(self._path.with_name(self._path.name + end) for end in ("-wal", "-shm"))):
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)

    def close(self) -> None:
        self._db.close()

    def clear(self) -> None:
        """Empty the index, for example when the file is damaged."""
        self._db.close()
        self._free.clear()
        self._delete_files()
        self._db = self._open()

    def state(self) -> dict[str, str]:
        """Return the state stored by the last call of ``apply``."""
        return dict(self._db.execute("SELECT name, value FROM state"))

    def workflows(self) -> dict[str, int]:
        """Return, by workflow, the number of the newest stream event that is indexed."""
        return dict(self._db.execute("SELECT id, stream_seq FROM workflow"))

    def ids(self, kind: str, workflow_id: str | None = None) -> set[str]:
        """Return the indexed rows of a kind, of one workflow or all."""
        only, values = (" AND workflow = ?", (kind, workflow_id)) if workflow_id is not None else ("", (kind,))
        return {row[0] for row in self._db.execute(f"SELECT id FROM document WHERE kind = ?{only}", values)}  # noqa: S608

    def times(self, kind: str) -> dict[str, int]:
        """Return the indexed rows of a kind with their places.

        A place is the time in microseconds, or slightly later if taken.
        """
        return dict(self._db.execute("SELECT id, place FROM document WHERE kind = ?", (kind,)))

    def apply(self, changes: Sequence[Change], state: dict[str, str] | None = None) -> None:
        """Apply changes in order and store ``state``, all or nothing.

        Raises:
            StorageError: it could not be written; the index is unchanged.
        """
        try:
            with _transaction(self._db):
                removed = sum(self._apply(change) for change in changes)
                noted = {**(state or {}), **({REMOVED: "1"} if removed else {})}
                self._db.executemany("INSERT OR REPLACE INTO state VALUES (?, ?)", noted.items())
        except BaseException as error:
            self._free.clear()  # places taken by the changes are free again
            if isinstance(error, DAMAGED):
                raise _storage_error(error, self._path) from error
            raise

    def _apply(self, change: Change) -> int:
        """Apply one change; return how many rows were removed."""
        match change:
            case Document():
                self._remove_rows("kind = ? AND id = ?", (change.kind, change.id))
                self._put_in(change)
                return 0
            case RemovedDocument():
                return sum(self._remove_rows("kind = ? AND id = ?", (change.kind, each)) for each in change.ids)
            case WorkflowRemoved():
                self._db.execute("DELETE FROM workflow WHERE id = ?", (change.workflow_id,))
                request_usage_tables.apply(
                    self._db, request_usage_tables.RequestsRemoved(workflow_id=change.workflow_id)
                )
                return self._remove_rows("workflow = ?", (change.workflow_id,))
            case WorkflowAt():
                self._db.execute(
                    "INSERT OR REPLACE INTO workflow SELECT ?1, ?2"
                    " WHERE ?3 IS NULL OR ?3 = coalesce((SELECT stream_seq FROM workflow WHERE id = ?1), 0)",
                    tuple(change),
                )
                return 0
            case _:
                request_usage_tables.apply(self._db, change)
                return 0

    def find(self, query: str, limit: int, before: int | None = None, *, parts: bool = False) -> list[IndexMatch]:
        """Return the newest rows that have all words of a query, newest first.

        Args:
            before: only rows with a lower place.
            parts: words that contain a word of the query match too.

        Raises:
            StorageError: ``no_fts5``: this Python cannot search; ``index``: the file cannot be read.
        """
        # In small letters an identifier is one word: it is looked for in others as well as by its parts.
        ways = [
            tokens for tokens in dict.fromkeys(tuple(query_tokens(each)) for each in (query, query.lower())) if tokens
        ]
        if not ways:
            return []
        if not _has_fts5(self._db):
            raise StorageError(UNAVAILABLE, code="no_fts5", version=sqlite3.sqlite_version)

        def find(db: sqlite3.Connection) -> list[IndexMatch]:
            asked = [
                " AND ".join(f"({self._any_of(token)})" if parts else _quoted(token) for token in tokens)
                for tokens in ways
            ]
            rows = db.execute(
                "SELECT d.place, d.kind, d.id FROM (SELECT rowid AS place FROM words WHERE words MATCH ? AND rowid < "
                "? ORDER BY rowid DESC"
                " LIMIT ?) AS hit JOIN document AS d USING (place) ORDER BY place DESC",
                (" OR ".join(f"({each})" for each in asked), before if before is not None else 2**63 - 1, limit),
            )
            return [IndexMatch(*row) for row in rows]

        return self.read(find)

    def read(self, ask: Callable[[sqlite3.Connection], T]) -> T:
        """What ``ask`` reads of the file.

        Raises:
            StorageError: the file cannot be read.
        """
        try:
            return ask(self._db)
        except DAMAGED as error:
            raise _storage_error(error, self._path) from error

    def _any_of(self, token: str) -> str:
        """Condition that matches a token or longer words that contain it."""
        if len(token) < PART_MIN or not token.isalpha():
            return _quoted(token)
        pieces = " AND ".join(_quoted(token[at : at + 3]) for at in range(len(token) - 2))
        rows = self._db.execute(
            "SELECT word FROM word WHERE id IN (SELECT rowid FROM parts WHERE parts MATCH ?)", (pieces,)
        )
        longer = sorted(
            (word for (word,) in rows if token in word), key=lambda word: (not word.startswith(token), len(word), word)
        )
        return " OR ".join(_quoted(each) for each in dict.fromkeys([token, *longer[:SIMILAR_MAX]]))

    def _put_in(self, document: Document) -> None:
        tokens = document_tokens(document.text()) if _has_fts5(self._db) else ()
        if not tokens:
            return
        text = " ".join(tokens)
        place = self._free_place(micros(document.at))
        blob = zlib.compress(text.encode(), 1)
        self._db.execute(
            "INSERT INTO document VALUES (?, ?, ?, ?, ?)",
            (place, document.kind, document.id, document.workflow_id, blob),
        )
        self._db.execute("INSERT INTO words (rowid, tokens) VALUES (?, ?)", (place, text))
        for token in long_words(tokens):
            new = self._db.execute("INSERT OR IGNORE INTO word (word) VALUES (?)", (token,))
            if new.rowcount:
                self._db.execute("INSERT INTO parts (rowid, word) VALUES (?, ?)", (new.lastrowid, token))

    def _free_place(self, time: int) -> int:
        """Return the first place from a time on that is free, as far as is known: copies of workflows have equal
        times, and looking at all of theirs again for each row would take a time that grows with its square.
        """
        place = self._free.get(time, time)
        while self._db.execute("SELECT 1 FROM document WHERE place = ?", (place,)).fetchone():
            place += 1
        if place > time:
            if len(self._free) >= FREE_KNOWN:
                self._free.clear()
            self._free[time] = place + 1
        return place

    def _remove_rows(self, condition: str, values: tuple[str, ...]) -> int:
        """Remove rows by a condition (a constant of the code); return their number."""
        rows = self._db.execute(f"SELECT place, tokens FROM document WHERE {condition}", values).fetchall()  # noqa: S608
        for place, blob in rows:
            self._db.execute(
                "INSERT INTO words (words, rowid, tokens) VALUES ('delete', ?, ?)",
                (place, zlib.decompress(blob).decode()),
            )
            self._db.execute("DELETE FROM document WHERE place = ?", (place,))
        if rows:
            self._free.clear()
        return len(rows)

    def wipe(self) -> None:
        """Overwrite removed rows, which FTS5 leaves in the file until it merges, and rebuild the word list.

        Takes some seconds for 100 000 rows.

        Raises:
            StorageError: it could not be written; the index is as it was.
        """
        try:
            with _transaction(self._db):
                if not _has_fts5(self._db):
                    return
                self._db.execute("INSERT INTO words (words) VALUES ('optimize')")
                self._db.execute("INSERT INTO parts (parts) VALUES ('delete-all')")
                self._db.execute("DELETE FROM word")
                known: set[str] = set()
                for (blob,) in self._db.execute("SELECT tokens FROM document"):
                    known.update(long_words(zlib.decompress(blob).decode().split(" ")))
                for number, token in enumerate(sorted(known), 1):
                    self._db.execute("INSERT INTO word VALUES (?, ?)", (number, token))
                    self._db.execute("INSERT INTO parts (rowid, word) VALUES (?, ?)", (number, token))
                self._db.execute("DELETE FROM state WHERE name = ?", (REMOVED,))
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except DAMAGED as error:
            raise _storage_error(error, self._path) from error


def _connect(path: Path | None) -> sqlite3.Connection:
    db = sqlite3.connect(path if path is not None else ":memory:", isolation_level=None, check_same_thread=False)
    try:
        known = FORM if _has_fts5(db) else -FORM
        form = db.execute("PRAGMA user_version").fetchone()[0]
        if form not in (0, known):
            raise sqlite3.DatabaseError(f"its form is {form}")
        db.executescript(f"{_TABLES}{_WORDS if known > 0 else ''}PRAGMA user_version = {known};")
    except BaseException:
        db.close()
        raise
    return db


def _has_fts5(db: sqlite3.Connection) -> bool:
    """Whether this Python can search; sums it can make without. Its tokenizers are of 3.34."""
    return sqlite3.sqlite_version_info >= (3, 34) and bool(
        db.execute("SELECT sqlite_compileoption_used('ENABLE_FTS5')").fetchone()[0]
    )


@contextlib.contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _quoted(token: str) -> str:
    return f'"{token}"'


def _storage_error(error: Exception, path: Path | None) -> StorageError:
    return StorageError(
        N_(
            "The search index {path} cannot be used ({reason}). You can delete it: Atelier rebuilds it from the "
            "database."
        ),
        code="index",
        path=path or "",
        reason=error,
    )
