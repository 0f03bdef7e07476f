"""A command's file changes: named in its result, shown on its card, recorded however it ends."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from atelier_desk.domain.result_parts import FileChange
from atelier_desk.workspace.checkpoints.undo import undo
from atelier_desk.workspace.checkpoints.undoable_file_operations import WorkspaceFiles
from tests.tools.shell.conftest import Bench


@pytest.fixture
def files(bench: Bench) -> WorkspaceFiles:
    bench.services.files = WorkspaceFiles(bench.outside / "checkpoints", (bench.outside,))
    return bench.services.files


async def test_a_commands_changes_are_undone(bench: Bench, files: WorkspaceFiles) -> None:
    (bench.root / "work.sh").write_text("echo new > in.txt; rm gone.txt; echo made > made.txt\n")
    result = await bench.run("bash work.sh")
    assert result.data["changed_files"] == ["deleted gone.txt", "changed in.txt", "created made.txt"]
    assert [part.path for part in result.parts if isinstance(part, FileChange)] == ["gone.txt", "in.txt", "made.txt"]
    changes = files.store.of("w")
    assert {(change.run_id, change.call_id, change.command) for change in changes} == {("r", "c", True)}
    assert not [each for each in undo(files, changes) if each.problem]
    assert (bench.root / "in.txt").read_text() == (bench.root / "gone.txt").read_text() == "b\na\nb\n"
    assert not (bench.root / "made.txt").exists()


async def test_changes_of_a_failed_or_stopped_command_are_undone_too(bench: Bench, files: WorkspaceFiles) -> None:
    (bench.root / "fails.sh").write_text("echo half > in.txt; exit 3\n")
    failed = await bench.run("bash fails.sh")
    assert (failed.data["exit_status"], failed.data["changed_files"]) == (3, ["changed in.txt"])
    (bench.root / "waits.sh").write_text("echo half > b.txt; echo begun; sleep 60\n")
    call = asyncio.create_task(bench.run("bash waits.sh"))
    async with asyncio.timeout(20):
        while not any("begun" in text for text in bench.progress):
            await asyncio.sleep(0.02)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert [change.path for change in files.store.of("w")] == ["in.txt", "b.txt"]


async def test_reading_records_nothing_and_many_changes_are_listed_briefly(bench: Bench, files: WorkspaceFiles) -> None:
    assert "changed_files" not in (await bench.run("cat in.txt")).data
    (bench.root / "many.sh").write_text("for each in $(seq 30); do echo $each > f$each; done\n")
    result = await bench.call(
        "run_command", replace(bench.context, agent_name="Ann"), command="bash many.sh", modifies_files=True
    )
    assert (len(result.data["changed_files"]), result.data["changed_total"]) == (20, 30)
    assert {change.agent_name for change in files.store.of("w")} == {"Ann"}


async def test_a_folder_moved_away_by_a_command_is_reported_as_missing_and_not_as_too_large(
    bench: Bench, files: WorkspaceFiles
) -> None:
    (bench.root / "move.sh").write_text(f"mv {bench.root} {bench.root}-moved\n")
    result = await bench.run("bash move.sh", sandbox="none")
    assert result.data["folders_gone"] == [str(bench.root)]
    assert "changes_note" not in result.data
    assert "not there any more" in (await bench.run("ls")).data["error"]
