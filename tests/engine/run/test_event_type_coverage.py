"""Every type of event is reduced and projected, or explicitly not."""

from __future__ import annotations

from string import Formatter

from atelier_desk.domain.events.run import EVENT_TYPES
from atelier_desk.engine.run.projection import event_projection  # noqa: F401 - registers them
from atelier_desk.engine.run.projection.projection_base import projectors
from atelier_desk.engine.run.reducer import reduce  # noqa: F401
from atelier_desk.engine.run.reducer.handler_registry import handlers

TYPES = {kind.model_fields["type"].default: kind for kind in EVENT_TYPES}
SHOWN_BY_WHAT_FOLLOWS = {
    "queue_changed",
    "queued_sent",
    "children_planned",
    "children_joined",
    "limits_raised",
    "input_required",
    "input_sent",
}
"""The queue is compared before and after every event; the others are visible through their effects."""


def test_every_type_but_the_first_is_reduced() -> None:
    assert set(TYPES) - set(handlers) == {"run_started"}  # which creates the state


def test_every_type_is_projected_or_explicitly_not() -> None:
    noticed = {name for name, kind in TYPES.items() if kind.notice is not None}
    assert set(TYPES) - set(projectors) - noticed == SHOWN_BY_WHAT_FOLLOWS
    assert len(TYPES) > 30


def test_a_notice_has_values_for_all_its_placeholders() -> None:
    noticed = [kind for kind in EVENT_TYPES if kind.notice is not None]
    assert noticed
    for kind in noticed:
        assert kind.notice is not None
        named = {name for _, name, _, _ in Formatter().parse(kind.label + kind.notice.text) if name is not None}
        assert named <= set(kind.model_fields), kind
