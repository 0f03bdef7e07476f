"""Collections by hand come when automatic ones would."""

from __future__ import annotations

import gc
import weakref

import pytest

from atelier_desk.support.garbage_collection import THRESHOLDS, collect_due


class Cycle:
    def __init__(self) -> None:
        self.itself = self


def test_an_abandoned_cycle_is_collected_once_enough_was_allocated() -> None:
    gc.collect()
    cycle = weakref.ref(Cycle())
    collect_due()
    assert cycle() is not None, "too little was allocated"
    held = [[] for _number in range(THRESHOLDS[0] + 1)]  # type: ignore[var-annotated]
    collect_due()
    assert cycle() is None
    assert len(held) > THRESHOLDS[0]


@pytest.mark.parametrize(
    ("counts", "collected"),
    [((20_000, 20, 50), []), ((20_001, 20, 50), [0]), ((20_001, 21, 50), [1]), ((3, 21, 51), [2])],
)
def test_the_oldest_generation_that_is_due_is_collected(
    monkeypatch: pytest.MonkeyPatch, counts: tuple[int, int, int], collected: list[int]
) -> None:
    found: list[int] = []
    monkeypatch.setattr(gc, "get_count", lambda: counts)
    monkeypatch.setattr(gc, "collect", found.append)
    collect_due()
    assert found == collected
