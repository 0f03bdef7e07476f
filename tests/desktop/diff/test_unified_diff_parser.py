"""Rows of a unified diff: numbers, hunks, and the two sides."""

from __future__ import annotations

import difflib

from hypothesis import given, settings
from hypothesis import strategies as st

from atelier_desk.desktop.diff.unified_diff_parser import Row, blocks, rows, sides

DIFF = """--- a/x.sql
+++ b/x.sql
@@ -10,4 +10,5 @@ SELECT
 one
--- a comment that is taken away
-two
+2
+++ text that begins with pluses
+three
 four
\\ No newline at end of file"""


def test_lines_are_classified_by_the_hunk_not_by_their_first_characters() -> None:
    found = rows(DIFF)
    assert found == [
        Row("hunk", "SELECT", 10, 10),
        Row("", "one", 10, 10),
        Row("removed", "-- a comment that is taken away", old=11),
        Row("removed", "two", old=12),
        Row("added", "2", new=11),
        Row("added", "++ text that begins with pluses", new=12),
        Row("added", "three", new=13),
        Row("", "four", 13, 14),
        Row("note", "No newline at end of file"),
    ]
    assert list(blocks(found)) == [([2, 3], [4, 5, 6])]
    assert sides(found) == ([0, 1, 2, 3, -1, 7, 8], [0, 1, 4, 5, 6, 7, 8])


def test_a_file_is_named_where_there_are_several() -> None:
    two = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ b/y\n@@ -0,0 +1 @@\n+c"
    assert [row.text for row in rows(two) if row.kind == "note"] == ["x", "y"]
    assert rows("") == []
    assert rows("… the rest of the diff is left out") == [Row("note", "… the rest of the diff is left out")]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", "-- x", "++ y", "", "@@ -1 +1 @@"]), max_size=12),
    st.lists(st.sampled_from("abc"), max_size=12),
)
def test_the_two_sides_are_the_old_and_the_new_text(before: list[str], after: list[str]) -> None:
    diff = "\n".join(difflib.unified_diff(before, after, "a/f", "b/f", lineterm="", n=100))
    found = rows(diff)
    if diff:
        assert [row.text for row in found if row.kind in ("", "removed")] == before
        assert [row.text for row in found if row.kind in ("", "added")] == after
    left, right = sides(found)
    assert len(left) == len(right)
    assert sorted({*left, *right} - {-1}) == list(range(len(found)))
