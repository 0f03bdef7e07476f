"""Effects of deleting a branch. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from atelier_desk.domain.workflow_branches import RunLink, turns
from atelier_desk.engine.services.workflow.transcript import newest_under


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
