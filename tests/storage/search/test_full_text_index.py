"""The index file: what it finds, in which order, and what remains of removed text."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atelier_desk.domain.errors import StorageError
from atelier_desk.storage.search.full_text_index import REMOVED, SearchIndex
from atelier_desk.storage.search.index_changes import Document, RemovedDocument, WorkflowAt, WorkflowRemoved
from tests.helpers.error_codes import raises_code

START = datetime(2026, 1, 1, tzinfo=UTC)


def said(id: str, text: str, second: int = 0, workflow: str = "w", kind: str = "message") -> Document:
    return Document(kind, id, workflow, START + timedelta(seconds=second), (text,))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.sqlite3"


@pytest.fixture
def index(path: Path) -> Iterator[SearchIndex]:
    made = SearchIndex(path)
    yield made
    made.close()


def ids(index: SearchIndex, query: str, *, limit: int = 50, parts: bool = False) -> list[str]:
    return [found.id for found in index.find(query, limit, parts=parts)]


def test_a_small_change_of_a_large_index_writes_little(path: Path, index: SearchIndex) -> None:
    """Each page that a change touches is written whole: what a run adds, with pages of 4 kB, would be twice as much."""
    index.apply([said(f"m{number}", f"word{number} budget of part{number % 97}", number) for number in range(2_000)])
    index._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    index.apply([said("a", "a new plan", 3_000), said("b", "the budget", 3_001), WorkflowAt("w", 9)])
    assert path.with_name(path.name + "-wal").stat().st_size < 20_000


def test_the_newest_comes_first_whatever_the_order_of_insertion(index: SearchIndex) -> None:
    index.apply([said("b", "budget", 2), said("c", "budget", 3), said("a", "budget", 1), said("same", "budget", 3)])
    assert ids(index, "budget") == ["same", "c", "b", "a"]
    assert ids(index, "budget", limit=2) == ["same", "c"]
    first = index.find("budget", 2)
    assert [found.id for found in index.find("budget", 2, first[-1].place)] == ["b", "a"]


def test_rows_of_equal_times_take_no_longer_the_more_there_are(index: SearchIndex) -> None:
    """Copies of a workflow have its times."""
    asked: list[str] = []
    index._db.set_trace_callback(lambda sql: asked.append(sql) if sql.startswith("SELECT 1 FROM document") else None)
    index.apply([said(f"m{number}", "budget") for number in range(300)])
    assert len(asked) < 3 * 300
    index._db.set_trace_callback(None)
    assert ids(index, "budget", limit=2) == ["m299", "m298"]
    index.apply([RemovedDocument("message", ("m7",)), said("m300", "budget")])
    assert max(index.times("message").values()) - min(index.times("message").values()) == 299, (
        "its place is taken again"
    )


def test_changes_that_failed_take_no_places(index: SearchIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    index.apply([said("first", "budget")])
    put_in = index._put_in

    def failing(document: Document) -> None:
        if document.id == "last":
            raise sqlite3.OperationalError("database or disk is full")
        put_in(document)

    with monkeypatch.context() as patch:
        patch.setattr(index, "_put_in", failing)
        with pytest.raises(StorageError):
            index.apply([*(said(f"m{number}", "budget") for number in range(5)), said("last", "budget")])
    index.apply([said("second", "budget")])
    places = index.times("message")
    assert places["second"] == places["first"] + 1


def test_words_match_by_their_stem_and_all_are_required(index: SearchIndex) -> None:
    index.apply([said("a", "three meetings about fichiers")])
    assert ids(index, "meeting fichier") == ["a"]
    assert ids(index, "meeting zebra") == []


def test_parts_of_words(index: SearchIndex) -> None:
    index.apply([said("a", "Die Datenbankverbindung ist unterbrochen"), said("b", "Bindung", 1)])
    assert ids(index, "Datenbank") == []
    assert ids(index, "Datenbank", parts=True) == ["a"]
    assert ids(index, "verbindung", parts=True) == ["a"]
    assert ids(index, "bindung", parts=True) == ["b", "a"]
    assert ids(index, "ist", parts=True) == ["a"]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("function getUserNameById failed", "username"),
        ("function getUserNameById failed", "ernamebyi"),
        ("function getUserNameById failed", "getusernamebyid failed"),
        ("function getusernamebyid failed", "getUserName"),
        ("get_user_name failed", "getUserName"),
        ("ship it 🚀 now", "🚀"),
        ("ship it 🫠 now", "ship 🫠"),
        ("İstanbul'daki sunucu ISPARTA", "ısparta"),
        ("İstanbul'daki sunucu ISPARTA", "ıstanbul"),
    ],
)
def test_other_spellings_are_found(index: SearchIndex, text: str, query: str) -> None:
    index.apply([said("a", text), said("b", "the ship has a user 🎉", 1)])
    assert ids(index, query, parts=True) == ["a"]


def test_a_changed_row_is_found_only_by_its_new_words(index: SearchIndex) -> None:
    index.apply([said("a", "apples")])
    index.apply([said("a", "pears")])
    assert (ids(index, "apples"), ids(index, "pears")) == ([], ["a"])
    index.apply([said("a", "?!")])
    assert ids(index, "pears") == []


def test_removed_text_is_no_longer_found(index: SearchIndex) -> None:
    index.apply(
        [
            said("a", "x1"),
            said("b", "x1"),
            said("r", "x1", kind="report"),
            said("o", "x1", workflow="other"),
            WorkflowAt("w", 3),
        ]
    )
    index.apply([RemovedDocument("message", ("a",))])
    assert sorted(ids(index, "x1")) == ["b", "o", "r"]
    index.apply([WorkflowRemoved("w")])
    assert ids(index, "x1") == ["o"]
    assert index.workflows() == {}


def test_wiping_leaves_no_removed_word_on_the_disk(path: Path, index: SearchIndex) -> None:
    index.apply([said("a", "unspeakable secretword"), said("b", "harmless", workflow="other")])
    index.apply([WorkflowRemoved("w")])
    assert index.state()[REMOVED]
    index.wipe()
    assert REMOVED not in index.state()
    on_disk = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"secretword" not in on_disk
    assert b"unspeak" not in on_disk
    assert ids(index, "harm", parts=True) == ["b"]


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0" + b"\xff" * 5_000, b"no database at all" * 100])
def test_a_damaged_file_is_rebuilt(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    index = SearchIndex(path)
    assert index.state() == {}
    index.apply([said("a", "word")], {"commit": "1"})
    assert ids(index, "word") == ["a"]
    index.close()
    again = SearchIndex(path)
    assert (again.state(), ids(again, "word")) == ({"commit": "1"}, ["a"])
    again.close()


def test_a_file_of_another_format_is_rebuilt(path: Path) -> None:
    index = SearchIndex(path)
    index.apply([said("a", "word")])
    index._db.execute("PRAGMA user_version = 99")
    index.close()
    index = SearchIndex(path)
    assert ids(index, "word") == []
    index.close()


def test_an_unwritable_location_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be used"):
        SearchIndex(tmp_path / "missing" / "index.sqlite3")


def test_a_failed_change_leaves_the_index_unchanged(index: SearchIndex) -> None:
    index.apply([said("a", "word")])
    index._db.execute("DROP TABLE word")
    with pytest.raises(StorageError):
        index.apply([said("b", "other"), said("c", "longer")])
    assert ids(index, "other") == []


def test_damaged_tokens_are_reported_as_damage(index: SearchIndex) -> None:
    index.apply([said("a", "word")])
    index._db.execute("UPDATE document SET tokens = x'00'")
    with raises_code(StorageError, "index"):
        index.apply([said("a", "other")])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.builds(
                said,
                st.sampled_from("abc"),
                st.sampled_from(["red", "red green", "blue", "", "数据库"]),
                st.integers(0, 3),
            ),
            st.builds(lambda id: RemovedDocument("message", (id,)), st.sampled_from("abc")),
            st.just(WorkflowRemoved("w")),
        ),
        max_size=12,
    )
)
def test_it_finds_the_same_as_a_scan_of_the_rows(changes: list[Document | RemovedDocument | WorkflowRemoved]) -> None:
    index = SearchIndex(None)
    rows: dict[str, str] = {}
    for change in changes:
        index.apply([change])
        match change:
            case Document():
                rows[change.id] = change.texts[0]
            case RemovedDocument():
                rows.pop(change.ids[0], None)
            case WorkflowRemoved():
                rows.clear()
    for word in ("red", "green", "blue", "数据"):
        assert sorted(ids(index, word)) == sorted(id for id, text in rows.items() if word in text)
    index.wipe()
    assert sorted(ids(index, "red", parts=True)) == sorted(id for id, text in rows.items() if "red" in text)
    index.close()
