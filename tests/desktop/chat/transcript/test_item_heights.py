"""The Fenwick tree agrees with plain sums after any operations."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.desktop.chat.transcript.item_heights import Heights

HEIGHTS = st.lists(st.integers(0, 500), max_size=60)


def agree(heights: Heights, values: list[int]) -> None:
    assert len(heights) == len(values)
    assert heights.total == sum(values)
    for index in range(len(values) + 1):
        assert heights.offset(index) == sum(values[:index])
    for y in (0, 1, sum(values) // 2, sum(values), sum(values) + 10):
        found = heights.find(y)
        if values:
            assert 0 <= found < len(values)
            if 0 <= y < sum(values):
                assert heights.offset(found) <= y < heights.offset(found + 1)


@given(HEIGHTS, HEIGHTS, HEIGHTS, st.data())
def test_same_as_sums(start: list[int], added: list[int], before: list[int], data: st.DataObject) -> None:
    heights, values = Heights(start), list(start)
    for value in added:
        heights.append(value)
        values.append(value)
    agree(heights, values)
    heights.insert_front(before)
    values[:0] = before
    agree(heights, values)
    if values:
        index = data.draw(st.integers(0, len(values) - 1))
        heights[index] = values[index] = 77
        agree(heights, values)
