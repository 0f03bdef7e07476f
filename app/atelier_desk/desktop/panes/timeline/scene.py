"""What a timeline draws, as plain data: lanes, bars, how they are scrolled and scaled, and which span is which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QRect, QRectF

if TYPE_CHECKING:
    from atelier_desk.desktop.panes.timeline.axis import TimeAxis
    from atelier_desk.engine.services.team.views import Span, TimelineRun

SpanKey = tuple[str, int, int, str, str]
_FAILED = frozenset({"error", "timeout", "cut_off", "unknown", "rejected"})


@dataclass(slots=True)
class Bar:
    """A span in its lane, in content coordinates: the whole timeline without scrolling."""

    run: TimelineRun
    span: Span
    rect: QRectF


@dataclass(frozen=True, slots=True)
class Lane:
    """The band of one agent, in content coordinates."""

    run: TimelineRun
    top: int
    height: int


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything one painting needs.

    Attributes:
        area: the viewport; ``origin`` is where content coordinate (0, 0) is in it.
        gutter, ruler: pixels at the left for names, and at the top for times.
        scale: pixels a drawn millisecond of ``axis``; None while there is no timeline.
        focused: the keyboard is in it.
    """

    area: QRect
    origin: QPoint
    gutter: int
    ruler: int
    scale: float
    axis: TimeAxis | None
    lanes: list[Lane]
    bars: list[Bar]
    chosen: Bar | None
    hovered: Bar | None
    focused: bool


def span_key(span: Span) -> SpanKey:
    """What tells a span from the others, also after another reading."""
    return span.run_id, span.seq, span.event_seq, span.kind, span.call_id


def span_style(span: Span) -> str:
    """Which of the looks a span has: failed, model, tool, person (somebody is waited for) or idle."""
    if span.status in _FAILED:
        return "failed"
    if span.kind in ("model", "tool"):
        return span.kind
    return "person" if span.kind == "wait" and span.label != "children" else "idle"


def is_dashed(span: Span) -> bool:
    """Nothing was done in it: its edge is dashed."""
    return span.kind in ("wait", "paused")
