"""Identifiers: their format, old and new, and their order."""

from __future__ import annotations

import time

import pytest

from atelier_desk.domain.ids import is_id, made_at, new_id


def test_ids_are_short_unique_and_ordered_by_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 1_795_886_926_353_738_000)
    together = [new_id() for _ in range(10_000)]
    monkeypatch.setattr(time, "time_ns", lambda: 1_795_886_926_354_738_000)
    later = new_id()
    assert {len(each) for each in (*together, later)} == {24}
    assert len(set(together)) == len(together)
    assert max(together) < later
    assert made_at(later) == 1_795_886_926_354


@pytest.mark.parametrize(
    ("text", "one"),
    [
        ("01a22333c9ebcc31aff0cd4c", True),
        ("01a22333c9ebcc31aff0cd4ca1930000", True),  # from earlier versions
        ("01a22333c9ebcc31aff0cd4ca193000", False),
        ("01A22333C9EBCC31AFF0CD4C", False),
        ("../../../../../etc/passwd", False),
        ("", False),
    ],
)
def test_valid_and_invalid_ids(text: str, one: bool) -> None:
    assert is_id(text) is one
