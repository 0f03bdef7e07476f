"""Arguments of a called skill, inserted at the placeholders of its text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.workspace.skills.argument_placeholders import (
    filled,
    has_placeholder,
    joined,
    length_with,
    names_of,
    split,
    values_of,
    variables,
    with_values,
)


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
def test_placeholders_are_filled(text: str, arguments: str, names: tuple[str, ...], out: str) -> None:
    assert filled(text, arguments, names) == out


def test_braces_are_placeholders_only_in_prompts() -> None:
    text = "Hello {{name}}, {{ name }} and {{place}}"
    names = names_of(text, braced=True)
    assert names == ("name", "place")
    assert filled(text, 'Ann "the sea"', names) == "Hello Ann, Ann and the sea"
    assert names_of(text) == ()


def test_whether_a_text_takes_arguments() -> None:
    assert has_placeholder("Do $ARGUMENTS")
    assert not has_placeholder("It costs $5.00 in $HOME")


@given(st.lists(st.text(max_size=12), max_size=6))
def test_joined_and_split_are_inverse(values: list[str]) -> None:
    assert list(split(joined(values))) == values


@given(st.text(max_size=80), st.text(max_size=40))
def test_filling_never_fails(text: str, arguments: str) -> None:
    assert isinstance(filled(text, arguments, ("a",)), str)


def test_many_placeholders_and_long_arguments_stay_small() -> None:
    text = filled("$ARGUMENTS " * 20_000, "y" * 100_000)
    assert text.startswith("y" * 100_000)
    assert len(text) < 500_000
    assert filled("$ARGUMENTS" + " $HOME" * 20_000 + " end", "y" * 100_000).endswith("$HOME end"), (
        "what is no place stays"
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Hi {{name}}, {{ name }}", [("name", None)]),
        ("{{a}} {{b=1}} {{a = two words }}", [("a", "two words"), ("b", "1")]),
        ("{{a=}} {{a=x}}", [("a", "")]),
        ("{{prénom}} {{_x}} {{a-b}}", [("prénom", None), ("_x", None), ("a-b", None)]),
        ("{{1a}} {{}} {{a b}} {{{{a}} {a}} {{a=}b}} {{a", [("a", None)]),
        ("$1 $ARGUMENTS ${x} costs $5", []),
    ],
)
def test_variables_of_a_prompt(text: str, found: list[tuple[str, str | None]]) -> None:
    assert [(each.name, each.default) for each in variables(text)] == found


@pytest.mark.parametrize(
    ("text", "values", "out"),
    [
        ("{{a}}-{{ a }}", {"a": "{{b}} \\1"}, "{{b}} \\1-{{b}} \\1"),
        ("{{a=x}}, {{a}}", {}, "x, x"),
        ("{{a=x}}", {"a": ""}, ""),
        ("{{a}} costs $5 for $ARGUMENTS", {}, "{{a}} costs $5 for $ARGUMENTS"),
    ],
)
def test_a_prompt_with_its_values(text: str, values: dict[str, str], out: str) -> None:
    assert with_values(text, values) == out
    assert length_with(text, values) == len(out)


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ("Ann", {"who": "Ann"}),
        ("Ann in the sea", {"who": "Ann", "where": "in the sea"}),
        ('where="the sea" Ann', {"who": "Ann", "where": "the sea"}),
        ("", {}),
        ("who=", {"who": ""}),
    ],
)
def test_arguments_are_assigned_by_name_or_in_order(given: str, values: dict[str, str]) -> None:
    assert values_of(given, ("who", "where")) == values


def test_a_command_may_have_defaults_too() -> None:
    text = "Hello {{name=you}} from {{place}}"
    assert filled(text, "place=Rome", names_of(text, braced=True)) == "Hello you from Rome"


def test_many_braces_are_scanned_quickly() -> None:
    for text in ("{{a=" * 12_500, "{{" + " " * 50_000, "{{a" + " " * 50_000 + "=", "{{" * 25_000):
        assert variables(text) == ()
