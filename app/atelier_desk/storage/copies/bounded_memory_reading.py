"""Read a whole database without keeping all of it in memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from atelier_desk.storage.copies.progress_and_cancellation import Progress
from atelier_desk.storage.database_engine import Engine
from atelier_desk.storage.migration_registry import Migrator
from atelier_desk.storage.table_pages import Run

CACHED_BYTES = 64 * 1024 * 1024
"""Bytes of tables that are read before the database is opened anew, which takes about 0.5 s."""


class BoundedReading:
    """Runs statements, and opens the database anew after ``CACHED_BYTES``.

    The engine keeps what it has read, up to half of the machine's memory, until it is closed; it has no option for that
    (measured: 750 MB after reading a database of 776 MB, 219 MB when it was closed).
    """

    def __init__(self, run: Run, release: Callable[[], Awaitable[None]], size: int) -> None:
        """``release`` opens the database anew; ``size``: bytes that are read in all."""
        self._run = run
        self._release = release
        self._size = size
        self._read = 0.0
        self._released_at = 0.0

    @classmethod
    def of_engine(cls, engine: Engine, size: int | None = None) -> BoundedReading:
        """For a database that nobody else uses; ``size`` is by default that of its tables now."""
        return cls(Migrator(engine).run, engine.reopen, engine.size() if size is None else size)

    async def run(self, sql: str, **params: object) -> list[object]:
        """Run statements and return the result of each. Raises ``StorageError``."""
        await self.give_back()
        return await self._run(sql, **params)

    async def give_back(self) -> None:
        """Open the database anew if ``CACHED_BYTES`` were read since the last time."""
        if abs(self._read - self._released_at) > CACHED_BYTES:
            self._released_at = self._read
            await self._release()

    def following(self, progress: Progress) -> Progress:
        """Return what tells ``progress`` of the reading of all, and so knows how much of it is read."""

        def notify(done: int, total: int) -> None:
            self._read = self._size * done / max(1, total)
            progress(done, total)

        return notify
