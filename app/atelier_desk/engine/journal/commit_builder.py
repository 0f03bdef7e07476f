"""A journal commit being built: events with the states and totals after each, rows and stream events."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from atelier_desk.domain.base_model import new_id
from atelier_desk.domain.events.run import RunEvent
from atelier_desk.domain.stream.event import StreamEvent
from atelier_desk.domain.stream.payloads import Payload
from atelier_desk.domain.system_prompt_and_tools import PromptFrame
from atelier_desk.domain.workflow import Run, Workflow
from atelier_desk.engine.run.projection.event_projection import Projection, RunTotals
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.storage.writing.journal_commit import Commit
from atelier_desk.storage.writing.sent_request_keys import SentKey


@dataclass
class BatchHead:
    """Known state of a workflow, so that a commit needs no read: this process is the only writer.

    Attributes:
        lock: held from the decision until the write; one per workflow, as long as the journal lives.
        known: False if the workflow's row has to be read first.
        task_version: increases with each commit that changes tasks.
        head_run_id: newest turn of the displayed branch, whose tasks are in the table.
        tainted: outside sources of its runs: the first few names; None if not read yet.
        without_tasks: no event of its journal concerns a task.
    """

    stream_seq: int = 0
    totals: RunTotals = field(default_factory=RunTotals)
    known: bool = False
    task_version: int = 0
    head_run_id: str | None = None
    tainted: tuple[str, ...] | None = None
    without_tasks: bool = False
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def learn(self, row: Workflow) -> None:
        self.stream_seq = row.stream_seq
        self.head_run_id = row.head_run_id
        self.tainted = None
        self.without_tasks = False
        self.totals = RunTotals(
            usage=row.usage,
            pending_questions=row.pending_questions,
            pending_approvals=row.pending_approvals,
            teams=self.totals.teams,
        )
        self.known = True


@dataclass
class Batch:
    """A commit being built: states and totals after each event, and all rows.

    Attributes:
        unit: identifies events that belong together: a copy of the workflow has all of them or none.
        states: by run, the state after the events so far; None before its first.
        other_tasks: from here on another branch is displayed, with these tasks.
    """

    stream_seq: int
    totals: RunTotals
    unit: str = field(default_factory=new_id)
    states: dict[str, RunState | None] = field(default_factory=dict)
    events: list[RunEvent] = field(default_factory=list)
    streams: list[StreamEvent] = field(default_factory=list)
    rows: Projection = field(default_factory=Projection)
    other_tasks: bool = False

    def add(self, event: RunEvent, projection: Projection, streams: list[StreamEvent]) -> None:
        self.events.append(event)
        self.streams += streams
        self.stream_seq += len(streams)
        self.rows.messages += projection.messages
        self.rows.executions += projection.executions
        self.rows.questions += projection.questions
        self.rows.approvals += projection.approvals
        self.rows.audit += projection.audit
        self.rows.tasks += projection.tasks
        self.rows.deleted_tasks += projection.deleted_tasks
        self.rows.deleted_messages += projection.deleted_messages
        self.rows.rules += projection.rules
        self.rows.matched_rules |= projection.matched_rules
        self.rows.pins.update(projection.pins)
        self.rows.workflow.update(projection.workflow)
        self.totals = self.totals.after(projection)

    def state(self, run_id: str) -> RunState:
        """Return the state of a run that has an event here."""
        state = self.states[run_id]
        assert state is not None, "an event was added"
        return state

    def commit(
        self,
        rows: Sequence[Run] = (),
        clear_partial: Sequence[str] = (),
        frames: Sequence[PromptFrame] = (),
        settled: Sequence[SentKey] = (),
    ) -> Commit:
        """Return the commit, with the rows of its runs and other data to store."""
        return Commit(
            events=tuple(self.events),
            runs=tuple(rows),
            workflow={**self.rows.workflow, "stream_seq": self.stream_seq, "updated_at": self.events[-1].time},
            messages=tuple(self.rows.messages),
            executions=tuple(self.rows.executions),
            questions=tuple(self.rows.questions),
            approvals=tuple(self.rows.approvals),
            audit=tuple(self.rows.audit),
            frames=tuple(frames),
            tasks=tuple(self.rows.tasks),
            deleted_tasks=tuple(self.rows.deleted_tasks),
            deleted_messages=tuple(self.rows.deleted_messages),
            rules=tuple(self.rows.rules),
            matched_rules=self.rows.matched_rules,
            pins=self.rows.pins,
            clear_partial=tuple(clear_partial),
            settled=tuple(settled),
        )


def stream_events(event: RunEvent, said: Sequence[Payload], state: RunState | None) -> list[StreamEvent]:
    """Return the durable stream events of one run event, numbered from its ``stream_from``."""
    return [
        StreamEvent(
            seq=event.stream_from + index,
            time=event.time,
            workflow_id=event.workflow_id,
            run_id=event.run_id,
            **envelope(state, payload),
        )
        for index, payload in enumerate(said)
    ]


def envelope(state: RunState | None, said: Payload) -> dict[str, Any]:
    """Return the fields of a stream event that say what it reports, and of which run's agent; None for no run."""
    fields = {"chunk_type": said.chunk, "data": said.json_fields()}
    if state is None:
        return fields
    return {
        **fields,
        "parent_run_id": state.parent_run_id,
        "correlation_id": state.correlation_id,
        "agent_id": state.agent_id,
        "agent_name": state.agent.name,
        "depth": state.depth,
    }
