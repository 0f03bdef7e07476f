"""Titles made from first messages, shortened and numbered."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.engine.services.common.workflow_names import (
    NAME_LENGTH,
    branch_name,
    free_name,
    name_from,
    numbered,
    placeholders,
)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("Plan my week", "Plan my week"),
        ("\n\n  # Plan   **my** week\nand more", "Plan my week"),
        ("- [ ] buy milk", "[ ] buy milk"),
        ("1) first thing", "first thing"),
        ("```\ncode\n```", "code"),
        ("***", ""),
        ("", ""),
        ("Écris-moi un résumé", "Écris-moi un résumé"),
        ("日本語で説明して", "日本語で説明して"),
    ],
)
def test_the_title_is_the_first_line_with_words_without_markup(content: str, name: str) -> None:
    assert name_from(content) == name


def test_a_long_line_is_cut_between_words() -> None:
    name = name_from("word " * 40)
    assert len(name) <= NAME_LENGTH
    assert name.endswith("word…")


@given(st.text(max_size=400))
def test_any_message_gives_a_valid_title(content: str) -> None:
    assert len(name_from(content)) <= NAME_LENGTH


def test_numbers_are_counted_up_and_the_length_limit_respected() -> None:
    assert numbered("Plan", set()) == "Plan"
    assert numbered("Plan", {"Plan"}) == "Plan (2)"
    assert numbered("Plan (2)", {"Plan", "Plan (2)"}) == "Plan (3)"
    assert numbered("x" * 64, {"x" * 64}, length=64) == "x" * 60 + " (2)"


def test_the_placeholder_is_recognised_in_every_language() -> None:
    assert "New workflow" in placeholders()


def test_a_pasted_megabyte_of_brackets_takes_no_longer_than_a_line() -> None:
    assert name_from("Look: " + "[" * 1_000_000).startswith("Look: [[")


@pytest.mark.parametrize(
    ("name", "taken", "expected"),
    [
        ("Plan", {"Plan"}, "Plan (branch)"),
        ("Plan", {"Plan", "Plan (branch)"}, "Plan (branch) (2)"),
        ("Plan (branch)", {"Plan (branch)"}, "Plan (branch) (2)"),
        ("Plan (branch) (2)", {"Plan (branch)", "Plan (branch) (2)"}, "Plan (branch) (3)"),
        ("Plan (2)", set(), "Plan (2) (branch)"),
    ],
)
def test_a_branch_has_a_word_in_its_name_and_a_number_when_there_are_several(
    name: str, taken: set[str], expected: str
) -> None:
    assert numbered(branch_name(name), taken) == expected


def test_a_branch_of_the_longest_name_is_no_longer() -> None:
    longest = branch_name("x" * 256)
    assert len(numbered(longest, {longest})) <= 256


async def test_a_free_name_is_found_with_few_queries_however_many_are_taken() -> None:
    taken = {"Plan", *(f"Plan ({number})" for number in range(2, 1000))}
    asked: list[int] = []

    async def there(names: Sequence[str]) -> set[str]:
        asked.append(len(names))
        return taken & set(names)

    assert await free_name("Plan", there) == "Plan (1000)"
    assert len(asked) < 10
    assert await free_name("Other", there) == "Other"
