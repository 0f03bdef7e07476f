"""Collections by hand come when automatic ones would."""

from __future__ import annotations

import gc
import weakref

import pytest

from atelier_desk.support.garbage_collection import WINDOW_THRESHOLDS, collect_due


class Cycle:
    def __init__(self) -> None:
        self.itself = self


def test_an_abandoned_cycle_is_collected_once_enough_was_allocated() -> None:
    gc.collect()
    cycle = weakref.ref(Cycle())
    collect_due()
    assert cycle() is not None, "too little was allocated"
    held = [[] for _number in range(WINDOW_THRESHOLDS[0] + 1)]  # type: ignore[var-annotated]
    collect_due()
    assert cycle() is None
    assert len(held) > WINDOW_THRESHOLDS[0]


@pytest.mark.parametrize(
    ("counts", "collected"),
    [((4_000, 1, 3_000), []), ((4_001, 1, 3_000), [0]), ((4_001, 2, 3_000), [1]), ((3, 2, 3_001), [2])],
)
def test_the_oldest_generation_that_is_due_is_collected(
    monkeypatch: pytest.MonkeyPatch, counts: tuple[int, int, int], collected: list[int]
) -> None:
    found: list[int] = []
    monkeypatch.setattr(gc, "get_count", lambda: counts)
    monkeypatch.setattr(gc, "collect", found.append)
    collect_due()
    assert found == collected
