"""Stream of one turn: what a workflow publishes until its run ends, or nothing in its team is running."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.domain.stream.payloads import WorkflowComplete
from atelier_desk.domain.workflow import RunStatus

if TYPE_CHECKING:
    from atelier_desk.engine.services.common.service_context import ServiceContext


async def until_settled(
    engine: ServiceContext, run_id: str, queue: asyncio.Queue[StreamEvent | None]
) -> AsyncIterator[StreamEvent]:
    """Yield a workflow's events from ``queue`` until the run ends or waits, always ending with
    ``workflow_complete``."""
    settled = asyncio.create_task(engine.runs.wait(run_id))
    # A marker in the queue instead of two waits per event, which would cost a task per token.
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
    """Return the ``workflow_complete`` event that ends the stream of a run that does not continue by itself; not
    durable.

    Status ``waiting`` if an agent of its team waits for a person's answer, ``limited`` if one stopped at a limit,
    ``error`` if one could not be written, ``interrupted`` if one was interrupted, else ``waiting``.
    """
    row = await engine.repos.runs.get(run_id)
    states = [handle.current for handle in await engine.runs.team_of(run_id)]
    limited = any(state.limit is not None for state in states)
    asks = any(state.status in (RunStatus.AWAITING_USER, RunStatus.AWAITING_APPROVAL) for state in states)
    # A run that neither ended nor waits could not be written: the disk is full, or the database is gone.
    cut_off = any(state.status is RunStatus.INTERRUPTED for state in states)
    broke = any(state.status is RunStatus.PROCESSING for state in states)
    status = (
        "waiting" if asks else "limited" if limited else "error" if broke else "interrupted" if cut_off else "waiting"
    )
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
        data=WorkflowComplete(status=status).json_fields(),
    )


def _completes(event: StreamEvent, run_id: str, before: bool) -> bool:
    """Whether the run's stream is complete after this event; people's task changes are irrelevant."""
    return event.chunk_type is ChunkType.WORKFLOW_COMPLETE if event.run_id == run_id else before
