"""Read journals: events in commit order, replaying a workflow, forking it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from atelier_desk.domain.base_model import new_id
from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.events.run import RunEvent, TaskChanged
from atelier_desk.domain.stream.event import StreamEvent
from atelier_desk.domain.workflow import Workflow
from atelier_desk.engine.journal.commit_builder import stream_events
from atelier_desk.engine.journal.journal import PAGE, Journal, run_events
from atelier_desk.engine.journal.journal_copy import Copier
from atelier_desk.engine.run.projection.event_projection import RunTotals, project, project_task
from atelier_desk.engine.run.reducer.reduce import reduce
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.engine.services.common.workflow_names import branch_name, free_name
from atelier_desk.storage.damage_report import Damage, damaged, readable_until
from atelier_desk.storage.damaged_row_search import damaged_in
from atelier_desk.storage.repositories import Repositories
from atelier_desk.support.i18n import N_


async def workflow_events(repos: Repositories, workflow_id: str) -> AsyncIterator[RunEvent]:
    """Yield all events of a workflow in commit order."""
    ordered = _CommitOrder()
    after, limit = 0, PAGE
    while True:
        page = await repos.journal.workflow_events(workflow_id, after_stream=after, limit=limit)
        more = len(page) == limit
        # Events without stream events share the number of the next one, and a page may end among them: what has its
        # last number is read again with the next page. A page of nothing but one number is read again with more.
        end = page[-1].stream_from if more else None
        for event in page:
            if event.stream_from != end:
                for each in ordered.add(event):
                    yield each
        if end is None:
            break
        limit = PAGE if page[0].stream_from != end else limit * 2
        after = end - 1
    for each in ordered.rest():
        yield each


async def readable_events(repos: Repositories, workflow_id: str, damage: Sequence[Damage]) -> AsyncIterator[RunEvent]:
    """Like ``workflow_events`` with damaged rows: for each run the events before its first damaged one."""
    if not any(each.table == "run_event" for each in damage):
        async for event in workflow_events(repos, workflow_id):
            yield event
        return
    cut = readable_until(damage)
    events = await repos.journal.runless_events(workflow_id)
    for run in await repos.runs.list(workflow_id):
        events += (
            await repos.journal.events_before(run.id, cut[run.id]) if run.id in cut else await run_events(repos, run.id)
        )
    ordered = _CommitOrder()
    for event in sorted(events, key=lambda event: (event.stream_from, event.seq)):
        for each in ordered.add(event):
            yield each
    for each in ordered.rest():
        yield each


class _CommitOrder:
    """Sorts events of several runs into commit order.

    The database sorts by ``stream_from`` and then by the number in the run, which is meaningless between runs: among
    events with the same ``stream_from``, those of one commit are grouped in writing order. Only the last commit of such
    a block can continue in the next one.
    """

    def __init__(self) -> None:
        self._block: list[RunEvent] = []
        self._before: list[RunEvent] = []
        self._open = ""

    def add(self, event: RunEvent) -> list[RunEvent]:
        """Add an event in the database's order; return those whose position is now certain."""
        out: list[RunEvent] = []
        if self._block and self._block[0].stream_from != event.stream_from:
            out = self._ordered({each.commit for each in self._block})
        self._block.append(event)
        return out

    def rest(self) -> list[RunEvent]:
        """Return the remaining events, in order."""
        return self._ordered({each.commit for each in self._block}) + self._ordered(set())

    def _ordered(self, following: set[str]) -> list[RunEvent]:
        """Return the previous block, replaced by the present one; ``following`` are the present one's commits."""
        block, self._before, self._block = self._before, self._block, []
        waiting: dict[str, list[RunEvent]] = {}
        for event in sorted(
            block, key=lambda event: (event.commit != self._open, event.commit in following, event.seq)
        ):
            waiting.setdefault(event.commit, []).append(event)
        out: list[RunEvent] = []
        while waiting:
            commit = _next_commit(waiting)
            out += sorted(waiting.pop(commit), key=lambda event: event.id)
            self._open = commit
        return out


def _next_commit(waiting: dict[str, list[RunEvent]]) -> str:
    """Return the first commit without an earlier event of the same run in another commit."""
    first: dict[str, int] = {}
    for event in (event for events in waiting.values() for event in events):
        first[event.run_id] = min(event.seq, first.get(event.run_id, event.seq))

    def is_next(events: list[RunEvent]) -> bool:
        own: dict[str, int] = {}
        for event in events:
            own[event.run_id] = min(event.seq, own.get(event.run_id, event.seq))
        return all(first[run_id] == seq for run_id, seq in own.items())

    return next((commit for commit, events in waiting.items() if is_next(events)), next(iter(waiting)))


async def replay(repos: Repositories, workflow_id: str, run_id: str | None = None) -> AsyncIterator[StreamEvent]:
    """Replay the durable stream of a workflow from its journal only: no model, no tool, no change.

    With ``run_id`` only that run's; the workflow's totals in it then count from its start.

    Raises:
        StorageError: ``damaged_row``, after everything readable: rows of the workflow, or of the run, are missing or
            damaged. The yielded events are correct; a damaged run ends before its first damaged event, and totals
            exclude it.
    """
    await repos.workflows.get(workflow_id)
    damage = [each for each in await damaged_in(repos.store, workflow_id) if run_id in (None, each.run)]
    states: dict[str, RunState] = {}
    totals = RunTotals()
    deleted = await repos.runs.deleted(workflow_id)
    async for event in readable_events(repos, workflow_id, damage):
        if event.run_id in deleted or run_id not in (None, event.run_id):
            continue
        if not event.run_id:
            assert isinstance(event.body, TaskChanged)
            projection = project_task(event.body)
            after = None
        else:
            before = states.get(event.run_id)
            after = reduce(before, event)
            states[event.run_id] = after
            projection = project(event, before, after, totals)
        totals = totals.after(projection)
        for stream_event in stream_events(event, projection.payloads, after):
            yield stream_event
    if damage:
        raise damaged(damage)


async def fork(repos: Repositories, journal: Journal, workflow_id: str, at: int) -> Workflow:
    """Create a workflow with everything up to stream event ``at``; the original is unchanged.

    Everything committed together with event ``at`` is copied too, so that a sub-agent never begins or ends for its
    parent only. Runs cut in the middle, including sub-agents, are paused and continue when the user resumes the root
    run. All ids are replaced, so that the fork cannot affect the original: runs, messages, tool calls, tasks, planned
    sub-agents, questions and approval requests (those pending at that point are pending in the fork too). Texts that
    mention such an id (a tool's result, a call's arguments) mention the copy's. Memories and reports are not part of
    the journal and not copied: they show what is known now, not at ``at``; results of calls that read or wrote them are
    in the conversation. Event times are those of the original.

    Raises:
        NotFoundError: the workflow has no event with that number.
        StorageError: ``damaged_row``: an event is missing or damaged. A damaged message is restored from its event.
    """
    source = await repos.workflows.get(workflow_id)
    if not 1 <= at <= source.stream_seq:
        raise NotFoundError(
            N_("Workflow {name} has no event {at}; its events are numbered 1 to {last}."),
            name=source.name,
            at=at,
            last=source.stream_seq,
        )
    if damage := [each for each in await damaged_in(repos.store, workflow_id) if each.table == "run_event"]:
        raise damaged(damage)
    now = journal.clock.now()
    name = await free_name(branch_name(source.name), repos.workflows.existing_names)
    target = source.model_copy(
        update={
            "id": new_id(),
            "name": name,
            "named_by": "person",
            "stream_seq": 0,
            "usage": RunTotals().usage,
            "head_run_id": None,
            "pending_questions": 0,
            "pending_approvals": 0,
            "pinned": False,
            "archived": False,
            "unread": False,
            "draft": "",
            "created_at": now,
            "updated_at": now,
        }
    )
    await repos.workflows.create(target)
    copier = Copier(repos, journal, workflow_id, target.id)
    deleted = await repos.runs.deleted(workflow_id)
    try:
        async for event in workflow_events(repos, workflow_id):
            if event.stream_from > at and event.commit != copier.commit:
                break
            if event.run_id not in deleted:
                await copier.add(event)
        await copier.flush()
        await copier.pause()
        # Without an event, a person may have switched to another branch meanwhile, and changed its tasks.
        copied = await repos.workflows.update(target.id, updated_at=now)
        await journal.show_branch(target.id, copied.head_run_id)
    except BaseException:
        # An incomplete copy is useless.
        journal.forget(target.id)
        await repos.workflows.purge(target.id)
        raise
    return await repos.workflows.get(target.id)
