"""The engine's own thread: a plain asyncio loop, independent of Qt."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atelier_desk.engine.atelier import Atelier

log = logging.getLogger(__name__)

Opener = Callable[[Path | None], "AbstractAsyncContextManager[Atelier]"]
"""Returns the asynchronous context manager that opens the engine."""


def open_engine(data_dir: Path | None) -> AbstractAsyncContextManager[Atelier]:
    """Open the real engine; imported on the engine's thread so that the window is painted first."""
    from atelier_desk.engine.atelier import Atelier

    return Atelier.open(data_dir)


class EngineThread(threading.Thread):
    """A thread with a plain asyncio loop in which the engine is opened, runs and is closed.

    Attributes:
        loop: the engine's event loop, once ``started`` is set.
        engine: the open engine, None before it is open and after it is closed.
    """

    def __init__(
        self,
        data_dir: Path | None,
        *,
        opened: Callable[[Atelier], object],
        failed: Callable[[BaseException], object],
        closed: Callable[[], object],
        opener: Opener,
    ) -> None:
        super().__init__(name="atelier-engine", daemon=True)
        self.data_dir = data_dir
        self.loop = asyncio.new_event_loop()
        self.engine: Atelier | None = None
        self._opened, self._failed, self._closed, self._opener = opened, failed, closed, opener
        self._ending = asyncio.Event()
        self._living: asyncio.Task[None] | None = None

    def run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self._living = self.loop.create_task(self._live())
            with suppress(asyncio.CancelledError):
                self.loop.run_until_complete(self._living)
        finally:
            pending = asyncio.all_tasks(self.loop)
            for task in pending:
                task.cancel()
            if pending:
                self.loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.close()
            self._closed()

    def stop(self) -> None:
        """Ask the engine to close, from any thread. The thread ends when the engine is closed; opening is cancelled."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        opening = self.engine is None and not self._ending.is_set()
        self._ending.set()
        if opening and self._living is not None:
            self._living.cancel()

    async def _live(self) -> None:
        try:
            async with self._opener(self.data_dir) as engine:
                self.engine = engine
                self._opened(engine)
                await self._ending.wait()
                self.engine = None
        except Exception as error:  # whatever prevents opening is shown to the user
            log.exception("engine failed")
            self.engine = None
            self._failed(error)
