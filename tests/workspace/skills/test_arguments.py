"""Arguments of a called skill, in the places the text has for them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.workspace.skills.arguments import filled, joined, names_of, split, wants


@pytest.mark.parametrize(
    ("text", "arguments", "names", "out"),
    [
        ("Fix $ARGUMENTS now", "issue 7", (), "Fix issue 7 now"),
        ("From $1 to $2", "a 'b c'", (), "From a to b c"),
        ("From $0 to $1", "a b", (), "From a to b"),
        ("First $ARGUMENTS[0]", "a b", (), "First a"),
        ("Fix $issue on $branch", "7 main line", ("issue", "branch"), "Fix 7 on main line"),
        ("Fix $issue on $branch", "branch=main 7", ("issue", "branch"), "Fix 7 on main"),
        ("Costs $5.00 and $HOME", "", (), "Costs $5.00 and $HOME"),
        ("Costs $5", "", (), "Costs $5"),
        ("Write \\$1 for $1", "x", (), "Write $1 for x"),
        ("$1", "$ARGUMENTS", (), "$ARGUMENTS"),
        ("Do it.", "for me", (), "Do it.\n\nARGUMENTS: for me"),
        ("Only $1", "", (), "Only $1"),
        ("Hello {{name}}", "Ann", (), "Hello {{name}}\n\nARGUMENTS: Ann"),
    ],
)
def test_places_are_filled(text: str, arguments: str, names: tuple[str, ...], out: str) -> None:
    assert filled(text, arguments, names) == out


def test_braces_are_places_in_prompts_alone() -> None:
    text = "Hello {{name}}, {{ name }} and {{place}}"
    names = names_of(text, braced=True)
    assert names == ("name", "place")
    assert filled(text, 'Ann "the sea"', names) == "Hello Ann, Ann and the sea"
    assert names_of(text) == ()


def test_whether_a_text_wants_arguments() -> None:
    assert wants("Do $ARGUMENTS")
    assert not wants("It costs $5.00 in $HOME")


@given(st.lists(st.text(max_size=12), max_size=6))
def test_joined_and_split_are_inverse(values: list[str]) -> None:
    assert list(split(joined(values))) == values


@given(st.text(max_size=80), st.text(max_size=40))
def test_filling_in_never_fails(text: str, arguments: str) -> None:
    assert isinstance(filled(text, arguments, ("a",)), str)


def test_many_places_and_long_arguments_fill_no_memory() -> None:
    text = filled("$ARGUMENTS " * 20_000, "y" * 100_000)
    assert text.startswith("y" * 100_000)
    assert len(text) < 500_000
    assert filled("$ARGUMENTS" + " $HOME" * 20_000 + " end", "y" * 100_000).endswith("$HOME end"), "what is no place stays"
