"""Reasoning written as tags."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.llm.think import ThinkSplitter, split_lone_close

PARTS = st.lists(st.sampled_from(["<think>", "</think>", "<", "t", "/", " ", "\n", "é", "[THINK]", "[/THINK]"]), max_size=20).map("".join)


def split(*pieces: str) -> tuple[str, str]:
    """Reasoning and answer."""
    splitter = ThinkSplitter()
    out = [item for piece in pieces for item in splitter.feed(piece)] + splitter.flush()
    assert all(text for _, text in out)
    return "".join(text for thought, text in out if thought), "".join(text for thought, text in out if not thought)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello", ("", "Hello")),
        ("  Hello", ("", "  Hello")),
        ("<think>why\n</think>\n\nHello", ("why\n", "Hello")),
        ("\n<think>\nwhy</think>Hello", ("why", "Hello")),
        ("<thinking>a</thinking>b", ("a", "b")),
        ("[THINK]a[/THINK]b", ("a", "b")),
        ("<think>\n\n</think>\n\nHello", ("", "Hello")),
        ("<think>a</think><think>b</think>c", ("ab", "c")),
        ("<think>never closed </thin", ("never closed </thin", "")),
        ("<think", ("", "<think")),
        ("<thin air>", ("", "<thin air>")),
        ("The tag <think> opens and </think> closes.", ("", "The tag <think> opens and </think> closes.")),
        ("<think>a < b </ c</think>ok", ("a < b </ c", "ok")),
        ("</think>\n\nHello", ("", "Hello")),
        ("\n</think>Hello", ("", "Hello")),
        ("</thinner>", ("", "</thinner>")),
        ("", ("", "")),
        ("   ", ("", "   ")),
    ],
)
def test_splitting(text: str, expected: tuple[str, str]) -> None:
    assert split(text) == expected
    assert split(*text) == expected


@given(PARTS, st.data())
def test_cutting_changes_nothing(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)) | {0, len(text)})
    assert split(*(text[a:b] for a, b in itertools.pairwise(cuts))) == split(text)


def test_text_is_not_held_back_longer_than_needed() -> None:
    splitter = ThinkSplitter()
    assert splitter.feed("Hi") == [(False, "Hi")]
    splitter = ThinkSplitter()
    assert splitter.feed("<think>abc") == [(True, "abc")]
    assert splitter.feed("def</") == [(True, "def")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Twelve times seven\nis 84.\n</think>\n\nIt is 84.", ("Twelve times seven\nis 84.", "It is 84.")),
        ("why\n</think>", ("why", "")),
        ("hm\n[/THINK]\nok", ("hm", "ok")),
        ("The tag </think> closes it.", ("", "The tag </think> closes it.")),
        ("Write:\n```\n</think>\n```\n", ("", "Write:\n```\n</think>\n```\n")),
        ("It opens with <think>\n</think>\nand so on", ("", "It opens with <think>\n</think>\nand so on")),
        ("Hello", ("", "Hello")),
    ],
)
def test_an_end_of_reasoning_without_its_beginning(text: str, expected: tuple[str, str]) -> None:
    assert split_lone_close(text) == expected
