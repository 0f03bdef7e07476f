"""The time axis of a timeline: positions of moments, with idle stretches shortened. No widgets."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atelier_desk.engine.services.team.agent_tree_and_timeline_types import Span, Timeline

LEAST_GAP_MS = 4_000
GAP_SHARE = 0.15
"""Idle stretches are shortened if longer than this share of all active time and than ``LEAST_GAP_MS``."""
DRAWN_SHARE = 0.06
"""The length of a shortened stretch as a share of all active time."""
STEPS_MS = (
    *(10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000),
    *(60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 86_400_000),
)
"""Readable distances between ticks, in milliseconds."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the axis: milliseconds since the start, and their position in drawn milliseconds."""

    start: float
    end: float
    at: float
    length: float

    @property
    def short(self) -> bool:
        """Whether it is shortened."""
        return self.length < self.end - self.start


class TimeAxis:
    """Maps moments to drawn milliseconds; ``length`` is the total, ``pieces`` are contiguous."""

    def __init__(self, start: datetime, end: datetime, work: Iterable[tuple[datetime, datetime]]) -> None:
        self.start = start
        total = max(1.0, _ms(start, end))
        busy = _merged((max(0.0, _ms(start, a)), min(total, _ms(start, b))) for a, b in work)
        active = sum(b - a for a, b in busy)
        least = max(LEAST_GAP_MS, active * GAP_SHARE)
        drawn = max(LEAST_GAP_MS / 4, active * DRAWN_SHARE)
        self.pieces: list[Piece] = []
        at, cursor = 0.0, 0.0
        for begin, until in [*busy, (total, total)]:
            if begin - cursor > least and active:
                at = self._add(cursor, begin, at, drawn)
            elif begin > cursor:
                at = self._add(cursor, begin, at, begin - cursor)
            at = self._add(begin, until, at, until - begin)
            cursor = max(cursor, until)
        self.length = max(1.0, at)
        self._starts = [piece.start for piece in self.pieces]

    def _add(self, start: float, end: float, at: float, length: float) -> float:
        if end > start:
            self.pieces.append(Piece(start, end, at, length))
            return at + length
        return at

    def drawn(self, moment: datetime) -> float:
        """The position of a moment, between 0 and ``length``."""
        if not self.pieces:
            return 0.0
        ms = min(max(0.0, (moment - self.start).total_seconds() * 1000), self.pieces[-1].end)
        piece = self.pieces[max(0, bisect_right(self._starts, ms) - 1)]
        return piece.at + (ms - piece.start) / (piece.end - piece.start) * piece.length

    @staticmethod
    def step(px_per_ms: float, least_px: float) -> int:
        """Milliseconds between two ticks that are at least ``least_px`` apart."""
        return next((step for step in STEPS_MS if step * px_per_ms >= least_px), STEPS_MS[-1])

    def ticks(self, px_per_ms: float, least_px: float) -> Iterator[tuple[float, float]]:
        """Drawn position and real milliseconds since the start of each tick; none in shortened stretches."""
        step = self.step(px_per_ms, least_px)
        last = -least_px
        for piece in self.pieces:
            if piece.short:
                continue
            value = -(-piece.start // step) * step
            while value <= piece.end:
                at = piece.at + value - piece.start
                if (at * px_per_ms) - last >= least_px * 0.8:
                    yield at, value
                    last = at * px_per_ms
                value += step


def axis_of(timeline: Timeline, now: datetime) -> TimeAxis:
    """The axis of a team's timeline; running spans extend to ``now``."""
    end = timeline.end or max(now, timeline.start)
    spans = [span for run in timeline.runs for span in run.spans]
    return TimeAxis(
        timeline.start, end, ((span.start, span.end or end) for span in spans if span.kind in ("model", "tool"))
    )


def sub_rows(spans: Sequence[Span], now: datetime) -> list[int]:
    """For each span of a lane its row: the first without an overlap."""
    ends: list[datetime] = []
    rows = []
    for span in spans:
        row = next((number for number, end in enumerate(ends) if end <= span.start), len(ends))
        if row == len(ends):
            ends.append(span.start)
        ends[row] = span.end or max(now, span.start)
        rows.append(row)
    return rows


def _ms(start: datetime, moment: datetime) -> float:
    return (moment - start).total_seconds() * 1000


def _merged(stretches: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Overlapping and adjacent stretches merged, in order."""
    merged: list[tuple[float, float]] = []
    for begin, end in sorted(each for each in stretches if each[1] >= each[0]):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return merged
