"""The single writer: queued transactions are grouped into one commit.

A commit costs one disk sync regardless of its size, so under load the cost per transaction falls. Each transaction
stays atomic: if a group fails, its members are tried one by one, and only those that fail alone are refused.

If the engine fails during a commit, the commit may or may not be on disk. The database is then reopened, and the number
of its newest commit decides. Until that succeeds nothing is written, because later commits would follow a torn one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import StorageError
from atelier_desk.storage import database_errors
from atelier_desk.storage.database_engine import Engine, Outcome
from atelier_desk.storage.search.index_changes import Change

_log = logging.getLogger(__name__)
GROUP_MAX = 64
"""Maximum transactions per commit."""
LOG_MAX_BYTES = 8 * 1024 * 1024
"""Size in bytes at which the write-ahead log of a small database is moved into the tables, which takes about 0.5 s.

The engine would do that only at 256 MB or more (depending on the machine's memory; its options do not reach the
embedded engine), and the next start after a kill reads the log at about 20 MB/s.
"""
LOG_PART = 16
LOG_CAP_BYTES = 16 * 1024 * 1024
"""Upper limit in bytes of the log of a large database, which may otherwise have a ``LOG_PART``-th of its size.

At every twelfth move the engine merges the last twelve, and everything waits: measured 3.5 s for 183 MB, 36 s for 560
MB. Fewer, larger moves write less but stall longer.
"""
QUIET_PART = 0.75
"""From this fraction of its limit, the log is moved while no run works, so that nobody waits."""
MERGED_MAX_BYTES = 64 * 1024 * 1024
"""Bytes of tables, merged by a move of the log, whose memory is freed at once if no run works.

Otherwise it stays until the next move, which may take hours: 260 MB in a folder of 240 MB.
"""
AT_WORK = "SELECT VALUE id FROM run WHERE status = 'processing' LIMIT 1"
RETRIES = 8
RETRY_FIRST_S = 0.005
_NAME = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_CONTROL = re.compile(r"\s*(RETURN|BEGIN|COMMIT|CANCEL)\b", re.IGNORECASE)
_CONSEQUENCE = re.compile(r"not executed due to|transaction was aborted due to a prior error")


class Statement(NamedTuple):
    """One SurrealQL statement and its parameters; values never go into the text.

    Attributes:
        changes: its changes for the full-text index.
    """

    sql: str
    params: Mapping[str, object]
    changes: tuple[Change, ...] = ()


OnCommit = Callable[[Sequence[Change] | None], None]
"""Called after a commit with its full-text changes; None if it is unknown whether it was kept."""


class CommitCounter(Protocol):
    """Numbers commits in the database and afterwards in a file: see ``storage.writing.lost_commit_detection``."""

    def statement(self) -> Statement:
        """Statement to add to the transaction of the next commit."""
        ...

    def committed(self) -> None:
        """Record that the commit with the next number is durable."""
        ...

    async def settle(self, engine: Engine) -> bool:
        """Whether the pending commit is in the database after all; counts it if so."""
        ...


class _Job(NamedTuple):
    statements: tuple[Statement, ...]
    done: asyncio.Future[list[object] | None]


def rename(statement: Statement, prefix: str) -> Statement:
    """Return the statement with renamed parameters, so that several can share one request."""
    params = statement.params

    def replace(match: re.Match[str]) -> str:
        return f"${prefix}{match[1]}" if match[1] in params else match[0]

    return statement._replace(
        sql=_NAME.sub(replace, statement.sql), params={f"{prefix}{name}": value for name, value in params.items()}
    )


class Writer:
    """Runs transactions one after the other, from any number of tasks.

    Args:
        counter: numbers the commits; None leaves them unnumbered.
    """

    def __init__(self, engine: Engine, clock: Clock, *, counter: CommitCounter | None = None) -> None:
        self._engine = engine
        self._clock = clock
        self._counter = counter
        self._queue: deque[_Job] = deque()
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self.on_commit: OnCommit = lambda _changes: None
        self._closing = False
        self._unsettled = False
        self._log_at_failure = 0
        self._turn = asyncio.Lock()
        self._task = asyncio.get_running_loop().create_task(self._work(), name="storage-writer")

    async def transact(self, statements: Sequence[Statement]) -> list[object] | None:
        """Run the statements as one transaction and return their results after the commit.

        Returns None if it was kept but the engine failed before returning results. Cancelling the wait withdraws the
        transaction only if it has not begun.

        Raises:
            StorageError, NotFoundError: nothing was kept, unless the error says that this is unknown; then the next
                transaction finds out before it begins.
        """
        if self._closing:
            raise StorageError(database_errors.CLOSED, code="query")
        if not statements:
            return []
        for statement in statements:
            if _CONTROL.match(statement.sql):
                raise StorageError(
                    database_errors.QUERY,
                    code="query",
                    detail="RETURN, BEGIN, COMMIT and CANCEL would end the shared transaction",
                )
        job = _Job(tuple(statements), asyncio.get_running_loop().create_future())
        self._queue.append(job)
        self._idle.clear()
        self._wake.set()
        return await job.done

    async def drain(self) -> None:
        """Wait until everything queued is committed or refused."""
        await self._idle.wait()

    @contextlib.asynccontextmanager
    async def quiet(self) -> AsyncIterator[None]:
        """Hold back commits while the block runs; everything committed before is complete."""
        async with self._turn:
            yield

    async def close(self) -> None:
        """Finish the queue and accept no more."""
        self._closing = True
        self._wake.set()
        await self._task

    async def _work(self) -> None:
        while True:
            while self._queue:
                jobs = [
                    job
                    for job in (self._queue.popleft() for _ in range(min(GROUP_MAX, len(self._queue))))
                    if not job.done.cancelled()
                ]
                if jobs:
                    async with self._turn:
                        await self._commit(jobs)
                        await self._compact_log()
            self._idle.set()
            if self._closing:
                return
            self._wake.clear()
            await self._wake.wait()

    async def _commit(self, jobs: list[_Job]) -> None:
        """Commit all jobs together; one by one if that fails."""
        results: Sequence[list[object] | None]
        try:
            results = await self._attempt(jobs)
        except Exception as error:  # pass any error to the caller; the writer continues
            if len(jobs) == 1 or database_errors.is_of_the_engine(error):
                for job in jobs:
                    _fail(job, error)
                return
            for job in jobs:
                await self._commit([job])
            return
        self.on_commit([change for job in jobs for statement in job.statements for change in statement.changes])
        for job, values in zip(jobs, results, strict=True):
            if not job.done.done():
                job.done.set_result(values)

    async def _attempt(self, jobs: list[_Job]) -> Sequence[list[object] | None]:
        """Run a group as one transaction; retry while the engine says that it may succeed."""
        if self._unsettled:
            await self._settle()
        delay = RETRY_FIRST_S
        for attempt in range(RETRIES):
            outcomes = await self._run(jobs)
            failure = _cause(outcomes)
            if failure is None and len(outcomes) != 2 + sum(len(job.statements) for job in jobs) + (
                self._counter is not None
            ):
                raise StorageError(
                    database_errors.QUERY, code="query", detail="a statement of a transaction held several statements"
                )
            if failure is None:
                return _share_out(jobs, [outcome.value for outcome in outcomes[1:]])
            if self._counter is not None and not (outcomes[-1].settled and not database_errors.leaves_open(failure)):
                if await self._settle(failure):
                    return [None] * len(jobs)
                raise database_errors.from_text(failure, self._engine.path)
            if not database_errors.is_retryable(failure) or attempt == RETRIES - 1:
                raise database_errors.from_text(failure, self._engine.path)
            await self._clock.sleep(delay)
            delay *= 2
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _settle(self, failure: str = "") -> bool:
        """Reopen the database and check whether the commit that failed with ``failure`` is in it.

        Raises:
            StorageError: it could not be opened, or acknowledged commits are lost; for the failed commit it says that
                its outcome is unknown.
        """
        assert self._counter is not None
        self._unsettled = True
        try:
            await self._engine.reopen()
            kept = await self._counter.settle(self._engine)
        except StorageError as error:
            if not failure:
                raise
            _log.error("it is not known whether a commit is kept (%s)", failure, exc_info=error)
            self.on_commit(None)
            problem = database_errors.from_text(failure, self._engine.path)
            code = problem.code if database_errors.is_of_the_engine(problem) else "unsettled"
            raise StorageError(
                database_errors.UNSETTLED, code=code, recoverable=True, path=self._engine.path, problem=problem
            ) from error
        self._unsettled = False
        return kept

    async def _compact_log(self) -> None:
        size = self._engine.log_bytes()
        if size < self._log_at_failure:
            self._log_at_failure = 0  # it was reopened for another reason
        grown = size - self._log_at_failure
        if grown < LOG_MAX_BYTES * QUIET_PART:
            return
        tables = self._engine.size()
        limit = max(LOG_MAX_BYTES, min(LOG_CAP_BYTES, tables // LOG_PART))
        if grown < limit * QUIET_PART:
            return
        at_work = await self._at_work()
        if grown < limit and at_work:
            return
        _log.info("moving %d kB of the log into the tables of %d kB", size // 1000, tables // 1000)
        began = self._clock.monotonic()
        try:
            await self._engine.reopen(merged_max=None if at_work else MERGED_MAX_BYTES)
            self._log_at_failure = 0
            _log.info("the log is moved, after %.1f s", self._clock.monotonic() - began)
        except Exception:
            # Committed data is in the log; the next request reopens the database or reports why it cannot. The writer
            # continues without retrying (and reporting) at every commit: causes such as a nearly full disk seldom pass
            # soon.
            self._log_at_failure = size
            _log.exception("the log could not be moved into the tables")

    async def _at_work(self) -> bool:
        """Whether a run works; True if unknown, because its next request then reports why."""
        try:
            outcomes = await self._engine.run(AT_WORK, {})
        except StorageError:
            return True
        return not outcomes[0].ok or bool(outcomes[0].value)

    async def _run(self, jobs: list[_Job]) -> list[Outcome]:
        texts = ["BEGIN"]
        params: dict[str, object] = {}
        for index, statement in enumerate(statement for job in jobs for statement in job.statements):
            renamed = rename(statement, f"s{index}_")
            texts.append(renamed.sql)
            params.update(renamed.params)
        if self._counter is not None:
            mark = rename(self._counter.statement(), "mark_")
            texts.append(mark.sql)
            params.update(mark.params)
        texts.append("COMMIT")
        outcomes = await self._engine.run(";\n".join(texts) + ";", params)
        if self._counter is not None and _cause(outcomes) is None:
            self._counter.committed()
        return outcomes


def _fail(job: _Job, error: BaseException) -> None:
    if not job.done.done():
        job.done.set_exception(error)


def _cause(outcomes: Sequence[Outcome]) -> str | None:
    """Return the error of the statement that failed by itself, not of those that failed because of it."""
    failed = [str(outcome.value) for outcome in outcomes if not outcome.ok]
    if not failed:
        return None
    own = [text for text in failed if not _CONSEQUENCE.search(text)]
    return own[0] if own else failed[0]


def _share_out(jobs: Sequence[_Job], values: Sequence[object]) -> Sequence[list[object]]:
    shares: list[list[object]] = []
    start = 0
    for job in jobs:
        shares.append(list(values[start : start + len(job.statements)]))
        start += len(job.statements)
    return shares
