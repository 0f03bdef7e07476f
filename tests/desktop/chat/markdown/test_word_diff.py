"""Diffs: added and removed lines, and the changed words in them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.desktop.chat.markdown.word_diff import diff_lines

TEXT = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n same\n-the old word here\n+the new word here\n-gone\n end"


def test_changed_lines_and_words_are_found() -> None:
    found = list(diff_lines(TEXT))
    assert [line.kind for line in found] == ["file", "file", "head", "", "removed", "added", "removed", ""]
    lines = TEXT.split("\n")
    assert [lines[4][first:last] for first, last in found[4].words] == ["old"]
    assert [lines[5][first:last] for first, last in found[5].words] == ["new"]


def test_dissimilar_lines_have_no_changed_words() -> None:
    assert [line.words for line in diff_lines("-abc def\n+xyz 12 34")] == [(), ()]


@given(
    st.lists(
        st.sampled_from(["+a b", "-a c", " x", "@@ 1", "+", "-", "", "--- f", "+++ f", "-é🚀 x", "+é🚀 y"]), max_size=30
    )
)
def test_every_part_of_a_line_has_one_style(lines: list[str]) -> None:
    text = "\n".join(lines)
    found = list(diff_lines(text))
    assert len(found) == len(text.split("\n"))
    for line, style in zip(text.split("\n"), found, strict=True):
        assert all(1 <= first < last <= len(line) for first, last in style.words)
