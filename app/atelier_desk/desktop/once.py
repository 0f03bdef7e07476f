"""A second click before the first is answered does nothing: whatever a button starts in the engine goes through here."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Hashable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

    Work = Callable[[], Coroutine[Any, Any, Any]]


class Once:
    """Starts work under a key unless work with that key still runs.

    A key says what is done and to what, such as ``("resume", run_id)``: other runs can be resumed meanwhile. It is free again when the work
    has ended, however it did. Ignoring a click, unlike disabling the button, keeps the keyboard focus where it was.
    """

    def __init__(self, start: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]) -> None:
        self._start = start
        self._running: dict[Hashable, asyncio.Task[Any]] = {}

    def __call__(self, key: Hashable, work: Work) -> asyncio.Task[Any] | None:
        """Start ``work()``; None, and nothing is started, while the last one with this key runs."""
        last = self._running.get(key)
        if last is not None and not last.done():
            return None
        task = self._running[key] = self._start(work())
        task.add_done_callback(lambda ended: self._forget(key, ended))
        return task

    def _forget(self, key: Hashable, ended: asyncio.Task[Any]) -> None:
        if self._running.get(key) is ended:
            del self._running[key]
