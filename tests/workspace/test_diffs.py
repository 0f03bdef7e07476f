"""A diff shows every change that a person approves, even an invisible one, and counts lines like ``read_file``."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.workspace.diffs import unified

HEAD = "--- a/f\n+++ b/f\n"


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("a\nb\n", "a\nB\n", "@@ -1,2 +1,2 @@\n a\n-b\n+B"),
        ("start\nend\n", "start\nend", "@@ -1,2 +1,2 @@\n start\n-end\n+end\n\\ No newline at end of file"),
        (
            "// note\u2028evil()\nok\n",
            "// note\nevil()\nok\n",
            "@@ -1,2 +1,3 @@\n-// note⟨U+2028⟩evil()\n+// note\n+evil()\n ok",
        ),
        ("x\n\x0c\nint b;\n", "x\n\x0c\nint B;\n", "@@ -1,3 +1,3 @@\n x\n ⟨U+000C⟩\n-int b;\n+int B;"),
        ("a\r\nb\r\n", "a\r\nb\n", "@@ -1,2 +1,2 @@\n a⟨CRLF⟩\n-b⟨CRLF⟩\n+b"),
        ("a\r\nb\r\n", "a\r\nc\r\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c"),
        ("a b\n", "a\u00a0b\n", "@@ -1 +1 @@\n-a b\n+a⟨U+00A0⟩b"),
        ("5\u202f€\n", "6\u202f€\n", "@@ -1 +1 @@\n-5\u202f€\n+6\u202f€"),
        ("", "new\n", "@@ -0,0 +1 @@\n+new"),
        ("gone\n", "", "@@ -1 +0,0 @@\n-gone"),
    ],
)
def test_every_change_is_visible(before: str, after: str, shown: str) -> None:
    assert unified(before, after, "f")[0] == HEAD + shown


def test_nothing_changed() -> None:
    assert unified("a\n", "a\n", "f") == ("", 0, 0)


def test_a_very_long_line_is_shown_around_its_change() -> None:
    text, added, removed = unified(
        '{"a":"' + "x" * 200_000 + '","key":2}', '{"a":"' + "x" * 200_000 + '","key":3}', "f"
    )
    assert (added, removed) == (1, 1)
    assert '"key":2' in text
    assert '"key":3' in text
    assert len(text) < 2_000


def test_a_change_in_a_large_file_is_found_and_a_large_change_is_marked() -> None:
    lines = [f"line {number}\n" for number in range(60_000)]
    changed = [*lines[:30_000], "other\n", *lines[30_001:]]
    assert unified("".join(lines), "".join(changed), "f")[0].endswith(
        "@@ -29998,7 +29998,7 @@\n line 29997\n line 29998\n line 29999\n-line 30000\n+other\n line 30001\n line "
        "30002\n line 30003"
    )
    text, added, removed = unified("".join(lines), "".join(f"x{number}\n" for number in range(60_000)), "f")
    assert (added, removed) == (60_000, 60_000)
    assert "too many" in text


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n", "\n"]), max_size=30)


@given(LINES, LINES)
def test_the_hunks_are_those_of_difflib(before: list[str], after: list[str]) -> None:
    ours = unified("".join(before), "".join(after), "f")
    theirs = [line.rstrip("\n") for line in difflib.unified_diff(before, after, "a/f", "b/f", lineterm="\n")]
    added = [line for line in theirs[2:] if line.startswith("+")]
    removed = [line for line in theirs[2:] if line.startswith("-")]
    applied = _applied("".join(before), ours[0])
    assert applied == "".join(after)
    assert (ours[1] - ours[2], ours[1] > 0 or ours[2] > 0) == (len(added) - len(removed), bool(added or removed))


def _applied(before: str, diff: str) -> str:
    """The text after applying a diff."""
    old, made, place = before.splitlines(keepends=True), [], 0
    for line in diff.split("\n")[2:]:
        if line.startswith("@@"):
            start, _comma, length = line.split()[1][1:].partition(",")
            wanted = int(start) - (0 if length == "0" else 1)
            made += old[place:wanted]
            place = wanted
        elif line.startswith("+"):
            made.append(line[1:] + "\n")
        else:
            made += old[place : place + 1] if line.startswith(" ") else []
            place += 1
    return "".join(made + old[place:])
