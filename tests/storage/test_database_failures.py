"""The engine fails temporarily: errors are reported, acknowledged data stays, refused data never reappears."""

# judges: app/atelier_desk/storage/writing/writer.py
from __future__ import annotations

import asyncio
import secrets
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.workflow import Run, RunStatus, Workflow
from atelier_desk.storage import database_engine as engine_module
from atelier_desk.storage import tables as storage_tables
from atelier_desk.storage.data_folder import database_preflight
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.database_engine import Engine, Outcome
from atelier_desk.storage.repositories.base_repository import upsert
from atelier_desk.storage.store import Statement, Store
from atelier_desk.storage.writing import writer
from atelier_desk.support import malloc_tuning
from tests.helpers.error_codes import raises_code
from tests.storage.child_programs import run, start

pytestmark = pytest.mark.usefixtures("copied_databases")

EIO = "Cannot COMMIT: There was a problem with a transaction: WAL error: IO error: Input/output error (os error 5)"


async def names(store: Store) -> list[str]:
    return sorted(await store.query("SELECT VALUE name FROM workflow"))


def named(name: str) -> Statement:
    return upsert(storage_tables.WORKFLOWS, Workflow(name=name))


class Failing:
    """Lets commits of a store fail as on a broken disk: before they are done, or after (``kept``)."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kept = False
        self.times = 1
        real: Callable[..., Awaitable[list[Outcome]]] = store._engine.run

        async def run(sql: str, params: dict[str, Any]) -> list[Outcome]:
            if not sql.startswith("BEGIN") or not self.times:
                return await real(sql, params)
            self.times -= 1
            if self.kept:
                await real(sql, params)
            return [
                Outcome(True, None),
                Outcome(False, "The query was not executed due to a failed transaction"),
                Outcome(False, EIO),
            ]

        monkeypatch.setattr(store._engine, "run", run)


async def test_a_commit_that_failed_on_the_disk_is_refused_and_later_ones_stored(
    datadir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await Store.open(datadir.database) as store:
        Failing(store, monkeypatch)
        with pytest.raises(StorageError, match="could not be read or written") as caught:
            await store.write(named("refused"))
        assert (caught.value.code, caught.value.recoverable) == ("io", True)
        await store.write(named("kept"))
        assert await names(store) == ["kept"]
    async with await Store.open(datadir.database) as store:
        assert await names(store) == ["kept"]
        assert store.lost_commits == 0


async def test_a_commit_stored_despite_an_error_is_not_reported_as_refused(
    datadir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await Store.open(datadir.database) as store:
        failing = Failing(store, monkeypatch)
        failing.kept = True
        await store.write(named("kept"))
        failing.times = 1
        with raises_code(StorageError, "result_lost"):
            await store.transact(named("kept too"))
        await store.write(named("later"))
        assert await names(store) == ["kept", "kept too", "later"]
    async with await Store.open(datadir.database) as store:
        assert store.lost_commits == 0


@pytest.mark.parametrize("kept", [True, False])
async def test_an_unknown_outcome_is_reported_as_unknown_and_determined_later(
    datadir: DataDir, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    async with await Store.open(datadir.database) as store:
        Failing(store, monkeypatch).kept = kept
        with monkeypatch.context() as patch:
            patch.setattr(database_preflight, "free_bytes", lambda path: 0)
            with pytest.raises(StorageError, match="last change may not have been saved") as unknown:
                await store.write(named("unknown"))
            assert (unknown.value.code, unknown.value.recoverable) == ("io", True)
            with raises_code(StorageError, "disk_full"):
                await store.write(named("refused"))
        await store.write(named("later"))
        assert await names(store) == (["later", "unknown"] if kept else ["later"])
    async with await Store.open(datadir.database) as store:
        assert await names(store) == (["later", "unknown"] if kept else ["later"])
        assert store.lost_commits == 0


async def test_an_engine_that_refuses_everything_after_a_failure_is_reopened(
    datadir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await Store.open(datadir.database) as store:
        failing = Failing(store, monkeypatch)
        failing.times = 10**6
        reopen = store._engine.reopen

        async def opened(**options: Any) -> None:
            failing.times = 0
            await reopen(**options)

        monkeypatch.setattr(store._engine, "reopen", opened)
        with pytest.raises(StorageError):
            await store.write(named("refused"))
        await store.write(named("kept"))
        assert await names(store) == ["kept"]


async def test_a_short_log_is_not_moved(datadir: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    async with await Store.open(datadir.database) as store:
        opened: list[int] = []
        monkeypatch.setattr(store._engine, "reopen", lambda **_options: opened.append(1))
        for number in range(3):
            await store.write(named(str(number)))
        assert opened == []


async def test_all_waiting_for_a_failed_commit_are_refused_at_once(
    datadir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await Store.open(datadir.database) as store:
        Failing(store, monkeypatch)
        results = await asyncio.gather(
            *(store.write(named(str(number))) for number in range(20)), return_exceptions=True
        )
        refused = [number for number, result in enumerate(results) if isinstance(result, StorageError)]
        assert refused
        assert await names(store) == sorted(str(number) for number in range(20) if number not in refused)


async def test_requests_wait_while_the_database_is_reopened(datadir: DataDir) -> None:
    async with await Store.open(datadir.database) as store:
        await store.write(named("before"))
        readers = [asyncio.ensure_future(names(store)) for _ in range(5)]
        again = asyncio.ensure_future(store._engine.reopen())
        await asyncio.sleep(0)
        readers += [asyncio.ensure_future(names(store)) for _ in range(5)]
        await asyncio.gather(again, store.write(named("during")))
        assert {tuple(found) for found in await asyncio.gather(*readers)} <= {("before",), ("before", "during")}
        assert await names(store) == ["before", "during"]


async def test_memory_freed_by_the_engine_returns_to_the_system(
    datadir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    trimmed: list[int] = []
    async with await Store.open(datadir.database) as store:
        monkeypatch.setattr(malloc_tuning, "trim", lambda: trimmed.append(store._engine.log_bytes()))
        await store.write(named("kept"))
        log = store._engine.log_bytes()
        await store._engine.reopen()
        assert [each < log for each in trimmed] == [True]


async def test_a_start_that_merges_the_tables_takes_no_more_memory_than_others(datadir: DataDir) -> None:
    async with await Store.open(datadir.database, fsync=False) as store:
        for _ in range(20):  # large values would be outside the tables, and what repeats is compressed
            drafts = [secrets.token_hex(1_000) for _ in range(500)]
            await store.write(
                *(upsert(storage_tables.WORKFLOWS, Workflow(name="long", draft=draft)) for draft in drafts)
            )
        size = store.size
    grown: list[int] = []
    merged = False
    while not merged:
        before = set((datadir.database / "sstables").iterdir())
        done = await asyncio.to_thread(run, "measure-opening", datadir.database)
        merged = not before <= set((datadir.database / "sstables").iterdir())
        grown.append(int(done.stdout))
        assert len(grown) <= 12, "the engine has not merged its tables"
    assert grown[-1] < size / 2, grown


async def test_a_start_whose_second_opening_fails_works_at_the_next_request(
    datadir: DataDir, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(engine_module, "MERGED_MIN_BYTES", 0)  # as if each start merged something
    connect, calls = engine_module._connect, 0

    async def second_fails(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise StorageError("The database is busy.", code="busy")
        return await connect(*args, **options)

    monkeypatch.setattr(engine_module, "_connect", second_fails)
    engine = await Engine.open(datadir.root / "database")
    try:
        assert calls == 2
        assert "The database is busy." in caplog.text
        assert await engine.results("RETURN 1", {}) == [1]
    finally:
        await engine.close()


async def test_a_failed_reopening_is_retried_at_the_next_request(
    datadir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await Store.open(datadir.database) as store:
        await store.write(named("kept"))
        with monkeypatch.context() as patch:
            patch.setattr("atelier_desk.storage.database_engine._construct", _no_files)
            for attempt in (store._engine.reopen(), names(store), store.write(named("refused"))):
                with pytest.raises(StorageError) as caught:
                    await attempt
                assert (caught.value.code, caught.value.recoverable) == ("too_many_files", True)
        assert await names(store) == ["kept"]


TIMEOUT = "There was a problem with the key-value store: The transaction timed out"
LEFT = "LOCK is already locked by another process"


@pytest.mark.parametrize(
    "failures", [[TIMEOUT], [TIMEOUT, TIMEOUT, LEFT, LEFT], [LEFT]], ids=["busy", "busy, then locked", "locked"]
)
async def test_a_busy_database_is_retried(
    datadir: DataDir, monkeypatch: pytest.MonkeyPatch, failures: list[str]
) -> None:
    """A timeout is not damage, and a failed opening releases its files after a while."""
    monkeypatch.setattr(engine_module, "BUSY_POLL_S", 0)
    real, left = engine_module._construct, list(failures)

    def construct(url: str) -> Any:
        if left:
            raise RuntimeError(left.pop(0))
        return real(url)

    async with await Store.open(datadir.database) as store:
        await store.write(named("kept"))
        monkeypatch.setattr(engine_module, "_construct", construct)
        await asyncio.gather(store._engine.reopen(), store.write(named("meanwhile")))
        assert left == []
        assert await names(store) == ["kept", "meanwhile"]
    left += [each for each in failures if each == TIMEOUT]
    async with await Store.open(datadir.database) as store:
        assert await names(store) == ["kept", "meanwhile"]


async def test_an_engine_that_is_busy_after_it_was_created_is_not_closed(
    datadir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "BUSY_POLL_S", 0)
    real, made, closed = engine_module._construct, [0], [0]

    class Busy:
        def __init__(self, url: str) -> None:
            self.real, self.times = real(url), 3

        def __getattr__(self, name: str) -> Any:
            return getattr(self.real, name)

        async def use(self, namespace: str, database: str) -> None:
            self.times -= 1
            if self.times:
                raise RuntimeError(TIMEOUT)
            await self.real.use(namespace, database)

        async def close(self) -> None:
            closed[0] += 1
            await self.real.close()

    def construct(url: str) -> Any:
        made[0] += 1
        return Busy(url)

    async with await Store.open(datadir.database) as store:
        await store.write(named("kept"))
        monkeypatch.setattr(engine_module, "_construct", construct)
        await store._engine.reopen()
        assert (made, closed) == ([1], [0])
        assert await names(store) == ["kept"]


@pytest.mark.parametrize(("failure", "code"), [(TIMEOUT, "busy"), (LEFT, "start_again")])
async def test_a_database_that_stays_busy_gives_advice_and_is_retried_at_each_request(
    datadir: DataDir, monkeypatch: pytest.MonkeyPatch, failure: str, code: str
) -> None:
    monkeypatch.setattr(engine_module, "BUSY_WAIT_S", -1)

    def construct(url: str) -> Any:
        raise RuntimeError(failure)

    async with await Store.open(datadir.database) as store:
        await store.write(named("kept"))
        with monkeypatch.context() as patch:
            patch.setattr(engine_module, "_construct", construct)
            for attempt in (store._engine.reopen(), names(store), store.write(named("refused"))):
                with raises_code(StorageError, code) as caught:
                    await attempt
                assert "damaged" not in str(caught.value)
        assert await names(store) == ["kept"]


@pytest.mark.parametrize(
    ("log", "tables", "working", "moved"),
    [
        (5, 0, False, False),
        (6, 0, False, True),
        (6, 0, True, False),
        (8, 0, True, True),
        (8, 512, True, False),
        (10, 224, False, False),
        (11, 224, False, True),
        (14, 224, True, True),
        (15, 10_000, True, False),
        (16, 10_000, True, True),
    ],
)
async def test_the_log_limit_grows_with_the_tables_and_the_log_is_moved_when_no_run_is_active(
    datadir: DataDir,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    log: int,
    tables: int,
    working: bool,
    moved: bool,
) -> None:
    """Sizes in MiB."""
    caplog.set_level("INFO")
    async with await Store.open(datadir.database) as store:
        if working:
            await store.write(
                upsert(storage_tables.RUNS, Run(workflow_id="w", agent_name="a", status=RunStatus.PROCESSING))
            )
        monkeypatch.setattr(store._engine, "log_bytes", lambda: log * 2**20)
        monkeypatch.setattr(store._engine, "size", lambda: tables * 2**20)
        opened: list[int] = []

        async def reopen(**_options: object) -> None:
            opened.append(1)

        monkeypatch.setattr(store._engine, "reopen", reopen)
        await store.write(named("one"))
        await store._writer.drain()
        assert bool(opened) is moved
        assert ("of the log into the tables" in caplog.text) is moved


def _no_files(url: str) -> Any:
    raise RuntimeError("IO error: Too many open files (os error 24)")


async def test_a_closed_engine_stays_closed(datadir: DataDir) -> None:
    engine = await Engine.open(datadir.database)
    await engine.close()
    with pytest.raises(StorageError, match="closed"):
        await engine.run("RETURN 1", {})


async def test_a_long_log_is_moved_so_that_a_killed_program_starts_quickly(
    datadir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "LOG_MAX_BYTES", 200_000)
    async with await Store.open(datadir.database) as store:
        for number in range(60):
            await store.write(upsert(storage_tables.WORKFLOWS, Workflow(name=str(number), draft="x" * 5_000)))
            assert store._engine.log_bytes() < 400_000
        assert len(await names(store)) == 60


@pytest.mark.parametrize(("at_work", "openings"), [(False, 2), (True, 1)])
async def test_the_memory_of_merged_tables_is_freed_after_a_move_unless_a_run_works(
    at_work: bool, openings: int, datadir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect, calls = engine_module._connect, 0

    async def counted(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        return await connect(*args, **options)

    async def works() -> bool:
        return at_work

    async with await Store.open(datadir.database) as store:
        for limit in ("LOG_MAX_BYTES", "LOG_CAP_BYTES"):
            monkeypatch.setattr(writer, limit, 100)
        monkeypatch.setattr(writer, "MERGED_MAX_BYTES", 0)  # as if each move merged large tables
        monkeypatch.setattr(store._writer, "_at_work", works)
        monkeypatch.setattr(engine_module, "_connect", counted)
        await store.write(named("kept"))
        await store._writer.drain()
        assert calls == openings
        assert await names(store) == ["kept"]


async def test_reading_everything_gives_back_the_memory_of_tables_merged_meanwhile(
    datadir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    resident = psutil.Process().memory_info
    async with await Store.open(datadir.database, fsync=False) as store:
        for _ in range(20):  # large values would be outside the tables, and what repeats is compressed
            drafts = [secrets.token_hex(1_000) for _ in range(500)]
            await store.write(
                *(upsert(storage_tables.WORKFLOWS, Workflow(name="long", draft=draft)) for draft in drafts)
            )
        await store.release_read_memory()
        before, grown = resident().rss, []
        for _ in range(12):  # one of them merges the tables
            await store.release_read_memory()
            grown.append(resident().rss - before)
        assert max(grown) < store.size / 2, grown


async def test_a_failed_move_of_the_log_is_retried_when_it_has_grown(
    datadir: DataDir, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sizes = iter([100, 101, 174, 175, 201, 250, 301, 0, 74, 75])
    async with await Store.open(datadir.database) as store:
        monkeypatch.setattr(writer, "LOG_MAX_BYTES", 100)
        monkeypatch.setattr(store._engine, "log_bytes", lambda: next(sizes))
        monkeypatch.setattr(store._engine, "size", lambda: 0)
        tried: list[int] = []

        async def full(**_options: object) -> None:
            tried.append(number)
            raise StorageError("No space left.", code="disk_full")

        monkeypatch.setattr(store._engine, "reopen", full)
        for number in range(10):
            await store.write(upsert(storage_tables.WORKFLOWS, Workflow(name=str(number))))
            await store._writer.drain()
        assert tried == [0, 3, 5, 9], "each time it has grown by three quarters of its limit, because no run works"
        assert caplog.text.count("could not be moved") == len(tried)
        monkeypatch.undo()
        assert len(await names(store)) == 10


async def test_a_failing_log_loses_nothing_and_restores_nothing_refused(tmp_path: Path) -> None:
    """With a real limit on file sizes, and a kill: refused data is not in the log either."""
    done = await asyncio.to_thread(run, "failing-log", tmp_path / "database")
    assert done.returncode == -signal.SIGKILL, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    acknowledged = {number for word, number, *_ in lines if word == "acknowledged"}
    refused = {number for word, number, *_ in lines if word == "file_too_large"}
    assert len(acknowledged) + len(refused) == 60
    assert len(refused) > 10
    assert all(line[2] == "True" for line in lines if line[0] == "file_too_large"), "trying again may succeed"
    async with await Store.open(tmp_path / "database") as store:
        assert set(await names(store)) == acknowledged
        assert store.lost_commits == 0


async def test_running_out_of_descriptors_is_reported_and_nothing_is_lost(tmp_path: Path) -> None:
    done = await asyncio.to_thread(run, "no-file-to-open", tmp_path / "database")
    everything = str(["before", "meanwhile 0", "meanwhile 1", "meanwhile 2"])
    assert done.stdout.splitlines() == [everything, "too_many_files True", everything], done.stderr


async def test_writes_after_a_torn_log_record_survive_the_next_kill(datadir: DataDir) -> None:
    """A full disk leaves half a record; the engine writes after it, but after a kill it would read only up to it."""
    before = int(run("fill-limited-file", datadir.database).stdout.split()[1])
    writer = start("write-until-killed", datadir.database, "fsync")
    assert writer.stdout is not None
    acknowledged = [writer.stdout.readline().strip() for _ in range(20)]
    writer.kill()
    writer.communicate(timeout=30)
    async with await Store.open(datadir.database) as store:
        assert store.lost_commits == 0
        found = await names(store)
    assert len(found) >= before + 20
    assert set(acknowledged) <= set(found)
