"""Positions on the time axis."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.desktop.panes.timeline.axis import TimeAxis, axis_of, sub_rows
from tests.helpers.sample_team_history import START, at, span, timeline


def test_an_hour_without_work_is_drawn_short() -> None:
    axis = axis_of(timeline(), at(0))
    assert [piece.short for piece in axis.pieces] == [False, True, False]
    assert axis.length < 15_000
    assert axis.drawn(at(8)) == 8_000
    assert axis.drawn(at(10 + 3600)) == axis.length


def test_short_waits_are_drawn_as_long_as_they_were() -> None:
    axis = TimeAxis(START, at(5), [(at(0), at(1)), (at(3), at(5))])
    assert not any(piece.short for piece in axis.pieces)
    assert axis.length == 5_000


def test_unfinished_spans_end_now() -> None:
    axis = axis_of(timeline(over=False), at(8 + 3600 + 30))
    assert axis.drawn(at(8 + 3600 + 30)) == axis.length
    assert axis.drawn(at(8 + 3600 + 20)) == axis.length - 10_000


def test_ticks_show_real_time_and_skip_shortened_stretches() -> None:
    axis = axis_of(timeline(), at(0))
    ticks = list(axis.ticks(0.05, 80))
    assert [value for _place, value in ticks][:5] == [0, 2_000, 4_000, 6_000, 8_000]
    assert all(value <= 8_000 or value >= 3_608_000 for _place, value in ticks)


def test_overlapping_spans_are_stacked() -> None:
    spans = [span("r", "tool", 0, 4), span("r", "tool", 1, 2), span("r", "tool", 2, 3), span("r", "tool", 4, None)]
    assert sub_rows(spans, at(9)) == [0, 1, 1, 0]


@given(
    st.lists(st.tuples(st.floats(0, 10_000), st.floats(0, 10_000)).map(sorted), max_size=12),
    st.lists(st.floats(0, 10_000), min_size=2, max_size=12),
)
def test_later_is_never_drawn_before_earlier(work: list[list[float]], moments: list[float]) -> None:
    axis = TimeAxis(START, at(10_000), [(at(a), at(b)) for a, b in work])
    places = [axis.drawn(START + timedelta(seconds=moment)) for moment in sorted(moments)]
    assert places == sorted(places)
    assert all(0 <= place <= axis.length + 1e-6 for place in places)
