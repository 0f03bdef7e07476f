"""Tasks that nobody waits for: kept until they end, and heard of when they fail.

The loop holds tasks weakly, and an exception in one that nobody awaits is told when it is collected, if at all.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

log = logging.getLogger(__name__)
T = TypeVar("T")
OnFailure = Callable[[str, BaseException], None]
"""Called on the loop with the task's name and its error."""
_running: set[asyncio.Task[object]] = set()


def start(work: Coroutine[object, None, T], name: str, on_failure: OnFailure | None = None) -> asyncio.Task[T]:
    """Run ``work`` in the background of the current loop.

    Args:
        name: what it does, as the log says it: "cleaning of checkpoints".
        on_failure: told besides the log; a cancelled task has not failed.
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
    """Background tasks of one owner, ended with it. ``on_failure``: as for ``start``."""

    def __init__(self, on_failure: OnFailure) -> None:
        self._on_failure = on_failure
        self._started: list[asyncio.Task[Any]] = []

    def start(self, name: str, work: Coroutine[object, None, T]) -> asyncio.Task[T]:
        """Run ``work`` until it ends or its owner closes."""
        task = start(work, name, self._on_failure)
        self._started.append(task)
        return task

    async def aclose(self) -> None:
        """Cancel all, and wait for their ends."""
        for task in self._started:
            task.cancel()
        await asyncio.gather(*self._started, return_exceptions=True)
