"""Every type of event is reduced and projected, or explicitly not."""

from __future__ import annotations

from typing import get_args

from atelier_desk.domain.events.run import EventBody
from atelier_desk.engine.run.projection import project  # noqa: F401 - registers them
from atelier_desk.engine.run.projection.projection import projectors
from atelier_desk.engine.run.reducer import reduce  # noqa: F401
from atelier_desk.engine.run.reducer.handlers import handlers

TYPES = {kind.model_fields["type"].default for kind in get_args(get_args(EventBody)[0])}
SHOWN_BY_WHAT_FOLLOWS = {
    "queue_changed",
    "queued_sent",
    "children_planned",
    "children_joined",
    "limits_raised",
    "window_learned",
    "input_required",
    "input_sent",
}
"""The queue is compared before and after every event; the others are visible through their effects."""


def test_every_type_but_the_first_is_reduced() -> None:
    assert TYPES - set(handlers) == {"run_started"}  # which creates the state


def test_every_type_is_projected_or_explicitly_not() -> None:
    assert TYPES - set(projectors) == SHOWN_BY_WHAT_FOLLOWS
    assert len(TYPES) > 30
