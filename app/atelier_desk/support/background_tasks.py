"""Background tasks: referenced until they end, and reported when they fail.

The event loop references tasks weakly, and reports an exception that nobody awaits only when the task is
collected, if at all.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import TypeVar

log = logging.getLogger(__name__)
T = TypeVar("T")
OnFailure = Callable[[str, BaseException], None]
"""Called on the loop with the task's name and its error."""
_running: set[asyncio.Task[object]] = set()


def start(work: Coroutine[object, None, T], name: str, on_failure: OnFailure | None = None) -> asyncio.Task[T]:
    """Run ``work`` in the background of the current loop.

    Args:
        name: what it does, for the log: "cleaning of checkpoints".
        on_failure: called in addition to the log; cancelling a task is not a failure.
    """
    task = asyncio.get_running_loop().create_task(work, name=name)
    _running.add(task)

    def ended(over: asyncio.Task[T]) -> None:
        _running.discard(over)
        if over.cancelled() or (error := over.exception()) is None:
            return
        log.error("%s failed", name, exc_info=error)
        if on_failure is not None:
            on_failure(name, error)

    task.add_done_callback(ended)
    return task


class Tasks:
    """Background tasks that end with their owner. ``on_failure``: as for ``start``."""

    def __init__(self, on_failure: OnFailure) -> None:
        self._on_failure = on_failure
        self._started: list[asyncio.Task[object]] = []

    def start(self, name: str, work: Coroutine[object, None, T]) -> asyncio.Task[T]:
        """Run ``work`` until it ends or its owner closes."""
        task = start(work, name, self._on_failure)
        self._started.append(task)
        return task

    async def aclose(self) -> None:
        """Cancel all tasks and wait for them."""
        for task in self._started:
            task.cancel()
        await asyncio.gather(*self._started, return_exceptions=True)


async def to_the_end(work: Coroutine[object, None, object]) -> bool:
    """Wait until ``work`` is done even if the wait is cancelled; return whether it was. Raises what ``work`` raises."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    task.result()
    return cancelled
