"""What this process knows of its database without asking: it is the only one that writes there."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace

from atelier_desk.domain.workflow import Workflow
from atelier_desk.storage.commit import Commit

MOST = 4096
"""Workflows and runs that are remembered; of others the database is asked."""


@dataclass
class _Run:
    """``last`` is the number of its newest event; ``partial`` whether a part of a reply may be stored."""

    last: int
    partial: bool


class Known:
    """Workflows that exist, with their rows where these were seen, and how far the journals of runs go."""

    def __init__(self) -> None:
        self._workflows: OrderedDict[str, Workflow | None] = OrderedDict()
        self._runs: OrderedDict[str, _Run] = OrderedDict()
        self.changes = 0
        """Rises with whatever is learned or forgotten: what was read before is then no longer news."""

    def workflow(self, workflow_id: str) -> Workflow | None:
        """The row as it is, when it is known."""
        return self._workflows.get(workflow_id)

    def follows(self, commit: Commit) -> bool:
        """Whether the database can only accept the commit: its workflow is there, and its events follow those of their runs."""
        workflow_id = commit.workflow_id
        if not commit.created and workflow_id not in self._workflows:
            return False
        last: dict[str, int] = {}
        for event in commit.events:
            if not event.run_id:
                continue
            known = self._runs.get(event.run_id)
            before = last.get(event.run_id, known.last if known else 0)
            if event.seq != before + 1:
                return False
            last[event.run_id] = event.seq
        return True

    def needed(self, commit: Commit) -> Commit:
        """The commit without what changes nothing: deleting parts of replies of which there are none."""
        if not commit.clear_partial:
            return commit
        return replace(commit, clear_partial=tuple(each for each in commit.clear_partial if self._may_have_partial(each)))

    def learn(self, commit: Commit) -> None:
        """The commit is in, or has its place."""
        self.changes += 1
        for workflow in commit.created:
            self._put(workflow.id, workflow)
        workflow_id = commit.workflow_id
        if workflow_id is not None and not commit.created:
            row = self._workflows.get(workflow_id)
            self._put(workflow_id, row.model_copy(update=commit.workflow) if row is not None and commit.workflow else row)
        for event in commit.events:
            if event.run_id:
                run = self._runs.setdefault(event.run_id, _Run(last=0, partial=event.seq != 1))
                run.last = max(run.last, event.seq)
        for partial in commit.partials:
            self._runs.setdefault(partial.run_id, _Run(last=0, partial=True)).partial = True
        for run_id in commit.clear_partial:
            if run_id in self._runs:
                self._runs[run_id].partial = False
        while len(self._runs) > MOST:
            self._runs.popitem(last=False)

    def saw(self, row: Workflow) -> None:
        """A row that was just read or written."""
        self._put(row.id, row)

    def forget(self, workflow_id: str | None) -> None:
        """The workflow is gone, or something about it went wrong; None forgets all there is."""
        self.changes += 1
        if workflow_id is None:
            self._workflows.clear()
            self._runs.clear()
        else:
            self._workflows.pop(workflow_id, None)

    def _may_have_partial(self, run_id: str) -> bool:
        run = self._runs.get(run_id)
        return run is None or run.partial

    def _put(self, workflow_id: str, row: Workflow | None) -> None:
        self._workflows[workflow_id] = row
        self._workflows.move_to_end(workflow_id)
        while len(self._workflows) > MOST:
            self._workflows.popitem(last=False)
