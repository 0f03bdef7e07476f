"""Long results are cut where it matters least, and marked."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atelier_desk.domain import limits
from atelier_desk.tools.base import ToolResult
from atelier_desk.tools.calls.result_limits import as_json, capped, cut_middle

HINT = "Use read with offset."


def test_short_text_is_unchanged() -> None:
    assert cut_middle("hello", 5, HINT) == "hello"


def test_text_is_cut_in_the_middle_with_a_line_about_the_gap() -> None:
    text = "a" * 500 + "b" * 500
    cut = cut_middle(text, 400, HINT)
    assert 390 < len(cut) <= 400
    assert cut.startswith("aaa")
    assert cut.endswith("bbb")
    line = cut.split("\n")[1]
    assert HINT in line
    assert "of 1000 characters are missing" in line
    missing = int(line.split()[1])
    assert cut.split("\n")[0].count("a") + cut.split("\n")[2].count("b") == 1000 - missing


@given(st.text(max_size=400), st.integers(min_value=0, max_value=400))
def test_it_is_never_longer_than_requested(text: str, limit: int) -> None:
    assert len(cut_middle(text, limit, HINT)) <= max(limit, len(text) if len(text) <= limit else limit)


def test_the_long_string_is_cut_and_the_object_stays_valid() -> None:
    result = capped(ToolResult.ok(name="log", content="é\n" * 40_000, tail="end"), HINT)
    assert len(result.text) <= limits.RESULT_TO_MODEL
    seen = json.loads(result.text)
    assert seen["name"] == "log"
    assert seen["tail"] == "end"
    assert "characters are missing" in seen["content"]
    assert HINT in seen["content"]
    assert len(result.text) > limits.RESULT_TO_MODEL * 0.8
    assert result.truncated


def test_the_longest_of_several_is_cut_first() -> None:
    result = capped(ToolResult.ok(short="s" * 3_000, long="l" * 60_000), HINT)
    seen = json.loads(result.text)
    assert seen["short"] == "s" * 3_000
    assert "missing" in seen["long"]


def test_many_small_items_are_cut_as_text() -> None:
    result = capped(ToolResult.ok(rows=[{"id": number} for number in range(5_000)]), HINT)
    assert limits.RESULT_TO_MODEL - 20 < len(result.text) <= limits.RESULT_TO_MODEL
    assert HINT in result.text


def test_the_stored_result_stays_under_its_own_limit() -> None:
    result = capped(ToolResult.ok(name="big", content="é" * 3_000_000), HINT)
    assert len(as_json(result.data).encode()) <= limits.RESULT_STORED
    assert result.data["name"] == "big"
    assert result.data["success"] is True
    assert result.truncated


def test_a_huge_list_is_stored_as_cut_text() -> None:
    result = capped(ToolResult.failure("too much", "x", rows=list(range(400_000))), HINT)
    assert len(as_json(result.data).encode()) <= limits.RESULT_STORED
    assert result.data["success"] is False
    assert result.data["error"] == "too much"
    assert result.data["truncated"] is True


def test_values_that_json_cannot_express_become_text() -> None:
    assert "2026-01-01" in capped(ToolResult.ok(when=datetime(2026, 1, 1, tzinfo=UTC)), HINT).text


def test_a_small_result_is_unchanged() -> None:
    result = ToolResult.ok(value=3)
    done = capped(result, HINT)
    assert done.data is result.data
    assert not done.truncated
    assert done.text == '{"success": true, "value": 3}'


@settings(max_examples=60, deadline=None)
@given(
    data=st.dictionaries(
        st.text(max_size=5),
        st.text(max_size=30).map(lambda text: text * 40) | st.lists(st.integers(), max_size=200) | st.floats(),
        max_size=8,
    ),
    limit=st.integers(min_value=600, max_value=3_000),
)
def test_it_is_always_within_the_limit(data: dict[str, Any], limit: int) -> None:
    assert len(capped(ToolResult(data), HINT, to_model=limit).text) <= limit


@pytest.mark.parametrize("limit", [0, 10, 50])
def test_even_an_absurd_limit_is_respected(limit: int) -> None:
    assert len(cut_middle("x" * 1_000, limit, HINT)) <= limit
