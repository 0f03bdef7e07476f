"""Writing behind: commits are durable in the log at once, and in the tables soon.

Whoever reads the tables, or writes to them directly, waits until everything kept before is in them, so nobody sees the difference.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import AtelierError, NotFoundError, StorageError
from atelier_desk.storage import batch, errors, refused, schema
from atelier_desk.storage.ahead import AheadLog, Record
from atelier_desk.storage.commit import Commit
from atelier_desk.storage.engine import Engine
from atelier_desk.storage.rows import record
from atelier_desk.storage.writer import Statement, Writer

_log = logging.getLogger(__name__)

DELAY_S = 0.25
"""How long a commit waits for others before it is put into the tables, when nobody asks for them."""
MOST_TOGETHER = 64
"""Most commits of one transaction: some 200 rows, 20 ms of work on the event loop."""
MOST_WAITING = 512
"""Commits that may wait; whoever brings the next one waits too."""
MOST_BYTES = 256 * 1024
"""A commit larger than this is written directly: it would be in memory, in the log and in the tables."""
_ROW = ("ahead",)


class WriteBehind:
    """The commits of one open database that are kept and not yet in its tables."""

    def __init__(self, log: AheadLog, writer: Writer, directory: Path, clock: Clock) -> None:
        self._log = log
        self._directory = directory
        self._writer = writer
        self._clock = clock
        self._waiting: list[Commit] = []
        self._applied = log.number
        self._flushing: asyncio.Task[None] | None = None
        self._timer: asyncio.Task[None] | None = None
        self._held = 0

    @classmethod
    async def open(cls, engine: Engine, writer: Writer, directory: Path, clock: Clock, *, fsync: bool, accept_loss: bool) -> WriteBehind:
        """Put what a kill left in the log into the tables.

        Raises:
            StorageError: ``damaged`` when synced commits are missing and ``accept_loss`` is false.
        """
        rows = (await schema.Migrator(engine).run("SELECT VALUE commits FROM $row", row=record(schema.VERSION_TABLE, *_ROW)))[0]
        log = AheadLog(directory, fsync=fsync)
        try:
            records, lost = log.read(int(rows[0]) if rows else 0)
            if lost and fsync and not accept_loss:
                raise StorageError(errors.LOST_WRITES, code="damaged", path=directory, count=lost)
            behind = cls(log, writer, directory, clock)
            behind._applied = log.number - len(records)
            behind._waiting = [behind._loaded(each) for each in records]
            if not rows:
                await writer.transact([behind._mark(0)])
            await behind.flush()
            log.clear()
        except BaseException:
            log.close()
            raise
        return behind

    @property
    def busy(self) -> bool:
        """Whether something is kept that is not yet in the tables, and may be put there."""
        return self._applied < self._log.number and not self._held

    async def keep(self, commit: Commit, taken: Callable[[], None]) -> bool:
        """Return True when the commit is durable, False when it has to be written directly.

        ``taken`` is called the moment the commit has its place among the others, before the disk has it.

        Raises:
            StorageError: it was not kept.
        """
        content = batch.dump(commit)
        if content is None or len(content) > MOST_BYTES:
            return False
        while len(self._waiting) >= MOST_WAITING and not self._held:
            await self.flush()
        if self._held:
            return False
        number = self._log.append(content)
        self._waiting.append(commit)
        taken()
        if len(self._waiting) >= MOST_TOGETHER:
            self._start()
        else:
            self._soon()
        await self._log.sync(number)
        return True

    async def flush(self) -> None:
        """Return when everything kept until now is in the tables.

        Raises:
            StorageError: it could not be written now; it stays in the log.
        """
        wanted = self._log.number
        while self._applied < wanted:
            # The work is shared by all who wait: whoever stops waiting does not stop it.
            task = self._start()
            await asyncio.wait({task})
            task.result()

    async def hold(self) -> None:
        """From now on commits are written directly, until ``release``; what was kept is in the tables on return."""
        self._held += 1
        try:
            await self.flush()
        except BaseException:
            self._held -= 1
            raise

    def release(self) -> None:
        self._held -= 1

    async def close(self) -> None:
        """Put everything into the tables. What cannot be written now stays in the log for the next opening."""
        if self._timer is not None:
            self._timer.cancel()
        try:
            await self.flush()
        except AtelierError as error:
            _log.error("%d commits stay in the log: %s", len(self._waiting), error)
        self._log.close()

    def _soon(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().create_task(self._later(), name="storage-behind")

    async def _later(self) -> None:
        await self._clock.sleep(DELAY_S)
        self._timer = None
        self._start()

    def _start(self) -> asyncio.Task[None]:
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.get_running_loop().create_task(self._write(), name="storage-flush")
            self._flushing.add_done_callback(_noted)
        return self._flushing

    async def _write(self) -> None:
        """Put what waits now into the tables, in as many transactions as it takes. What comes meanwhile waits for others again."""
        wanted = self._log.number
        while self._applied < wanted:
            commits = self._waiting[:MOST_TOGETHER]
            self._log.turn()
            try:
                await self._writer.transact([*batch.statements(commits), self._mark(len(commits))])
            except AtelierError as error:
                if not _of_its_own(error):
                    raise
                await self._one_by_one(commits)
                continue
            self._done(len(commits))
        if self._waiting:
            self._soon()

    def _loaded(self, kept: Record) -> Commit:
        """The commit of a record; one that cannot be read is set aside, and an empty one takes its place."""
        try:
            return batch.load(kept.content)
        except ValueError as error:
            _log.error("record %d of the log cannot be read and was set aside: %s", kept.number, error)
            refused.keep(self._directory, kept.content, str(error), self._clock.now())
            return Commit()

    async def _one_by_one(self, commits: Sequence[Commit]) -> None:
        for commit in commits:
            try:
                await self._writer.transact([*batch.guarded(commit), self._mark(1)])
            except AtelierError as error:
                if not _of_its_own(error):
                    raise
                self._left_out(commit, error)
                await self._writer.transact([self._mark(1)])
            self._done(1)

    def _left_out(self, commit: Commit, error: AtelierError) -> None:
        if isinstance(error, NotFoundError):
            _log.info("a commit of workflow %s was left out: it was deleted in the very moment", commit.workflow_id)
            return
        _log.error("a commit of workflow %s was refused and set aside: %s", commit.workflow_id, error)
        refused.keep(self._directory, batch.dump(commit) or b"", str(error), self._clock.now())

    def _mark(self, count: int) -> Statement:
        row = record(schema.VERSION_TABLE, *_ROW)
        return Statement("UPSERT $row SET commits = $number RETURN NONE", {"row": row, "number": self._applied + count})

    def _done(self, count: int) -> None:
        del self._waiting[:count]
        self._applied += count
        self._log.applied(self._applied)


def _of_its_own(error: AtelierError) -> bool:
    """Whether the transaction itself was refused, and not the disk or the engine."""
    return isinstance(error, NotFoundError) or (isinstance(error, StorageError) and error.code == "query" and not error.recoverable)


def _noted(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.warning("kept commits could not be put into the tables: %s", error)
