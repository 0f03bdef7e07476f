"""Branches of a workflow: its turns form a tree; the displayed branch leads from its newest turn back to the first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class RunLink(NamedTuple):
    """A run's position in its conversation."""

    id: str
    previous_run_id: str | None
    parent_run_id: str | None
    created_us: int = 0
    """Microseconds from 1970 to its creation."""


def turns(runs: Sequence[RunLink], head: str | None) -> tuple[str, ...]:
    """Return the root runs of the branch that ends with ``head``, oldest first."""
    previous = {run.id: run.previous_run_id for run in runs if run.parent_run_id is None}
    chain: dict[str, None] = {}
    at = head
    while at is not None and at in previous and at not in chain:
        chain[at] = None
        at = previous[at]
    return tuple(reversed(chain))


def branch_of(runs: Sequence[RunLink], run_id: str | None) -> set[str]:
    """Return all runs, including sub-agents', of the branch that ends with the turn of ``run_id`` (possibly a
    sub-agent).

    ``runs`` are in the order of creation.
    """
    parents = {run.id: run.parent_run_id for run in runs}
    root = run_id
    while (above := parents.get(root or "")) is not None:
        root = above
    found = set(turns(runs, root))
    for run in runs:
        # Parents come before their children.
        if run.parent_run_id in found:
            found.add(run.id)
    return found
