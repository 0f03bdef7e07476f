"""Cleaning with the database's memory of it: unknown data stays 30 days, across restores; the journal records what
is gone.
"""

from __future__ import annotations

import errno
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from atelier_desk.domain.file_change import Change
from atelier_desk.engine import Atelier
from atelier_desk.engine.maintenance.housekeeping import once_a_day
from atelier_desk.engine.services.data_folder_and_backups import restore_backup
from atelier_desk.workspace.checkpoints.undoable_file_operations import Author
from atelier_desk.workspace.path_resolution import place
from tests.engine.conftest import Opener, create_workflow
from tests.helpers.manual_clock import ManualClock
from tests.helpers.tool_calls import tool_call

DAY = 24 * 3600.0
TODAY = datetime(2026, 11, 23, 12, tzinfo=UTC)


def delete_folder(atelier: Atelier, ws: Path, workflow_id: str, name: str) -> Change:
    (ws / name).mkdir()
    (ws / name / "file").write_text(f"the only copy in {name}")
    return atelier.workspace_files.delete(Author(workflow_id, "run"), place(name, (ws,)))


async def undo_all(atelier: Atelier, workflow_id: str) -> list[str]:
    ids = [change.id for change in await atelier.files.list(workflow_id) if change.undoable]
    return [str(each.problem) for each in await atelier.files.undo(workflow_id, ids) if each.problem]


async def backups(open_atelier: Opener, ws: Path, tmp_path: Path) -> tuple[Path, Path, str]:
    """An older backup, and a newer one with one more workflow, whose id is returned; that one deleted a folder."""
    old, new = tmp_path / "old.zip", tmp_path / "new.zip"
    async with open_atelier(clock=ManualClock(TODAY)) as atelier:
        delete_folder(atelier, ws, await create_workflow(atelier), "first")
        await atelier.files.cleaning.clean(asked=False)
        await atelier.data.backup_create(old)
        newer = await create_workflow(atelier)
        delete_folder(atelier, ws, newer, "second")
        await atelier.files.cleaning.clean(asked=False)
        await atelier.data.backup_create(new)
    return old, new, newer


@pytest.mark.parametrize("days", [0, 29])
async def test_restoring_an_older_backup_and_then_the_newer_one_loses_nothing(
    open_atelier: Opener, ws: Path, tmp_path: Path, days: int
) -> None:
    old, new, newer = await backups(open_atelier, ws, tmp_path)
    await restore_backup(old, tmp_path / "data")
    for day in (0, days):
        async with open_atelier(clock=ManualClock(TODAY + timedelta(days=day))) as atelier:
            await atelier.files.cleaning.clean(asked=bool(day))
            (leftover,) = await atelier.files.cleaning.leftovers()
            assert (leftover.key, leftover.kind, leftover.changes) == (newer, "unknown", 1)
            assert leftover.size > len("the only copy in second")
            assert leftover.until == TODAY + timedelta(days=30)
    await restore_backup(new, tmp_path / "data")
    async with open_atelier(clock=ManualClock(TODAY + timedelta(days=days))) as atelier:
        await atelier.files.cleaning.clean(asked=False)
        assert await atelier.files.cleaning.leftovers() == []
        assert await undo_all(atelier, newer) == []
        assert (ws / "second/file").read_text() == "the only copy in second"


async def test_unknown_data_is_deleted_after_thirty_days(open_atelier: Opener, ws: Path, tmp_path: Path) -> None:
    old, _new, newer = await backups(open_atelier, ws, tmp_path)
    await restore_backup(old, tmp_path / "data")
    clock = ManualClock(TODAY)
    async with open_atelier(clock=clock) as atelier:
        await atelier.files.cleaning.clean(asked=False)
        await clock.advance(30 * DAY)
        await atelier.files.cleaning.clean(asked=False)
        assert await atelier.files.cleaning.leftovers() == []
        assert atelier.workspace_files.store.of(newer) == []
        assert not list((tmp_path / "data/checkpoints/trash").glob("*/content/file")) or not (ws / "second").exists()


async def test_days_counted_by_an_older_backup_do_not_count_after_its_restore(
    open_atelier: Opener, ws: Path, tmp_path: Path
) -> None:
    """It started to miss the newer workflow long ago; since then the newer database was in its place."""
    old, new, newer = await backups(open_atelier, ws, tmp_path)
    counted = tmp_path / "counted.zip"
    await restore_backup(old, tmp_path / "data")
    async with open_atelier(clock=ManualClock(TODAY)) as atelier:
        await atelier.files.cleaning.clean(asked=False)
        await atelier.data.backup_create(counted)
    await restore_backup(new, tmp_path / "data")
    later = TODAY + timedelta(days=100)
    async with open_atelier(clock=ManualClock(later)) as atelier:
        delete_folder(atelier, ws, newer, "third")
        await atelier.files.cleaning.clean(asked=False)
    await restore_backup(counted, tmp_path / "data")
    async with open_atelier(clock=ManualClock(later)) as atelier:
        await atelier.files.cleaning.clean(asked=True)
        (leftover,) = await atelier.files.cleaning.leftovers()
        assert leftover.until == later + timedelta(days=30)
    await restore_backup(new, tmp_path / "data")
    async with open_atelier(clock=ManualClock(later)) as atelier:
        assert await undo_all(atelier, newer) == []
        assert (ws / "third/file").read_text() == "the only copy in third"


async def test_a_restored_database_deletes_nothing_automatically(
    open_atelier: Opener, ws: Path, tmp_path: Path
) -> None:
    """Its settings may be old: a person who restores the wrong backup loses nothing by opening it."""
    old, new = tmp_path / "old.zip", tmp_path / "new.zip"
    async with open_atelier(clock=ManualClock(TODAY)) as atelier:
        mine = await create_workflow(atelier)
        await atelier.settings.update(checkpoint_days=1)
        await atelier.data.backup_create(old)
        await atelier.settings.update(checkpoint_days=0)
        delete_folder(atelier, ws, mine, "folder")
        await atelier.files.cleaning.clean(asked=False)
        await atelier.data.backup_create(new)
    await restore_backup(old, tmp_path / "data")
    clock = ManualClock(TODAY + timedelta(days=10))
    async with open_atelier(clock=clock) as atelier:
        assert (await atelier.files.cleaning.clean(asked=False)).given_up == 0
        assert (await atelier.files.undo_storage()).changes == 1
        assert (await atelier.files.cleaning.clean(asked=False)).given_up == 1, (
            "from the second time on its settings hold"
        )


async def test_a_wrong_clock_expires_nothing(open_atelier: Opener, ws: Path) -> None:
    async with open_atelier(clock=ManualClock(TODAY + timedelta(days=900))) as atelier:
        delete_folder(atelier, ws, "gone", "folder")
        await atelier.files.cleaning.clean(asked=False)
    async with open_atelier(clock=ManualClock(TODAY)) as atelier:
        await atelier.files.cleaning.clean(asked=False)
        (leftover,) = await atelier.files.cleaning.leftovers()
        assert leftover.until == TODAY + timedelta(days=30)


async def test_a_person_deletes_unknown_data(ws: Path, tmp_path: Path, atelier: Atelier) -> None:
    change = delete_folder(atelier, ws, "gone", "folder")
    (leftover,) = await atelier.files.cleaning.leftovers()
    assert await atelier.files.cleaning.delete([leftover.key]) >= len("the only copy in folder")
    assert await atelier.files.cleaning.leftovers() == []
    assert not atelier.workspace_files.store.trash(change.id).exists()


async def test_a_listing_that_finds_an_unreadable_record_notifies_the_pane(ws: Path, atelier: Atelier) -> None:
    mine = await create_workflow(atelier)
    change = delete_folder(atelier, ws, mine, "folder")
    await atelier.files.cleaning.clean(asked=False)
    assert await atelier.files.cleaning.leftovers(again=False) == []
    atelier.workspace_files.store.record(change).write_bytes(b"{")
    assert await atelier.files.list(mine) == []
    assert [each.kind for each in await atelier.files.cleaning.leftovers(again=False)] == ["unreadable"]


def writes(ws: Path) -> list[object]:
    call = tool_call("write_file", "c1", path="a.txt", content="new")
    again = tool_call("write_file", "c2", path="b.txt", content="new")
    return [[call, again], "done", [call], "done"]


async def test_the_journal_records_what_can_no_longer_be_undone(open_atelier: Opener, ws: Path, tmp_path: Path) -> None:
    async with open_atelier(writes(ws)) as atelier:
        await atelier.settings.set("approvals.flags.file_ops", False)
        mine = await atelier.workflows.create(workspace=(str(ws),))
        async for _event in atelier.run("go", workflow_id=mine.id):
            pass
        assert (ws / "b.txt").read_text() == "new"
        async for _event in atelier.run("again", workflow_id=mine.id):
            pass  # it wrote a.txt unchanged
        assert await atelier.files.lost() == await atelier.files.lost(mine.id) == 0
        copy = await atelier.workflows.duplicate(mine.id)
        assert await atelier.files.lost(copy.id) == 0, "what came along was never undone there"
        shutil.rmtree(tmp_path / "data/checkpoints")
        assert await atelier.files.lost() == await atelier.files.lost(mine.id) == 2
        assert await atelier.files.list(mine.id) == []


async def test_cleaning_runs_once_a_day_after_a_command(open_atelier: Opener, ws: Path) -> None:
    clock = ManualClock(TODAY)
    async with open_atelier(clock=clock) as atelier:
        mine = await create_workflow(atelier)
        await atelier.settings.update(checkpoint_days=1)
        await once_a_day(atelier, started=True)
        delete_folder(atelier, ws, mine, "first")
        atelier.workspace_files.now = lambda: TODAY
        await clock.advance(23 * 3600)
        await once_a_day(atelier, started=True)
        assert (await atelier.files.undo_storage()).changes == 1
        await clock.advance(26 * 3600)
        await once_a_day(atelier, started=False)
        assert (await atelier.files.undo_storage()).changes == 0


async def test_cleaning_after_a_command_stops_at_its_time_limit(open_atelier: Opener, ws: Path) -> None:
    clock = ManualClock(TODAY)
    async with open_atelier(clock=clock) as atelier:
        delete_folder(atelier, ws, await create_workflow(atelier), "first")
        await clock.advance(400 * DAY)
        await once_a_day(atelier, started=True, most_s=0.0)
        state = await atelier.repos.housekeeping.load()
        assert state.cleaned_at == clock.now(), "it is not tried again with each command"
        assert (await atelier.files.undo_storage()).changes <= 1


async def test_permanently_deleting_a_workflow_deletes_its_undo_data(ws: Path, atelier: Atelier) -> None:
    mine, other = await create_workflow(atelier), await create_workflow(atelier)
    gone, stays = delete_folder(atelier, ws, mine, "first"), delete_folder(atelier, ws, other, "second")
    await atelier.workflows.purge(mine)
    assert not atelier.workspace_files.store.trash(gone.id).exists()
    assert await atelier.files.cleaning.leftovers() == []
    assert atelier.workspace_files.store.of(other) == [stays]


async def test_emptying_the_bin_automatically_does_not(open_atelier: Opener, ws: Path) -> None:
    """The database may be an old backup: in the newer one the workflow may be restored from the bin."""
    clock = ManualClock(TODAY)
    async with open_atelier(clock=clock) as atelier:
        mine = await create_workflow(atelier)
        change = delete_folder(atelier, ws, mine, "first")
        await atelier.workflows.delete(mine)
        await clock.advance(400 * DAY)
        await atelier.workflows.purge_expired()
        await atelier.files.cleaning.clean(asked=True)
        assert (atelier.workspace_files.store.trash(change.id) / "content/file").exists()
        assert [each.key for each in await atelier.files.cleaning.leftovers()] == [mine]


async def test_a_full_disk_is_cleaned_too(ws: Path, monkeypatch: pytest.MonkeyPatch, atelier: Atelier) -> None:
    delete_folder(atelier, ws, await create_workflow(atelier), "first")
    unused = atelier.workspace_files.store.folder / "objects/ab/cdef"
    unused.parent.mkdir(parents=True)
    unused.write_text("no record names it")
    unknown = delete_folder(atelier, ws, "unknown", "second")

    def full(_token: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(atelier.workspace_files.store, "set_cleaned_by", full)
    assert (await atelier.files.cleaning.clean(asked=True)).freed > 0
    assert not unused.exists()
    assert (atelier.workspace_files.store.trash(unknown.id) / "content/file").exists()
