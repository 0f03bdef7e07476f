"""The branches of a workflow: its turns form a tree, and the one that is shown is the way from its newest turn back to the first."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple


class RunLink(NamedTuple):
    """A run's place in its conversation."""

    id: str
    previous_run_id: str | None
    parent_run_id: str | None


def turns(runs: Sequence[RunLink], head: str | None) -> tuple[str, ...]:
    """The root runs of the branch that ends with ``head``, oldest first."""
    previous = {run.id: run.previous_run_id for run in runs if run.parent_run_id is None}
    chain: dict[str, None] = {}
    at = head
    while at is not None and at in previous and at not in chain:
        chain[at] = None
        at = previous[at]
    return tuple(reversed(chain))


def with_sub_agents(runs: Sequence[RunLink], roots: Collection[str]) -> set[str]:
    """Some root runs and everything below them; ``runs`` are in the order in which they were made, so parents come first."""
    found = set(roots)
    for run in runs:
        if run.parent_run_id in found:
            found.add(run.id)
    return found
