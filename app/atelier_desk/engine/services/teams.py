"""Teams for display: tree of agents, lanes, a sub-agent's transcript, timeline, and past states."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from atelier_desk.domain import limits
from atelier_desk.domain.errors import AtelierError, NotFoundError
from atelier_desk.domain.events.run import RunEvent, RunStarted
from atelier_desk.domain.stream.event import StreamEvent
from atelier_desk.domain.workflow import Run, WorkflowStatus
from atelier_desk.domain.workflow_branches import branch_of, turns
from atelier_desk.engine.journal import replay_and_fork
from atelier_desk.engine.services.common.paging import all_rows
from atelier_desk.engine.services.common.service_context import ServiceContext
from atelier_desk.engine.services.team.agent_tree_and_timeline_types import AgentNode, Timeline, Turn
from atelier_desk.engine.services.team.agent_trees import all_events, read_trees
from atelier_desk.engine.services.team.replay import RecordedRun, Snapshot
from atelier_desk.engine.services.team.timeline import timeline
from atelier_desk.engine.services.workflow.transcript import TranscriptEntry, TranscriptReader
from atelier_desk.support.i18n import N_

MAX_RECORDINGS = 2
"""Teams whose events stay in memory while their past is displayed."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ALIVE = (WorkflowStatus.RUNNING, WorkflowStatus.WAITING, WorkflowStatus.PAUSED, WorkflowStatus.INTERRUPTED)


class TeamService:
    """Reads teams; changes nothing. Running ones are read from memory, ended ones from rows and journal."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context
        self._reader = TranscriptReader(context)
        self._tapes: OrderedDict[str, RecordedRun] = OrderedDict()
        self._turns_of, self._turns = "", list[Turn]()
        """The turns up to a root run, which never change; panes read them at each event."""
        self._winding = asyncio.Lock()
        """Held while events are read: a scrubber asks again before the first answer arrives."""

    async def tree(self, workflow_id: str, root_run_id: str | None = None) -> AgentNode:
        """Return the agents of a turn: its root run with everything below it.

        Args:
            root_run_id: None uses the newest displayed turn; a sub-agent's run gives the tree under it.

        Raises:
            NotFoundError: no such workflow or run, or the workflow has no turn yet.
        """
        if root_run_id is None:
            root_run_id = (await self._context.repos.workflows.get(workflow_id)).head_run_id
            if root_run_id is None:
                raise NotFoundError(N_("This workflow has no messages yet."))
        return await self._node(await self._run(root_run_id, workflow_id))

    async def at_work(self) -> dict[str, AgentNode]:
        """Return, by workflow, its newest turn if it is running, waiting or paused."""
        found = {}
        for workflow in await self._context.repos.workflows.list(statuses=_ALIVE):
            if workflow.head_run_id:
                found[workflow.id] = await self.tree(workflow.id, workflow.head_run_id)
        return found

    async def turns(self, workflow_id: str) -> list[Turn]:
        """Return the turns of the displayed branch, oldest first."""
        head = (await self._context.repos.workflows.get(workflow_id)).head_run_id
        if head is None:
            return []
        if head != self._turns_of:
            runs = await self._context.repos.runs.links(workflow_id)
            created = {run.id: _EPOCH + timedelta(microseconds=run.created_us) for run in runs}
            self._turns_of, self._turns = (
                head,
                [Turn(run_id, number, created[run_id]) for number, run_id in enumerate(turns(runs, head), 1)],
            )
        return self._turns

    async def root_of(self, run_id: str) -> str:
        """Return the root run of a run's team."""
        return (await self._run(run_id)).correlation_id or run_id

    async def model_of(self, run_id: str) -> tuple[str, str]:
        """Return the provider and the model that a run began with.

        Raises:
            NotFoundError: no such run.
        """
        for event in await self._context.repos.journal.of_runs([run_id], types=("run_started",), limit=1):
            if isinstance(event.body, RunStarted):
                return event.body.agent.provider, event.body.agent.model
        raise NotFoundError(N_("There is no run {id}."), id=run_id)

    async def missing_prices(self, run_ids: Sequence[str]) -> dict[str, tuple[str, tuple[str, ...]]]:
        """Return by run its model, and which of its prices ``input`` and ``output`` are missing now; without those
        whose model is gone.
        """
        found: dict[str, tuple[str, tuple[str, ...]]] = {}
        for run_id in run_ids:
            with contextlib.suppress(AtelierError):
                info = await self._context.models.info(*await self.model_of(run_id))
                prices = {"input": info.price_input, "output": info.price_output}
                missing = tuple(name for name, price in prices.items() if price is None)
                if not missing and not self._context.month_budget.priced(info):
                    missing = tuple(prices)  # it was said to be free, and charged for
                found[run_id] = info.name, missing
        return found

    async def run_of(self, message_id: str) -> Run | None:
        """Return the run of a message; None if either is gone."""
        try:
            return await self._run((await self._context.repos.messages.get(message_id)).run_id)
        except NotFoundError:
            return None

    async def replay(self, workflow_id: str) -> tuple[str, list[StreamEvent]]:
        """Return the newest displayed turn, and its team's stream events so far; empty if nothing has run."""
        root = (await self._context.repos.workflows.get(workflow_id)).head_run_id
        return (
            (root, [event async for event in replay_and_fork.replay(self._context.repos, workflow_id, root)])
            if root
            else ("", [])
        )

    async def lanes(self, run_id: str, call_id: str) -> list[AgentNode]:
        """Return the sub-agents a call started, in planned order.

        Raises:
            NotFoundError: no such run.
        """
        node = await self._node(await self._run(run_id))
        return [child for child in node.children if child.parent_call_id == call_id]

    async def transcript(
        self, run_id: str, *, before: int | None = None, limit: int = limits.LIST_MAX
    ) -> list[TranscriptEntry]:
        """Return the newest ``limit`` messages of one run below stream number ``before`` (None: of all), oldest first.

        For a sub-agent: its prompt, messages and calls, and its report.

        Raises:
            NotFoundError: no such run.
            LimitError: the limit is out of range.
        """
        return await self._reader.read_run(await self._run(run_id), before=before, limit=limit)

    async def timeline(self, root_run_id: str) -> Timeline:
        """Return how each run of a team spent its time, and the scrubber's positions.

        Raises:
            NotFoundError: no such run.
        """
        row = await self._run(root_run_id)
        found = timeline(row.workflow_id, row.id, await self._events(row))
        if found is None:
            raise NotFoundError(N_("There is no run {id}."), id=root_run_id)
        return found

    async def at(self, workflow_id: str, root_run_id: str, seq: int) -> Snapshot:
        """Return a team after stream event ``seq``: before its first, an empty snapshot; after its last, the end.

        Raises:
            NotFoundError: no such run in this workflow.
        """
        row = await self._run(root_run_id, workflow_id)
        last = (await self._context.repos.workflows.get(workflow_id)).stream_seq
        async with self._winding:
            tape = self._tapes.get(root_run_id)
            if tape is None or min(seq, last) > tape.until:
                links = self._context.repos.runs.links(workflow_id)
                events, tasks, runs = await asyncio.gather(self._events(row), self._task_events(workflow_id), links)
                tape = self._tapes[root_run_id] = RecordedRun(
                    workflow_id, root_run_id, events, tasks, branch_of(runs, row.id), until=last
                )
            self._tapes.move_to_end(root_run_id)
            while len(self._tapes) > MAX_RECORDINGS:
                self._tapes.popitem(last=False)
        return tape.at(seq)

    async def _run(self, run_id: str, workflow_id: str | None = None) -> Run:
        row = await self._context.repos.runs.get(run_id)
        if workflow_id is not None and row.workflow_id != workflow_id:
            raise NotFoundError(N_("There is no run {id}."), id=run_id)
        return row

    async def _node(self, row: Run) -> AgentNode:
        root = row.correlation_id or row.id
        tree = (await read_trees(self._context, row.workflow_id, [root])).get(root)
        node = tree.find(row.id) if tree is not None else None
        if node is None:
            raise NotFoundError(N_("There is no run {id}."), id=row.id)
        return node

    async def _events(self, row: Run) -> list[RunEvent]:
        """Return the events of a run and everything below it."""
        rows = await self._context.repos.runs.teams([row.correlation_id or row.id])
        below = {row.id}
        # Rows are in order of creation, parents first.
        for each in rows:
            if each.parent_run_id in below:
                below.add(each.id)
        return await all_events(self._context, list(below))

    async def _task_events(self, workflow_id: str) -> list[RunEvent]:
        journal = self._context.repos.journal
        return await all_rows(
            lambda offset, limit: journal.of_type(workflow_id, "task_changed", offset=offset, limit=limit)
        )
