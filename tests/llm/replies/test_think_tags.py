"""Reasoning marked by tags in the text."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.llm.replies.think_tags import ALL_BEFORE, ThinkSplitter

PARTS = st.lists(
    st.sampled_from(["<think>", "</think>", "```", "<", "t", "/", " ", "\n", "é", "[THINK]", "[/THINK]"]), max_size=20
).map("".join)


def split(*pieces: str) -> tuple[str, str]:
    """Reasoning and answer."""
    splitter = ThinkSplitter()
    out = [item for piece in pieces for item in splitter.feed(piece)] + splitter.flush()
    thoughts, answer = "", ""
    for piece in out:
        if piece == ALL_BEFORE:
            thoughts, answer = thoughts + answer, ""
            continue
        thought, text = piece
        assert text
        thoughts, answer = (thoughts + text, answer) if thought else (thoughts, answer + text)
    return thoughts, answer


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello", ("", "Hello")),
        ("  Hello", ("", "  Hello")),
        ("<think>why\n</think>\n\nHello", ("why\n", "Hello")),
        ("\n<think>\nwhy</think>Hello", ("why", "Hello")),
        ("<thinking>a</thinking>b", ("a", "b")),
        ("<thought>a</thought>b", ("a", "b")),
        ("[THINK]a[/THINK]b", ("a", "b")),
        ("<think>\n\n</think>\n\nHello", ("", "Hello")),
        ("<think>a</think><think>b</think>c", ("ab", "c")),
        ("<think>never closed </thin", ("never closed </thin", "")),
        ("<think", ("", "<think")),
        ("<thin air>", ("", "<thin air>")),
        ("The tag <think> opens and </think> closes.", ("", "The tag <think> opens and </think> closes.")),
        ("<think>a < b </ c</think>ok", ("a < b </ c", "ok")),
        # Only the end tag appears: the template has put the start tag into the prompt.
        ("why\nand how\n</think>\n\nHello", ("why\nand how", "Hello")),
        ("why\n</think>\nHello\n</think>\nx", ("why", "Hello\n</think>\nx")),
        ("why\n</think>", ("why", "")),
        ("why\n</think>\n", ("why", "")),
        ("</think>\n\nHello", ("", "Hello")),
        ("</think>Hello", ("", "Hello")),
        ("why\n[/THINK]\nHello", ("why", "Hello")),
        ("Close it with\n</think> and go on", ("", "Close it with\n</think> and go on")),
        ("Write:\n```\n</think>\n```\nDone", ("", "Write:\n```\n</think>\n```\nDone")),
        ("a\n\nb\n", ("", "a\n\nb\n")),
        ("", ("", "")),
        ("   ", ("", "   ")),
    ],
)
def test_splitting(text: str, expected: tuple[str, str]) -> None:
    assert split(text) == expected
    assert split(*text) == expected


@given(PARTS, st.data())
def test_splitting_the_text_changes_nothing(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)) | {0, len(text)})
    assert split(*(text[a:b] for a, b in itertools.pairwise(cuts))) == split(text)


def test_text_is_not_held_back_longer_than_needed() -> None:
    splitter = ThinkSplitter()
    assert splitter.feed("Hi") == [(False, "Hi")]
    splitter = ThinkSplitter()
    assert splitter.feed("<think>abc") == [(True, "abc")]
    assert splitter.feed("def</") == [(True, "def")]


@pytest.mark.parametrize(
    "text",
    [
        "<think>a</think>" * 60_000,
        "```\n" + "</think>\n" * 100_000,
        "```\n" + "\n</think>x" * 100_000,
        " " * 1_000_000 + "<think>",
    ],
    ids=["pairs", "lines in code", "marks in code", "blanks"],
)
def test_a_stream_of_nothing_but_marks_is_parsed_quickly(text: str) -> None:
    _thoughts, answer = split(text)
    assert answer == ("" if text.startswith("<think>") else text)


def test_white_space_sent_by_the_character_is_scanned_once() -> None:
    assert split(*" " * 300_000, "yes") == ("", " " * 300_000 + "yes")
