"""Writing behind: whoever looks finds everything, and a kill anywhere loses nothing that was acknowledged."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from atelier_desk.domain.errors import NotFoundError, StorageError
from atelier_desk.domain.events import RunEvent, UserMessage
from atelier_desk.domain.workflow import Run, Workflow
from atelier_desk.storage import batch, behind, errors, refused
from atelier_desk.storage.ahead import NAMES, AheadLog
from atelier_desk.storage.commit import Commit
from atelier_desk.storage.datadir import DataDir
from atelier_desk.storage.engine import Engine, Outcome
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.store import Store
from tests.storage.programs import start


@pytest.fixture
def repos(disk_store: Store, datadir: DataDir) -> Repositories:
    return Repositories(disk_store, datadir)


def step(number: int, *, run: str = "run", workflow: str = "w") -> Commit:
    event = RunEvent(workflow_id=workflow, run_id=run, seq=number, stream_from=number, body=UserMessage(content=f"event {number}"))
    return Commit(events=(event,), runs=(Run(id=run, workflow_id=workflow, last_seq=number),), workflow={"stream_seq": number})


def waiting(store: Store) -> int:
    assert store._behind is not None
    return len(store._behind._waiting)


def log_bytes(datadir: DataDir) -> int:
    return sum((datadir.database / name).stat().st_size for name in NAMES)


async def test_a_commit_waits_until_somebody_looks(repos: Repositories, datadir: DataDir) -> None:
    await repos.workflows.create(Workflow(id="w", name="w"), fresh=True)
    for number in range(1, 6):
        await repos.journal.commit(step(number))
    assert waiting(repos.store) == 6
    assert log_bytes(datadir) > 0
    assert [event.seq for event in await repos.journal.events("run")] == [1, 2, 3, 4, 5]
    assert waiting(repos.store) == 0
    assert log_bytes(datadir) == 0
    assert (await repos.runs.get("run")).last_seq == 5
    assert [each.stream_seq for each in await repos.workflows.list()] == [5]


async def test_many_commits_are_few_transactions(repos: Repositories, monkeypatch: pytest.MonkeyPatch) -> None:
    await repos.workflows.create(Workflow(id="w", name="w"), fresh=True)
    requests: list[str] = []
    run = Engine.run

    async def counted(self: Engine, sql: str, params: dict[str, object]) -> list[Outcome]:
        requests.append(sql)
        return await run(self, sql, params)

    monkeypatch.setattr(Engine, "run", counted)
    for number in range(1, 31):
        await repos.journal.commit(step(number))
    assert requests == []
    await repos.store.drain()
    assert len(requests) == 1


async def test_a_write_finds_what_was_kept_before_it(repos: Repositories) -> None:
    await repos.workflows.create(Workflow(id="w", name="w"), fresh=True)
    await repos.journal.commit(step(1))
    assert (await repos.workflows.purge("w"))["run_event"] == 1
    with pytest.raises(NotFoundError):
        await repos.journal.commit(step(2))
    assert await repos.store.query("SELECT * FROM run_event") == []


async def test_what_the_database_may_refuse_is_asked_at_once(repos: Repositories) -> None:
    with pytest.raises(NotFoundError):
        await repos.journal.commit(step(1, workflow="never-there"))
    await repos.workflows.create(Workflow(id="w", name="w"), fresh=True)
    await repos.journal.commit(step(1))
    with pytest.raises(StorageError):
        await repos.journal.commit(step(1))
    await repos.journal.commit(step(2))
    assert [event.seq for event in await repos.journal.events("run")] == [1, 2]


async def test_what_waits_after_a_kill_is_there_at_the_next_opening(repos: Repositories, datadir: DataDir, tmp_path: Path) -> None:
    await repos.workflows.create(Workflow(id="w", name="w"), fresh=True)
    for number in range(1, 4):
        await repos.journal.commit(step(number))
    await repos.journal.save_partial("run", "w", "m", "half a", "thinking")
    assert waiting(repos.store) == 5
    killed = DataDir(tmp_path / "killed").ensure()
    shutil.copytree(datadir.database, killed.database, dirs_exist_ok=True)
    (killed.database / "LOCK").unlink(missing_ok=True)
    for _ in range(2):
        async with await Store.open(killed.database) as store:
            found = Repositories(store, killed)
            assert [event.seq for event in await found.journal.events("run")] == [1, 2, 3]
            assert (await found.workflows.get("w")).stream_seq == 3
            partial = await found.journal.partial("run")
            assert partial is not None
            assert partial["content"] == "half a"
            await found.journal.commit(Commit(events=step(4).events))
            assert len(await found.journal.events("run")) == 4
            await store.transact(behind.Statement("DELETE run_event WHERE seq = 4", {}))


@pytest.mark.parametrize("fsync", ["fsync", "no-fsync"])
@pytest.mark.parametrize("point", ["never", "half-a-record", "before-the-tables", "after-the-tables"])
async def test_no_kill_loses_an_acknowledged_event_or_parts_rows_from_events(datadir: DataDir, fsync: str, point: str) -> None:
    program = start("keep-until-killed", datadir.root, fsync, point)
    assert program.stdout is not None
    acknowledged = [int(line) for _ in range(60) if (line := program.stdout.readline()).strip()]
    program.kill()
    rest, _ = program.communicate(timeout=30)
    acknowledged += [int(line) for line in rest.split() if line.strip().isdigit()]
    async with await Store.open(datadir.database) as store:
        repos = Repositories(store, datadir)
        events = [event.seq for event in await repos.journal.events("run")]
        last = events[-1]
        assert acknowledged[-1] <= last
        assert events == list(range(1, last + 1))
        assert (await repos.runs.get("run")).last_seq == last
        assert (await repos.workflows.get("kept")).stream_seq == last
        assert len(await repos.messages.page("kept", limit=1000)) == min(last, 1000)
        assert log_bytes(datadir) == 0
        assert store.lost_commits == 0


async def test_a_database_that_fails_keeps_the_log_and_says_so(repos: Repositories, monkeypatch: pytest.MonkeyPatch) -> None:
    await repos.workflows.create(Workflow(id="w", name="w"), fresh=True)
    await repos.journal.commit(step(1))

    async def full(self: Engine, sql: str, params: dict[str, object]) -> list[Outcome]:
        raise errors.from_text("No space left on device (os error 28)", self.path)

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "run", full)
        with pytest.raises(StorageError) as caught:
            await repos.journal.events("run")
        assert caught.value.code == "disk_full"
        await repos.journal.commit(step(2))
    assert [event.seq for event in await repos.journal.events("run")] == [1, 2]


async def test_one_commit_that_cannot_be_written_lets_the_others_in(repos: Repositories, caplog: pytest.LogCaptureFixture) -> None:
    await repos.workflows.create(Workflow(id="w", name="w"), fresh=True)
    await repos.journal.commit(step(1))
    await repos.store.drain()
    repos.store.known._runs.clear()  # as after a mistake of ours: the number is taken, and nobody remembers
    refusable = step(1)
    await repos.journal.commit(refusable)
    await repos.journal.commit(step(1, run="other"))
    assert [event.seq for event in await repos.journal.events("other")] == [1]
    assert "was refused and set aside" in caplog.text
    assert repos.store.refused_commits() == 1
    line = json.loads((repos.datadir.database / refused.FILE).read_text())
    assert batch.load(line["commit"].encode()) == refusable


async def test_a_commit_of_a_workflow_that_is_gone_is_not_missed(repos: Repositories, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "atelier_desk")
    await repos.workflows.create(Workflow(id="w", name="w"), fresh=True)
    await repos.store.drain()
    for _ in range(2):
        await repos.journal.commit(step(1))
        repos.store.known._runs.clear()  # the same number twice makes the commits go one by one
    await repos.store._engine.run("DELETE workflow:w", {})
    await repos.store.drain()
    assert "deleted" in caplog.text
    assert repos.store.refused_commits() == 0


async def test_a_record_that_cannot_be_read_lets_the_others_in(datadir: DataDir, tmp_path: Path) -> None:
    killed = DataDir(tmp_path / "killed").ensure()
    async with await Store.open(datadir.database) as store:
        repos = Repositories(store, datadir)
        await repos.workflows.create(Workflow(id="w", name="w"), fresh=True)
        await store.drain()
        await repos.journal.commit(step(1))
        shutil.copytree(datadir.database, killed.database, dirs_exist_ok=True)
    (killed.database / "LOCK").unlink(missing_ok=True)
    log = AheadLog(killed.database, fsync=True)
    log.read(1)
    log.append(b'{"events": [{"of": "another version"}]}')
    log.append(batch.dump(step(1, run="other")) or b"")
    log.close()
    async with await Store.open(killed.database) as store:
        found = Repositories(store, killed)
        assert [event.seq for run in ("run", "other") for event in await found.journal.events(run)] == [1, 1]
        assert store.refused_commits() == 1


async def test_a_refused_commit_that_cannot_be_set_aside_stays_in_the_log(repos: Repositories, monkeypatch: pytest.MonkeyPatch) -> None:
    await repos.workflows.create(Workflow(id="w", name="w"), fresh=True)
    await repos.journal.commit(step(1))
    await repos.store.drain()
    repos.store.known._runs.clear()
    await repos.journal.commit(step(1))

    def full(*_: object) -> None:
        raise errors.from_text("No space left on device (os error 28)", repos.datadir.database)

    with monkeypatch.context() as patch:
        patch.setattr(refused, "keep", full)
        with pytest.raises(StorageError):
            await repos.store.drain()
        assert waiting(repos.store) == 1
    await repos.store.drain()
    assert repos.store.refused_commits() == 1


async def test_writes_that_are_held_back_go_directly(repos: Repositories, datadir: DataDir) -> None:
    await repos.workflows.create(Workflow(id="w", name="w"), fresh=True)
    async with repos.store.quiet():
        assert log_bytes(datadir) == 0
        assert not await repos.store.keep(step(1), lambda: None)
        assert (await repos.store.counts())["workflow"] == 1
    assert await repos.store.keep(step(1), lambda: None)


async def test_commits_missing_from_a_synced_log_are_damage(datadir: DataDir) -> None:
    async with await Store.open(datadir.database) as store:
        repos = Repositories(store, datadir)
        await repos.workflows.create(Workflow(id="w", name="w"), fresh=True)
        await repos.journal.commit(step(1))
        await repos.journal.commit(step(2))
        kept = (datadir.database / NAMES[0]).read_bytes()
    first = 16 + int.from_bytes(kept[:4], "little")
    second = first + 16 + int.from_bytes(kept[first : first + 4], "little")
    # As if the database had lost what the log no longer has: number 4 follows 3 in no file.
    beyond = bytearray(kept[second:])
    (datadir.database / NAMES[0]).write_bytes(_renumbered(bytes(beyond), 9))
    with pytest.raises(StorageError) as caught:
        await Store.open(datadir.database)
    assert caught.value.code == "damaged"
    async with await Store.open(datadir.database, accept_loss=True) as store:
        assert await store.query("SELECT VALUE seq FROM run_event ORDER BY seq") == [1, 2]


def _renumbered(record: bytes, number: int) -> bytes:
    from atelier_desk.storage.ahead import _HEAD, _check

    content = record[_HEAD.size :]
    return _HEAD.pack(len(content), _check(number, content), number) + content
