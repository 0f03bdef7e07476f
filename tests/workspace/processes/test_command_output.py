"""The output of a command as text: without terminal control sequences, and with colours on request."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.workspace.processes.command_output import MOST_BYTES, MOST_LINES, Output, coloured, readable

PIECES = st.sampled_from([
    "a", "é", "\n", "\r", "\r\n", "\t", "\x1b", "\x1b[", "\x1b[31m", "\x1b[0m", "\x1b[2K", "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\",
    "\x1bP1$q\x1b\\", "\x1b(B", "\x9b31m", "\x07", "\x08", "m", ";", "1", "\x00",
])  # fmt: skip


@pytest.mark.parametrize(
    ("printed", "text", "in_colour"),
    [
        ("\x1b[1;31mred\x1b[0m plain", "red plain", "\x1b[1;31mred\x1b[0m plain"),
        ("\x1b]0;a title\x07done", "done", "done"),
        ("\x1b]8;;https://evil.example\x1b\\here\x1b]8;;\x1b\\", "here", "here"),
        ("\x1bP+q544e\x1b\\x\x1b_note\x1b\\y", "xy", "xy"),
        ("\x1b[2J\x1b[H\x1b[?25lscreen\x1b(B", "screen", "screen"),
        ("10 %\r50 %\r100 %\n", "100 %\n", "100 %\n"),
        ("\x1b[32m10 %\r\x1b[K100 %\x1b[m\r\n", "100 %\n", "\x1b[32m100 %\x1b[m\n"),
        ("a\x07b\x9b31mc", "ab31mc", "ab31mc"),
        ("cut \x1b[3", "cut ", "cut "),
    ],
)
def test_control_sequences_are_removed(printed: str, text: str, in_colour: str) -> None:
    assert readable(printed.encode()) == text
    assert coloured(printed.encode()) == in_colour


@given(st.one_of(st.binary(max_size=200), st.lists(PIECES, max_size=40).map(lambda pieces: "".join(pieces).encode())))
def test_nothing_that_a_terminal_obeys_is_left(data: bytes) -> None:
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", readable(data))
    assert not re.search(r"[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]", coloured(data))
    assert readable(coloured(data).encode()) == readable(data)


def test_colours_before_a_gap_do_not_continue_after_it(tmp_path: Path) -> None:
    output = Output(tmp_path / "out")
    output.add(b"\x1b[31m" + b"x\n" * MOST_BYTES)
    output.close()
    shown = output.shown()
    assert "\x1b[m[… " in shown.coloured
    assert "\x1b" not in shown.text
    assert shown.text.startswith("x\nx\n")


def test_the_newest_lines_are_coloured_on_request(tmp_path: Path) -> None:
    output = Output(tmp_path / "out")
    output.add(b"one\n\x1b[32mtwo\x1b[0m\nthree\n\x1b[0m\n")
    assert output.last(2, 100) == "two\nthree"
    assert output.last(2, 100, in_colour=True) == "\x1b[32mtwo\x1b[0m\nthree"
    output.add(b"\x1b[31m" + b"x" * 200)
    assert output.last(1, 100, in_colour=True) == "x" * 100


@pytest.mark.parametrize("lines", [MOST_LINES, MOST_LINES + 1, 5_000, 50_000])
def test_no_line_is_shown_twice_and_missing_ones_are_counted(tmp_path: Path, lines: int) -> None:
    output = Output(tmp_path / "out")
    printed = b"".join(b"%d\n" % number for number in range(lines))
    output.add(printed)
    output.close()
    text = output.shown().text
    numbers = [int(line) for line in text.splitlines() if line.isdigit()]
    assert len(set(numbers)) == len(numbers) <= MOST_LINES
    assert (numbers[0], numbers[-1]) == (0, lines - 1)
    missing = re.search(r"(-?\d+) bytes are missing", text)
    assert (int(missing[1]) if missing else 0) == len(printed) - sum(len(f"{number}\n") for number in numbers)
