"""The history index follows the database, through commits and after changes without a notice."""

from __future__ import annotations

import asyncio
import shutil
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.memory import Memory, MemoryType
from atelier_desk.domain.workflow import Message, MessageRole, Report, Run, Workflow
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.repositories import Repositories, history_search_and_usage
from atelier_desk.storage.search.full_text_index import SearchIndex
from atelier_desk.storage.search.index_changes import Change
from atelier_desk.storage.store import Store
from atelier_desk.storage.writing.journal_commit import Commit
from tests.helpers.error_codes import raises_code
from tests.helpers.manual_clock import ManualClock

pytestmark = pytest.mark.usefixtures("copied_databases")


async def say(repos: Repositories, workflow_id: str, text: str, seq: int = 1) -> str:
    run = Run(workflow_id=workflow_id)
    message = Message(workflow_id=workflow_id, run_id=run.id, seq=seq, role=MessageRole.USER, content=text)
    await repos.journal.commit(Commit(runs=(run,), messages=(message,), workflow={"stream_seq": seq}))
    return message.id


async def found(repos: Repositories, query: str) -> list[str]:
    return sorted(hit.kind for hit in await repos.history.search(query))


async def filled(repos: Repositories) -> str:
    workflow = await repos.workflows.create(Workflow(name="a"))
    await say(repos, workflow.id, "zebra said")
    await repos.memories.save(Memory(type=MemoryType.DECISION, content="zebra remembered", workflow_id=workflow.id))
    await repos.reports.save(Report(workflow_id=workflow.id, name="Plan"), "zebra written")
    return workflow.id


ALL = ["memory", "message", "report"]


async def test_after_a_clean_exit_nothing_is_read_again(datadir: DataDir, clock: ManualClock) -> None:
    async with await Store.open(datadir.database, clock=clock, fsync=False) as store:
        repos = Repositories(store, datadir)
        await filled(repos)
        assert await found(repos, "zebra") == ALL
    async with await Store.open(datadir.database, clock=clock, fsync=False) as store:
        repos = Repositories(store, datadir)
        read: list[str] = []
        query = store.query

        async def noted(sql: str, /, **params: object) -> list[object]:
            read.append(sql)
            return await query(sql, **params)

        store.query = noted  # type: ignore[method-assign]
        assert await found(repos, "zebra") == ALL
        assert not any("FROM workflow" in sql for sql in read)


async def test_the_index_of_a_cancelled_search_is_used_by_one_thread_at_a_time(
    datadir: DataDir, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each key pressed in the window cancels the search before."""
    lock, met = threading.Lock(), 0
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()
    apply = SearchIndex.apply

    def slow(index: SearchIndex, changes: Sequence[Change], state: dict[str, str] | None = None) -> None:
        nonlocal met
        alone = lock.acquire(blocking=False)
        met += not alone
        loop.call_soon_threadsafe(begun.set)
        time.sleep(0.05)
        if alone:
            apply(index, changes, state)
            lock.release()

    async with await Store.open(datadir.database, clock=clock, fsync=False) as store:
        await filled(Repositories(store, datadir))
    datadir.history_index.unlink(missing_ok=True)
    async with await Store.open(datadir.database, clock=clock, fsync=False) as store:
        repos = Repositories(store, datadir)
        monkeypatch.setattr(SearchIndex, "apply", slow)
        first = asyncio.ensure_future(repos.history.search("zeb"))
        await begun.wait()
        first.cancel()
        assert await found(repos, "zebra") == ALL
        assert first.cancelled()
    assert not met


async def test_a_deleted_or_damaged_file_is_rebuilt_from_the_database(datadir: DataDir, clock: ManualClock) -> None:
    for damage in (lambda path: path.unlink(), lambda path: path.write_bytes(b"x" * 9_000), lambda path: None):
        async with await Store.open(datadir.database, clock=clock, fsync=False) as store:
            repos = Repositories(store, datadir)
            count = len(await repos.history.search("zebra"))
            await filled(repos)
            assert len(await repos.history.search("zebra")) == count + 3
        for end in ("-wal", "-shm"):
            Path(f"{datadir.history_index}{end}").unlink(missing_ok=True)
        damage(datadir.history_index)


async def test_reading_all_into_the_index_gives_memory_back_on_the_way_and_at_the_end(
    datadir: DataDir, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await Store.open(datadir.database, clock=clock, fsync=False) as store:
        repos = Repositories(store, datadir)
        for _ in range(4):
            await filled(repos)
    datadir.history_index.unlink()
    async with await Store.open(datadir.database, clock=clock, fsync=False) as store:
        repos, given_back = Repositories(store, datadir), []

        async def release() -> None:
            given_back.append(repos.history.reading)

        monkeypatch.setattr(store, "release_read_memory", release)
        monkeypatch.setattr(history_search_and_usage, "READ_BYTES", store.size * 2 // 3)
        assert len(await found(repos, "zebra")) == 12
        assert given_back == [(1, 4), (3, 4)]


async def test_an_outdated_index_reads_what_it_lacks(datadir: DataDir, clock: ManualClock, tmp_path: Path) -> None:
    """After a kill the database is newer than the index; after a restore it is older."""
    older = tmp_path / "older.sqlite3"
    async with await Store.open(datadir.database, clock=clock, fsync=False) as store:
        repos = Repositories(store, datadir)
        first = await filled(repos)
        second = await repos.workflows.create(Workflow(name="b"))
        gone = await repos.memories.save(Memory(type=MemoryType.DECISION, content="zebra forgotten"))
        assert await found(repos, "zebra") == ["memory", *ALL]
    shutil.copy(datadir.history_index, older)
    async with await Store.open(datadir.database, clock=clock, fsync=False) as store:
        repos = Repositories(store, datadir)
        await repos.workflows.purge(first)
        await say(repos, second.id, "a new zebra")
        await repos.memories.delete(gone.id)
        await repos.memories.save(Memory(type=MemoryType.DECISION, content="another zebra"))
        assert await found(repos, "zebra") == ["memory", "message"]
    shutil.copy(older, datadir.history_index)
    async with await Store.open(datadir.database, clock=clock, fsync=False) as store:
        repos = Repositories(store, datadir)
        assert await found(repos, "zebra") == ["memory", "message"]
        assert await found(repos, "forgotten") == []
        assert await found(repos, "new") == ["message"]


async def test_a_workflow_continued_before_the_index_is_read_is_indexed_completely(
    datadir: DataDir, clock: ManualClock, tmp_path: Path
) -> None:
    """As when a killed run is resumed at once: its last message before the kill was in no search, and its cost in
    no total.
    """
    older = tmp_path / "older.sqlite3"
    async with await Store.open(datadir.database, clock=clock, fsync=False) as store:
        repos = Repositories(store, datadir)
        workflow = await filled(repos)
        assert await found(repos, "zebra") == ALL
    shutil.copy(datadir.history_index, older)
    async with await Store.open(datadir.database, clock=clock, fsync=False) as store:
        await say(Repositories(store, datadir), workflow, "an okapi", 2)
    shutil.copy(older, datadir.history_index)
    async with await Store.open(datadir.database, clock=clock, fsync=False) as store:
        repos = Repositories(store, datadir)
        await say(repos, workflow, "a quagga", 3)
        await repos.history._index_changes()
        assert await found(repos, "okapi") == ["message"]
        assert await found(repos, "quagga") == ["message"]


async def test_rows_committed_before_the_first_search_are_not_remembered(datadir: DataDir, clock: ManualClock) -> None:
    """A program that runs for weeks without a search would remember millions."""
    async with await Store.open(datadir.database, clock=clock, fsync=False) as store:
        repos = Repositories(store, datadir)
        workflow_id = await filled(repos)
        for seq in range(2, 6):
            await say(repos, workflow_id, "zebra again", seq)
        assert not repos.history._changed
        assert await found(repos, "zebra") == sorted([*ALL, *["message"] * 4])


async def test_the_index_of_another_database_is_not_used(datadir: DataDir, clock: ManualClock, tmp_path: Path) -> None:
    async with await Store.open(datadir.database, clock=clock, fsync=False) as store:
        repos = Repositories(store, datadir)
        await filled(repos)
        assert await found(repos, "zebra") == ALL
    other = DataDir(tmp_path / "other").ensure()
    shutil.copy(datadir.history_index, other.history_index)
    await clock.advance(1)
    async with await Store.open(other.database, clock=clock, fsync=False) as store:
        assert await found(Repositories(store, other), "zebra") == []


async def test_an_undone_message_is_not_found(repos: Repositories, workflow: Workflow) -> None:
    message = await say(repos, workflow.id, "zebra")
    assert await found(repos, "zebra") == ["message"]
    run = Run(workflow_id=workflow.id)
    await repos.journal.commit(Commit(runs=(run,), deleted_messages=(message,)))
    assert await found(repos, "zebra") == []


async def test_the_words_of_a_deleted_branch_leave_the_index(repos: Repositories, workflow: Workflow) -> None:
    run = Run(workflow_id=workflow.id)
    message = Message(workflow_id=workflow.id, run_id=run.id, seq=1, role=MessageRole.USER, content="zebra")
    await repos.journal.commit(Commit(runs=(run,), messages=(message,)))
    assert await found(repos, "zebra") == ["message"]
    await repos.runs.purge([run.id])
    assert await found(repos, "zebra") == []
    assert repos.history._index is not None
    assert repos.history._index.find("zebra", 5) == []


async def test_text_of_a_refused_transaction_is_not_found(repos: Repositories, workflow: Workflow) -> None:
    run = Run(workflow_id="f" * 32)
    message = Message(workflow_id=run.workflow_id, run_id=run.id, seq=1, role=MessageRole.USER, content="zebra")
    try:
        await repos.journal.commit(Commit(runs=(run,), messages=(message,)))
    except Exception:
        assert await found(repos, "zebra") == []
    else:
        raise AssertionError("a commit to a workflow that does not exist")


async def test_hits_in_the_bin_do_not_displace_others(repos: Repositories, workflow: Workflow) -> None:
    gone = await repos.workflows.create(Workflow(name="gone"))
    await say(repos, workflow.id, "zebra")
    for seq in range(1, 30):
        await say(repos, gone.id, "zebra", seq)
    await repos.workflows.soft_delete(gone.id)
    assert [hit.workflow_id for hit in await repos.history.search("zebra", 3)] == [workflow.id]


async def test_no_index_is_created_in_what_replaced_a_moved_folder(
    datadir: DataDir, clock: ManualClock, tmp_path: Path
) -> None:
    store = await Store.open(datadir.database, clock=clock, fsync=False)
    repos = Repositories(store, datadir)
    datadir.root.rename(tmp_path / "aside")
    datadir.root.mkdir()
    with raises_code(StorageError, "moved"):
        await repos.history.search("zebra")
    assert list(datadir.root.iterdir()) == []
    with pytest.raises(StorageError):
        await store.close()


async def test_commits_close_together_are_one_index_write_and_a_search_does_not_wait(
    datadir: DataDir, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even with an hour to collect commits, neither a search nor closing the store takes longer."""
    monkeypatch.setattr(history_search_and_usage, "GATHER_S", 3600)
    written: list[int] = []
    apply = SearchIndex.apply

    def noted(index: SearchIndex, changes: Sequence[Change], state: dict[str, str] | None = None) -> None:
        written.extend([len(changes)] if changes else [])
        apply(index, changes, state)

    async with await Store.open(datadir.database, clock=clock, fsync=False) as store:
        repos = Repositories(store, datadir)
        workflow = await repos.workflows.create(Workflow(name="a"))
        await found(repos, "zebra")
        monkeypatch.setattr(SearchIndex, "apply", noted)
        for seq in range(1, 6):
            await say(repos, workflow.id, "a zebra", seq)
        assert await found(repos, "zebra") == ["message"] * 5
        assert written == [15]
        await say(repos, workflow.id, "one more zebra", 6)
    assert written == [15, 3]


async def test_what_is_deleted_leaves_the_index_soon(
    datadir: DataDir, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_search_and_usage, "GATHER_S", 3600)
    monkeypatch.setattr(history_search_and_usage, "GATHER_REMOVED_S", 0)
    async with await Store.open(datadir.database, clock=clock, fsync=False) as store:
        repos = Repositories(store, datadir)
        workflow = await repos.workflows.create(Workflow(name="a"))
        await say(repos, workflow.id, "zebra said")
        assert await found(repos, "zebra") == ["message"]
        await repos.workflows.purge(workflow.id)
        assert repos.history._worker is not None
        async with asyncio.timeout(20):
            await repos.history._worker


async def test_an_index_that_could_not_be_written_during_a_catch_up_is_not_current(
    datadir: DataDir, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await Store.open(datadir.database, clock=clock, fsync=False) as store:
        repos = Repositories(store, datadir)
        workflow = await repos.workflows.create(Workflow(name="a"))
        await say(repos, workflow.id, "zebra said")
        index, read_again, apply = repos.history, repos.history._read_again, SearchIndex.apply
        failing = False

        def full(search: SearchIndex, changes: Sequence[Change], state: dict[str, str] | None = None) -> None:
            if failing:
                raise StorageError("full")
            apply(search, changes, state)

        async def meanwhile() -> None:
            nonlocal failing
            await read_again()
            await say(repos, workflow.id, "a heron", 2)
            failing = True
            await index._index_changes()
            failing = False
            monkeypatch.setattr(index, "_read_again", read_again)

        monkeypatch.setattr(SearchIndex, "apply", full)
        monkeypatch.setattr(index, "_read_again", meanwhile)
        await found(repos, "heron")
        assert await found(repos, "heron") == ["message"]


async def test_many_changes_are_indexed_without_waiting_for_more(
    datadir: DataDir, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits for the index is bounded, however much is committed; and the next changes are gathered again."""
    monkeypatch.setattr(history_search_and_usage, "GATHER_S", 3600)
    monkeypatch.setattr(history_search_and_usage, "GATHER_MAX", 6)
    written: list[int] = []
    wrote = asyncio.Event()
    loop = asyncio.get_running_loop()
    apply = SearchIndex.apply

    def noted(index: SearchIndex, changes: Sequence[Change], state: dict[str, str] | None = None) -> None:
        apply(index, changes, state)
        if changes:
            written.append(len(changes))
            loop.call_soon_threadsafe(wrote.set)

    async with await Store.open(datadir.database, clock=clock, fsync=False) as store:
        repos = Repositories(store, datadir)
        workflow = await repos.workflows.create(Workflow(name="a"))
        await found(repos, "zebra")
        monkeypatch.setattr(SearchIndex, "apply", noted)
        for seq in (1, 2):
            await say(repos, workflow.id, "a zebra", seq)
        await asyncio.wait_for(wrote.wait(), 10)
        assert written == [6]
        await say(repos, workflow.id, "a zebra", 3)
        assert written == [6]
        assert await found(repos, "zebra") == ["message"] * 3
    assert written == [6, 3]


async def test_a_search_does_not_wait_for_what_is_committed_after_it_began(
    datadir: DataDir, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_search_and_usage, "GATHER_S", 3600)
    applying = asyncio.Event()
    loop = asyncio.get_running_loop()
    may_end = threading.Event()
    apply = SearchIndex.apply

    def held_up(index: SearchIndex, changes: Sequence[Change], state: dict[str, str] | None = None) -> None:
        if changes and not may_end.is_set():
            loop.call_soon_threadsafe(applying.set)
            may_end.wait(10)
        apply(index, changes, state)

    async with await Store.open(datadir.database, clock=clock, fsync=False) as store:
        repos = Repositories(store, datadir)
        workflow = await repos.workflows.create(Workflow(name="a"))
        await found(repos, "zebra")
        monkeypatch.setattr(SearchIndex, "apply", held_up)
        await say(repos, workflow.id, "a zebra", 1)
        first = asyncio.create_task(found(repos, "zebra"))
        await applying.wait()
        await say(repos, workflow.id, "a zebra", 2)
        second = asyncio.create_task(found(repos, "zebra"))
        may_end.set()
        assert (await asyncio.wait_for(first, 10))[:1] == ["message"]
        assert await asyncio.wait_for(second, 10) == ["message"] * 2
        await say(repos, workflow.id, "a zebra", 3)
        assert await asyncio.wait_for(found(repos, "zebra"), 10) == ["message"] * 3


async def test_commits_during_an_index_write_are_gathered_too(
    datadir: DataDir, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_search_and_usage, "GATHER_S", 0.01)
    written: list[int] = []
    began, may_end = threading.Event(), threading.Event()
    apply = SearchIndex.apply

    def noted(index: SearchIndex, changes: Sequence[Change], state: dict[str, str] | None = None) -> None:
        written.extend([len(changes)] if changes else [])
        if changes and not began.is_set():
            began.set()
            may_end.wait(10)
        apply(index, changes, state)

    async with await Store.open(datadir.database, clock=clock, fsync=False) as store:
        repos = Repositories(store, datadir)
        workflow = await repos.workflows.create(Workflow(name="a"))
        await found(repos, "zebra")
        monkeypatch.setattr(SearchIndex, "apply", noted)
        await say(repos, workflow.id, "a zebra", 1)
        await asyncio.to_thread(began.wait, 10)
        monkeypatch.setattr(history_search_and_usage, "GATHER_S", 3600)
        await say(repos, workflow.id, "a zebra", 2)
        may_end.set()
        await repos.history._in_turn(lambda _index: None)
        await say(repos, workflow.id, "a zebra", 3)
        assert await found(repos, "zebra") == ["message"] * 3
    assert written == [3, 6]
