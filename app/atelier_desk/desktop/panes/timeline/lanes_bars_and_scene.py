"""The data a timeline draws: lanes, bars, scroll position, scale and selection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QRect, QRectF

if TYPE_CHECKING:
    from atelier_desk.desktop.panes.timeline.axis import TimeAxis
    from atelier_desk.engine.services.team.agent_tree_and_timeline_types import Span, TimelineRun

SpanKey = tuple[str, int, int, str, str]
_FAILED = frozenset({"error", "timeout", "cut_off", "unknown", "rejected"})


@dataclass(slots=True)
class Bar:
    """A span in its lane, in content coordinates, that is without scrolling."""

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
    """All data for one painting.

    Attributes:
        area: the viewport; ``origin`` is the position of content coordinate (0, 0) in it.
        gutter, ruler: pixels at the left for names, and at the top for times.
        scale: pixels per drawn millisecond of ``axis``; None without a timeline.
        focused: the timeline has the focus.
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
    """Identifies a span, also after a reload."""
    return span.run_id, span.seq, span.event_seq, span.kind, span.call_id


def span_style(span: Span) -> str:
    """A span's style: failed, model, tool, person (waiting for someone) or idle."""
    if span.status in _FAILED:
        return "failed"
    if span.kind in ("model", "tool"):
        return span.kind
    return "person" if span.kind == "wait" and span.label != "children" else "idle"


def is_dashed(span: Span) -> bool:
    """Whether nothing was done in it: its border is dashed."""
    return span.kind in ("wait", "paused")
