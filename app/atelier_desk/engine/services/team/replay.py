"""Past states of a team, derived from its journal, for the scrubber of a replay. Pure: no model, tool or database."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from atelier_desk.domain.approval import ApprovalRequest
from atelier_desk.domain.events.run import RunEvent
from atelier_desk.domain.question import UserQuestion
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import QUEUED, Message, ToolExecution
from atelier_desk.engine.journal.branch_tasks import tasks_of
from atelier_desk.engine.run.projection.event_projection import RunTotals, project
from atelier_desk.engine.run.reducer.reduce import reduce
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.engine.services.team.agent_tree_and_timeline_types import AgentNode, TimelineMark
from atelier_desk.engine.services.team.agent_trees import build, from_state
from atelier_desk.engine.services.team.timeline import marks
from atelier_desk.engine.services.workflow.transcript import MessageWindow, TranscriptEntry, assembled

SNAPSHOT_EVERY = 200
"""Events between stored states, so that going back folds at most that many."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A team after stream event ``seq``, derived from the journal only.

    Attributes:
        mark: the team's newest event at that time.
        entries: the turn's messages so far, as from ``WorkflowService.transcript``, with children under their calls.
        tree: None before the root run began.
        tasks: tasks of the turn's branch at that time.
        transcripts: by run id, the messages of each sub-agent so far.
    """

    workflow_id: str
    root_run_id: str
    seq: int
    mark: TimelineMark | None
    entries: tuple[TranscriptEntry, ...]
    tree: AgentNode | None
    tasks: tuple[Task, ...]
    transcripts: dict[str, tuple[TranscriptEntry, ...]]


@dataclass
class _Moment:
    """Complete state of a team after some of its events."""

    states: dict[str, RunState] = field(default_factory=dict)
    messages: dict[str, Message] = field(default_factory=dict)
    executions: dict[str, ToolExecution] = field(default_factory=dict)
    questions: dict[str, UserQuestion] = field(default_factory=dict)
    approvals: dict[str, ApprovalRequest] = field(default_factory=dict)

    def copy(self) -> _Moment:
        return _Moment(
            dict(self.states), dict(self.messages), dict(self.executions), dict(self.questions), dict(self.approvals)
        )

    def apply(self, event: RunEvent) -> None:
        before = self.states.get(event.run_id)
        after = self.states[event.run_id] = reduce(before, event)
        shown = project(event, before, after, RunTotals())
        self.messages |= {message.id: message for message in shown.messages if message.kind != QUEUED}
        self.executions |= {call.id: call for call in shown.executions}
        self.questions |= {question.id: question for question in shown.questions}
        self.approvals |= {request.id: request for request in shown.approvals}


class RecordedRun:
    """A team's events with cached intermediate states.

    Args:
        events: of the root run and everything below it, in stream order.
        tasks: ``TaskChanged`` events of the whole workflow, in the same order.
        branch: runs of the branch that ends with this turn, including sub-agents.
        until: number of the newest stream event when they were read.
    """

    def __init__(
        self,
        workflow_id: str,
        root_run_id: str,
        events: Sequence[RunEvent],
        tasks: Sequence[RunEvent],
        branch: Collection[str],
        *,
        until: int,
    ) -> None:
        self._workflow_id = workflow_id
        self.until = until
        self._root_run_id = root_run_id
        self._events = events
        self._tasks = tasks
        self._branch = branch
        self._seqs = [event.stream_from for event in events]
        self._marks = marks(events)
        self._moments: dict[int, _Moment] = {0: _Moment()}
        """By number of events folded."""

    def at(self, seq: int) -> Snapshot:
        """Return the team after stream event ``seq``."""
        moment = self._moment(bisect_right(self._seqs, seq))
        runs = {run_id: from_state(state) for run_id, state in moment.states.items()}
        approvals = list(moment.approvals.values())
        tree = build(self._root_run_id, runs, approvals)
        entries: dict[str, tuple[TranscriptEntry, ...]] = {}
        around = MessageWindow(
            list(moment.executions.values()), list(moment.questions.values()), approvals, [tree] if tree else []
        )
        for entry in assembled(list(moment.messages.values()), around):
            entries[entry.message.run_id] = (*entries.get(entry.message.run_id, ()), entry)
        main = entries.pop(self._root_run_id, ())
        index = bisect_right([mark.seq for mark in self._marks], seq)
        return Snapshot(
            workflow_id=self._workflow_id,
            root_run_id=self._root_run_id,
            seq=seq,
            mark=self._marks[index - 1] if index else None,
            entries=main,
            tree=tree,
            tasks=self._tasks_at(seq),
            transcripts=entries,
        )

    def _moment(self, count: int) -> _Moment:
        start = max(kept for kept in self._moments if kept <= count)
        moment = self._moments[start].copy()
        for number in range(start, count):
            if number and number % SNAPSHOT_EVERY == 0 and number not in self._moments:
                self._moments[number] = moment.copy()
            moment.apply(self._events[number])
        return moment

    def _tasks_at(self, seq: int) -> tuple[Task, ...]:
        tasks = tasks_of((event for event in self._tasks if event.stream_from <= seq), self._branch)
        return tuple(sorted(tasks.values(), key=lambda task: task.position))
