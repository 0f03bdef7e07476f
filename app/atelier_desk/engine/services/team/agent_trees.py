"""Trees of agents: read in three queries regardless of size, and built from what is known of each run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from atelier_desk.domain.approval import ApprovalRequest, ApprovalStatus
from atelier_desk.domain.events.run import RunEvent
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.sub_agent import ChildState, Spending
from atelier_desk.domain.workflow import Run, RunStatus, handed_over
from atelier_desk.engine.run import sub_agent_state
from atelier_desk.engine.run.reducer.reduce import reduce
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.engine.services.common.paging import all_rows
from atelier_desk.engine.services.common.service_context import ServiceContext
from atelier_desk.engine.services.team.agent_tree_and_timeline_types import AgentNode, ApprovalCounts

OUTLINE = (
    "run_started",
    "children_planned",
    "child_started",
    "child_finished",
    "child_asked",
    "child_answered",
    "limits_raised",
    "question_asked",
    "question_answered",
    "parent_asked",
    "parent_answered",
    "limit_reached",
    "run_paused",
    "run_resumed",
    "run_failed",
    "run_finished",
)
"""Types of events with facts that a run's row lacks; none is long or frequent."""


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """Known facts of one run.

    Attributes:
        state: complete, or the outline from the events of ``OUTLINE``.
        counting_since: when its running working time was read.
    """

    state: RunState
    status: RunStatus
    usage: Usage
    tool_calls: int
    elapsed_ms: int
    ended_at: datetime | None = None
    counting_since: datetime | None = None


def from_state(state: RunState, now: datetime | None = None) -> AgentFacts:
    """Return facts of a run with a complete state; ``now`` for one in memory, whose time keeps running."""
    elapsed, counting = state.elapsed_ms, None
    if now is not None and state.status is RunStatus.PROCESSING and state.last_time is not None:
        elapsed += max(0, round((now - state.last_time).total_seconds() * 1000))
        counting = now
    return AgentFacts(
        state=state,
        status=state.status,
        usage=state.usage,
        tool_calls=state.tool_calls,
        elapsed_ms=elapsed,
        ended_at=state.last_time if state.status.final else None,
        counting_since=counting,
    )


def from_row(row: Run, outline: RunState) -> AgentFacts:
    """Return facts of a run that is not in memory."""
    return AgentFacts(
        state=outline,
        status=row.status,
        usage=row.usage,
        tool_calls=row.tool_calls,
        elapsed_ms=row.elapsed_ms,
        ended_at=(outline.last_time if outline.status.final else row.updated_at) if row.status.final else None,
    )


def outlines(events: Iterable[RunEvent]) -> dict[str, RunState]:
    """Return, by run, the state from some of its events, renumbered because others are missing."""
    states: dict[str, RunState] = {}
    for event in events:
        before = states.get(event.run_id)
        states[event.run_id] = reduce(before, event.model_copy(update={"seq": before.last_seq + 1 if before else 1}))
    return states


def build(
    root_run_id: str, runs: Mapping[str, AgentFacts], approvals: Iterable[ApprovalRequest] = ()
) -> AgentNode | None:
    """Return the tree under a run; None if it is unknown."""
    if root_run_id not in runs:
        return None
    counts: dict[str, dict[ApprovalStatus, int]] = {}
    for request in approvals:
        of_run = counts.setdefault(request.run_id, {})
        of_run[request.status] = of_run.get(request.status, 0) + 1
    below: dict[str, list[str]] = {}
    for run_id, facts in runs.items():
        if facts.state.parent_run_id is not None:
            below.setdefault(facts.state.parent_run_id, []).append(run_id)
    return _Builder(runs, counts, below).node(root_run_id, None)


class _Builder:
    def __init__(
        self,
        runs: Mapping[str, AgentFacts],
        counts: Mapping[str, Mapping[ApprovalStatus, int]],
        below: Mapping[str, Sequence[str]],
    ) -> None:
        self._runs = runs
        self._counts = counts
        self._below = below

    def node(self, run_id: str, known: ChildState | None) -> AgentNode:
        """Return the node of a run; ``known`` is its parent's knowledge."""
        facts = self._runs[run_id]
        state = facts.state
        planned = {child.id for child in state.children}
        children = [
            self.node(child.id, child) if child.id in self._runs else self._without_run(state, child)
            for child in state.children
        ]
        children += [self.node(each, None) for each in self._below.get(run_id, ()) if each not in planned]
        own = Spending(usage=facts.usage, tool_calls=facts.tool_calls, seconds=facts.elapsed_ms / 1000)
        intent = next(
            (call.intent for call in reversed(state.calls) if call.status == "started" and call.intent is not None),
            None,
        )
        counts = self._counts.get(run_id, {})
        reached = state.limit if facts.status is RunStatus.PAUSED else None
        return AgentNode(
            run_id=run_id,
            name=state.agent.name,
            workflow_id=state.workflow_id,
            root_run_id=state.root_run_id,
            agent_id=state.agent_id,
            title=state.title or (known.title if known else ""),
            status=facts.status.value,
            depth=state.depth,
            parent_run_id=state.parent_run_id,
            parent_call_id=state.parent_call_id or (known.call_id if known else ""),
            call_kind=known.kind.value if known else "",
            stage=known.stage if known else 0,
            background=known.background if known else False,
            current_tool=intent.tool if intent is not None else "",
            current_title=intent.presentation.title if intent is not None else "",
            question=_question(facts, known),
            started_at=state.started_at,
            ended_at=facts.ended_at,
            elapsed_ms=facts.elapsed_ms,
            counting_since=facts.counting_since,
            usage=facts.usage,
            tool_calls=facts.tool_calls,
            total=sum((child.total for child in children), own),
            budget=sub_agent_state.more(state.agent.budget, state.raised_limits),
            pause=state.pause.value if state.pause is not None and facts.status is RunStatus.PAUSED else "",
            limit=reached.limit.value if reached is not None else "",
            limit_figures={} if reached is None else reached.model_dump(include={"value", "cap", "needed", "left"}),
            report=(known.report if known else "") or handed_over(state.summary, state.result),
            error=(known.error if known else "") or state.error,
            withheld=known.withheld if known else (),
            approvals=ApprovalCounts(
                pending=counts.get(ApprovalStatus.PENDING, 0),
                approved=counts.get(ApprovalStatus.APPROVED, 0),
                rejected=counts.get(ApprovalStatus.REJECTED, 0),
            ),
            children=tuple(children),
        )

    @staticmethod
    def _without_run(parent: RunState, child: ChildState) -> AgentNode:
        """Return the node of a sub-agent that has not begun, or never did."""
        return AgentNode(
            run_id=child.id,
            name=child.name,
            workflow_id=parent.workflow_id,
            root_run_id=parent.root_run_id,
            agent_id=child.agent_id,
            title=child.title,
            status=child.status.value,
            depth=parent.depth + 1,
            parent_run_id=parent.run_id,
            parent_call_id=child.call_id,
            call_kind=child.kind.value,
            stage=child.stage,
            background=child.background,
            budget=child.share,
            error=child.error,
            withheld=child.withheld,
        )


def _question(facts: AgentFacts, known: ChildState | None) -> str:
    if facts.status is RunStatus.AWAITING_USER and facts.state.questions:
        return facts.state.questions[0].spec.question
    if facts.status is RunStatus.AWAITING_PARENT:
        return facts.state.asked_parent or (known.question if known else "")
    return ""


async def read_trees(context: ServiceContext, workflow_id: str, root_run_ids: Sequence[str]) -> dict[str, AgentNode]:
    """Return the present trees of some root runs of a workflow."""
    repos = context.repos
    rows, approvals = await asyncio.gather(
        repos.runs.teams(root_run_ids), repos.approvals.of_teams(workflow_id, root_run_ids)
    )
    cold = [row.id for row in rows if _live(context, row.id) is None]
    outlined = outlines(await all_events(context, cold, OUTLINE))
    # No await from here on: memory is read at one moment.
    now = context.clock.now()
    facts: dict[str, AgentFacts] = {}
    for row in rows:
        state = _live(context, row.id)
        if state is not None:
            facts[row.id] = from_state(state, now)
        elif row.id in outlined:
            facts[row.id] = from_row(row, outlined[row.id])
    _add_newborn(context, facts, now)
    trees = {root: build(root, facts, approvals) for root in root_run_ids}
    return {root: tree for root, tree in trees.items() if tree is not None}


def _live(context: ServiceContext, run_id: str) -> RunState | None:
    handle = context.runs.state_of(run_id)
    return handle.state if handle is not None and not handle.stale else None


def _add_newborn(context: ServiceContext, facts: dict[str, AgentFacts], now: datetime) -> None:
    """Add sub-agents that began after the rows were read."""
    waiting = list(facts.values())
    while waiting:
        for child in waiting.pop().state.children:
            state = _live(context, child.id) if child.id not in facts else None
            if state is not None:
                facts[child.id] = from_state(state, now)
                waiting.append(facts[child.id])


async def all_events(context: ServiceContext, run_ids: Sequence[str], types: Sequence[str] = ()) -> list[RunEvent]:
    """Return all events of some runs, of some types, in stream order."""
    if not run_ids:
        return []
    journal = context.repos.journal
    return await all_rows(lambda offset, limit: journal.of_runs(run_ids, types=types, offset=offset, limit=limit))
