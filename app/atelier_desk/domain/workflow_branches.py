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


def newest_under(runs: Sequence[RunLink], run_id: str) -> str:
    """Return the last turn of the branch through ``run_id``: at each fork the newest version."""
    newest = {run.previous_run_id: run.id for run in runs if run.parent_run_id is None}
    at = run_id
    seen = {at}
    while (following := newest.get(at)) is not None and following not in seen:
        at = following
        seen.add(at)
    return at


def below(runs: Sequence[RunLink], run_id: str) -> tuple[str, ...]:
    """Return the turn ``run_id`` and all following turns on any branch, with their sub-agents.

    ``runs`` are oldest first.
    """
    found = {run_id}
    for run in runs:
        if run.previous_run_id in found or run.parent_run_id in found:
            found.add(run.id)
    return tuple(run.id for run in runs if run.id in found)


def shown_without(runs: Sequence[RunLink], head: str | None, run_id: str) -> str | None:
    """Return the last displayed turn after deleting the branch that begins with ``run_id``.

    Preferably another version's newest turn, the previous version first, else the preceding turn. Unchanged if the
    branch is not displayed.
    """
    if run_id not in turns(runs, head):
        return head
    gone = next(run for run in runs if run.id == run_id)
    versions = [run.id for run in runs if run.parent_run_id is None and run.previous_run_id == gone.previous_run_id]
    at = versions.index(run_id)
    others = [*reversed(versions[:at]), *versions[at + 1 :]]
    return newest_under(runs, others[0]) if others else gone.previous_run_id
