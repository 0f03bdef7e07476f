"""Line ends of unchanged lines: in each form of an edit, even in files with mixed line ends."""

# judges: app/atelier_desk/workspace/text_edits.py

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.tools.files.editing import EditInput, _edited
from atelier_desk.workspace.patch import applied, parse
from atelier_desk.workspace.text_edits import rewritten
from atelier_desk.workspace.text_files import Text

MIXED = "a\r\nb\nc\r\nd\ne\n"
LOG = "start\n10%\r20%\r30%\rdone\nnext\n"


def _patch(text: str) -> Callable[[Text], Text]:
    (patch,) = parse(f"*** Begin Patch\n*** Update File: f\n@@\n{text}\n*** End Patch")
    return lambda file: applied(file, patch)


def _edit(**fields: Any) -> Callable[[Text], Text]:
    return lambda file: _edited(file, EditInput(path="f", **fields), "f")


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        (MIXED, _patch("-d\n+D"), "a\r\nb\nc\r\nD\ne\n"),
        (MIXED, _patch(" b\n-c\n+C\n d"), "a\r\nb\nC\r\nd\ne\n"),
        (MIXED, _patch(" c\n+new\n d"), "a\r\nb\nc\r\nnew\nd\ne\n"),
        (MIXED, _patch("-b\n-c"), "a\r\nd\ne\n"),
        ("a\r\nb\nc", _patch("-c\n+C"), "a\r\nb\nC"),
        ("a\r\nb\nc", _patch(" c\n+d"), "a\r\nb\nc\r\nd"),
        (MIXED, _edit(old_string="b\nc\nd", new_string="b\nc\nD"), "a\r\nb\nc\r\nD\ne\n"),
        (MIXED, _edit(old_string="a\nb\nc\n", new_string="x\na\nb\nc\n"), "x\r\na\r\nb\nc\r\nd\ne\n"),
        (MIXED, _edit(edits=[{"old_string": o, "new_string": n} for o, n in (("a\nb", "a\nB"), ("c\nd", "C\nd"))]),
        "a\r\nB\nC\r\nd\ne\n"),
        (MIXED, _edit(start_line=2, end_line=4, expected="b\nc\nd", new_string="b\nc\nD"), "a\r\nb\nc\r\nD\ne\n"),
        (MIXED, _edit(append="f\ng"), "a\r\nb\nc\r\nd\ne\nf\ng\n"),
        (MIXED, lambda file: rewritten(file, "a\nb\nc\nD\ne\n"), "a\r\nb\nc\r\nD\ne\n"),
        (LOG, _edit(old_string="next", new_string="NEXT"), LOG.replace("next", "NEXT")),
        (LOG, _edit(start_line=6, end_line=6, expected="next", new_string="NEXT"), LOG.replace("next", "NEXT")),
        (LOG, _patch("-next\n+NEXT"), LOG.replace("next", "NEXT")),
        (LOG, _edit(append="5%\r6%"), LOG + "5%\r6%\n"),
        ("a\nb\n", _edit(old_string="b", new_string="5%\r6%"), "a\n5%\r6%\n"),
        ("a\r\nb\r\n", _edit(old_string="b", new_string="b\nc"), "a\r\nb\r\nc\r\n"),
        ("a\rb\r", _edit(old_string="b", new_string="b\nc"), "a\rb\rc\r"),
    ],
)  # fmt: skip
def test_unchanged_lines_keep_their_line_ends(before: str, change: Callable[[Text], Text], after: str) -> None:
    assert change(Text(before)).text == after


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["\n", "\r\n"])), min_size=1, max_size=12), st.data())
def test_only_the_edited_line_changes(pieces: list[tuple[str, str]], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(pieces) - 1))
    lines = [line for line, _end in pieces]
    lines[place] = "changed"
    file = Text("".join(line + end for line, end in pieces))
    after = rewritten(file, "".join(f"{line}\n" for line in lines))
    assert after.text == "".join(line + end for line, (_old, end) in zip(lines, pieces, strict=True))
