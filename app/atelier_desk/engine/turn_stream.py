"""The stream of one turn: from what a workflow publishes, up to the moment its run is over, or nothing in its team works."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.domain.stream.payloads import WorkflowComplete
from atelier_desk.domain.workflow import RunStatus

if TYPE_CHECKING:
    from atelier_desk.engine.services.common.context import ServiceContext


async def until_settled(engine: ServiceContext, run_id: str, queue: asyncio.Queue[StreamEvent | None]) -> AsyncIterator[StreamEvent]:
    """What ``queue`` receives of a workflow until the run is over or waits, ended by ``workflow_complete`` in any case."""
    settled = asyncio.create_task(engine.runs.wait(run_id))
    # One mark in the queue instead of two waits an event: a streamed word is then handed on without a task of its own.
    settled.add_done_callback(lambda _task: queue.put_nowait(None))
    completed = False
    try:
        while (event := await queue.get()) is not None:
            completed = _completes(event, run_id, completed)
            yield event
        while not queue.empty():
            event = queue.get_nowait()
            if event is not None:
                completed = _completes(event, run_id, completed)
                yield event
        if not completed:
            yield await standing(engine, run_id)
    finally:
        settled.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await settled


async def standing(engine: ServiceContext, run_id: str) -> StreamEvent:
    """How a run stands that does not go on by itself, as the ``workflow_complete`` that ends its stream for now; not durable.

    Status ``waiting`` when an agent of its team waits for a person's answer, ``limited`` when one stopped at a limit, ``error`` when one
    could not be written, ``interrupted`` when what worked on one ended, else ``waiting``.
    """
    row = await engine.repos.runs.get(run_id)
    states = [handle.current for handle in await engine.runs.team_of(run_id)]
    limited = any(state.limit is not None for state in states)
    asks = any(state.status in (RunStatus.AWAITING_USER, RunStatus.AWAITING_APPROVAL) for state in states)
    # A run that is neither over nor waits for anybody could not be written: the disk is full, or the database is gone.
    cut_off = any(state.status is RunStatus.INTERRUPTED for state in states)
    broke = any(state.status is RunStatus.PROCESSING for state in states)
    status = "waiting" if asks else "limited" if limited else "error" if broke else "interrupted" if cut_off else "waiting"
    return StreamEvent(
        seq=engine.journal.last_stream_seq(row.workflow_id),
        time=engine.clock.now(),
        workflow_id=row.workflow_id,
        run_id=run_id,
        parent_run_id=row.parent_run_id,
        correlation_id=row.correlation_id,
        agent_id=row.agent_id,
        agent_name=row.agent_name,
        depth=row.depth,
        durable=False,
        chunk_type=WorkflowComplete.chunk,
        data=WorkflowComplete(status=status).said(),
    )


def _completes(event: StreamEvent, run_id: str, before: bool) -> bool:
    """Whether the run's stream is complete after this event; what people do to the workflow's tasks meanwhile says nothing of it."""
    return event.chunk_type is ChunkType.WORKFLOW_COMPLETE if event.run_id == run_id else before
