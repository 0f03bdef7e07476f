"""The single writer groups transactions, keeps each atomic, and retries temporary failures."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from atelier_desk.domain.errors import NotFoundError, StorageError
from atelier_desk.domain.workflow import Workflow
from atelier_desk.storage import tables
from atelier_desk.storage.database_engine import Outcome
from atelier_desk.storage.repositories.base_repository import guard, upsert
from atelier_desk.storage.row_mapping import record
from atelier_desk.storage.store import Store
from atelier_desk.storage.writing.commit_statements import insert_all
from atelier_desk.storage.writing.writer import Statement, Writer, rename
from tests.helpers.manual_clock import ManualClock


class Recorder:
    """An engine that answers every request with success, or with a prepared result, and records the requests."""

    path = None

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.failures: list[str] = []
        self.gate: asyncio.Event | None = None

    def log_bytes(self) -> int:
        return 0

    async def run(self, sql: str, params: dict[str, Any]) -> list[Outcome]:
        self.requests.append(sql)
        if self.gate is not None:
            await self.gate.wait()
        statements = sql.count(";\n") + 1
        if self.failures:
            return [Outcome(True, None), *([Outcome(False, self.failures.pop(0))] * (statements - 1))]
        return [Outcome(True, index) for index in range(statements)]


def set_name(workflow_id: str, name: str) -> Statement:
    return Statement("UPDATE $row SET name = $name RETURN NONE", {"row": record("workflow", workflow_id), "name": name})


async def count(store: Store) -> int:
    rows = await store.query("SELECT count() AS n FROM workflow GROUP ALL")
    return rows[0]["n"] if rows else 0


def test_renaming_affects_only_parameters() -> None:
    renamed = rename(Statement("UPDATE $row SET a = $a, b = $ab, c = $value", {"row": 1, "a": 2, "ab": 3}), "s1_")
    assert renamed.sql == "UPDATE $s1_row SET a = $s1_a, b = $s1_ab, c = $value"
    assert renamed.params == {"s1_row": 1, "s1_a": 2, "s1_ab": 3}


async def test_waiting_transactions_share_one_commit(clock: ManualClock) -> None:
    engine = Recorder()
    engine.gate = asyncio.Event()
    writer = Writer(engine, clock)  # type: ignore[arg-type]
    waiting = [asyncio.ensure_future(writer.transact([set_name("w", str(number))])) for number in range(20)]
    while not engine.requests:
        await asyncio.sleep(0)
    engine.gate.set()
    await asyncio.gather(*waiting)
    await writer.close()
    assert [request.count("UPDATE") for request in engine.requests] in ([20], [1, 19])


async def test_each_transaction_gets_its_own_results(clock: ManualClock) -> None:
    writer = Writer(Recorder(), clock)  # type: ignore[arg-type]
    first, second = await asyncio.gather(
        writer.transact([set_name("a", "x")] * 2), writer.transact([set_name("b", "y")])
    )
    await writer.close()
    assert (first, second) == ([1, 2], [3])


async def test_only_the_bad_transaction_of_a_group_fails(disk_store: Store) -> None:
    good = [Workflow(name=f"good {number}") for number in range(10)]
    bad = Statement("CREATE $row SET nonsense = 1", {"row": record("workflow", "bad")})
    jobs = [disk_store.write(*insert_all(tables.WORKFLOWS, [each])) for each in good]
    jobs.insert(5, disk_store.write(upsert(tables.WORKFLOWS, Workflow(name="half")), bad))
    results = await asyncio.gather(*jobs, return_exceptions=True)
    assert [type(result) for result in results] == [type(None)] * 5 + [StorageError] + [type(None)] * 5
    assert await count(disk_store) == 10, "nothing of the bad transaction is kept, everything of the others is"


async def test_a_guard_refuses_only_its_own_transaction(disk_store: Store) -> None:
    kept = Workflow(name="kept")
    await disk_store.write(upsert(tables.WORKFLOWS, kept))
    results = await asyncio.gather(
        disk_store.write(guard(kept.id), set_name(kept.id, "new")),
        disk_store.write(guard("gone"), set_name(kept.id, "never")),
        return_exceptions=True,
    )
    assert results[0] is None
    assert isinstance(results[1], NotFoundError)
    assert (await disk_store.query("SELECT VALUE name FROM workflow")) == ["new"]


async def test_a_retryable_conflict_is_retried(clock: ManualClock) -> None:
    engine = Recorder()
    engine.failures = ["Cannot COMMIT: Transaction conflict. This transaction can be retried"] * 3
    writer = Writer(engine, clock)  # type: ignore[arg-type]
    job = asyncio.ensure_future(writer.transact([set_name("w", "x")]))
    await clock.settle()
    assert not job.done()
    assert clock.sleepers == 1
    await clock.advance(1)
    assert await job == [1]
    assert len(engine.requests) == 4
    await writer.close()


async def test_a_disk_failure_is_refused_and_not_retried_automatically(clock: ManualClock) -> None:
    """Even when the error claims to be retryable: the caller decides, and knows that nothing was stored."""

    class Failing(Recorder):
        async def run(self, sql: str, params: dict[str, Any]) -> list[Outcome]:
            return [outcome._replace(settled=outcome.ok) for outcome in await super().run(sql, params)]

        async def reopen(self) -> None:
            self.requests.append("opened again")

    class Counter:
        def statement(self) -> Statement:
            return Statement("UPDATE $counted", {"counted": 1})

        def committed(self) -> None: ...

        async def settle(self, engine: object) -> bool:
            return False

    engine = Failing()
    engine.failures = ["This transaction can be retried"]
    writer = Writer(engine, clock, counter=Counter())  # type: ignore[arg-type]
    job = asyncio.ensure_future(writer.transact([set_name("w", "x")]))
    await clock.settle()
    await clock.advance(10)
    with pytest.raises(StorageError):
        await job
    assert (len(engine.requests), engine.requests[1:]) == (2, ["opened again"])
    assert await writer.transact([set_name("w", "x")]) == [1]
    await writer.close()


async def test_each_delay_is_twice_the_last(clock: ManualClock) -> None:
    engine = Recorder()
    engine.failures = ["This transaction can be retried"] * 100
    writer = Writer(engine, clock)  # type: ignore[arg-type]
    job = asyncio.ensure_future(writer.transact([set_name("w", "x")]))
    attempts = []
    await clock.settle()
    for _wait in range(8):
        attempts.append((round(clock.monotonic(), 6), len(engine.requests)))
        await clock.advance(0.005 * 2**_wait)
    assert attempts == [(0, 1), (0.005, 2), (0.015, 3), (0.035, 4), (0.075, 5), (0.155, 6), (0.315, 7), (0.635, 8)]
    with pytest.raises(StorageError):
        await job
    await writer.close()


async def test_retries_end(clock: ManualClock) -> None:
    engine = Recorder()
    engine.failures = ["This transaction can be retried"] * 100
    writer = Writer(engine, clock)  # type: ignore[arg-type]
    job = asyncio.ensure_future(writer.transact([set_name("w", "x")]))
    while not job.done():
        await clock.advance(10)
    with pytest.raises(StorageError) as caught:
        await job
    assert caught.value.recoverable
    assert len(engine.requests) == 8
    await writer.close()


async def test_cancelling_before_the_start_withdraws_a_transaction(clock: ManualClock) -> None:
    engine = Recorder()
    engine.gate = asyncio.Event()
    writer = Writer(engine, clock)  # type: ignore[arg-type]
    first = asyncio.ensure_future(writer.transact([set_name("w", "first")]))
    while not engine.requests:
        await asyncio.sleep(0)
    second = asyncio.ensure_future(writer.transact([set_name("w", "second")]))
    await asyncio.sleep(0)
    second.cancel()
    engine.gate.set()
    await first
    await writer.close()
    assert len(engine.requests) == 1


async def test_the_failure_of_an_abandoned_transaction_is_not_logged_as_unhandled(clock: ManualClock) -> None:
    engine = Recorder()
    engine.gate = asyncio.Event()
    engine.failures = ["Found NONE for field `name`"]
    writer = Writer(engine, clock)  # type: ignore[arg-type]
    job = asyncio.ensure_future(writer.transact([set_name("w", "x")]))
    while not engine.requests:
        await asyncio.sleep(0)
    job.cancel()
    engine.gate.set()
    await writer.drain()
    assert await writer.transact([set_name("w", "y")]) == [1], "the writer goes on"
    assert await writer.transact([]) == []
    await writer.close()
    assert len(engine.requests) == 2


async def test_cancelling_during_the_commit_leaves_it_complete(clock: ManualClock) -> None:
    engine = Recorder()
    engine.gate = asyncio.Event()
    writer = Writer(engine, clock)  # type: ignore[arg-type]
    job = asyncio.ensure_future(writer.transact([set_name("w", "x")]))
    while not engine.requests:
        await asyncio.sleep(0)
    job.cancel()
    engine.gate.set()
    await writer.drain()
    after = await writer.transact([set_name("w", "y")])
    await writer.close()
    assert after == [1]


async def test_closing_finishes_the_queue_and_accepts_no_more(clock: ManualClock) -> None:
    engine = Recorder()
    writer = Writer(engine, clock)  # type: ignore[arg-type]
    job = asyncio.ensure_future(writer.transact([set_name("w", "x")]))
    await asyncio.sleep(0)
    await writer.close()
    assert await job == [1]
    with pytest.raises(StorageError, match="closed"):
        await writer.transact([set_name("w", "x")])


@pytest.mark.parametrize("sql", ["RETURN 1", " begin", "COMMIT", "cancel;"])
async def test_statements_that_would_end_the_shared_transaction_are_refused(store: Store, sql: str) -> None:
    with pytest.raises(StorageError, match="shared transaction"):
        await store.write(Statement(sql, {}))


async def test_quiet_holds_writes_back(disk_store: Store) -> None:
    async with disk_store.quiet():
        job = asyncio.ensure_future(disk_store.write(upsert(tables.WORKFLOWS, Workflow(name="late"))))
        await asyncio.sleep(0)
        assert await count(disk_store) == 0
        assert not job.done()
    await job
    assert await count(disk_store) == 1


async def test_concurrent_increments_are_all_stored(disk_store: Store) -> None:
    workflow = Workflow(name="counted", stream_seq=0)
    await disk_store.write(upsert(tables.WORKFLOWS, workflow))
    add = Statement("UPDATE $row SET stream_seq += 1 RETURN NONE", {"row": record("workflow", workflow.id)})
    await asyncio.gather(*(disk_store.write(add) for _ in range(200)))
    assert await disk_store.query("SELECT VALUE stream_seq FROM workflow") == [200]


async def test_an_unencodable_value_fails_only_its_own_transaction(disk_store: Store) -> None:
    unsendable = Statement(
        "CREATE $row CONTENT $content", {"row": record("workflow", "x"), "content": {"name": object()}}
    )
    results = await asyncio.gather(
        disk_store.write(upsert(tables.WORKFLOWS, Workflow(name="good"))),
        disk_store.write(unsendable),
        return_exceptions=True,
    )
    assert results[0] is None
    assert isinstance(results[1], Exception)
    await disk_store.write(upsert(tables.WORKFLOWS, Workflow(name="after")))
    assert await count(disk_store) == 2


# equivalent: writer.py module: `1024` → `1025` (2)
#   The size from which a log is moved is a choice: a thousandth more is read as quickly.
# equivalent: writer.py Writer._keep_log_short: `0` → `1`
#   One byte of growth before the next try, of eight million.
# equivalent: writer.py Writer._commit: `zip(strict=True)` → `zip()`
#   ``_share_out`` gives a list for each transaction; the check is for whoever changes that.
