"""The trash: a file is restored as it was, even from another disk, and only if it is the one that was deleted."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from atelier_desk.domain.errors import ConflictError, NotFoundError, ToolError
from atelier_desk.domain.file_change import Change
from atelier_desk.workspace import atomic_rename, file_copying
from atelier_desk.workspace.checkpoints import trash
from atelier_desk.workspace.checkpoints.undo import undo
from atelier_desk.workspace.checkpoints.undoable_file_operations import Author, WorkspaceFiles
from atelier_desk.workspace.path_resolution import WorkspacePath, place
from tests.chaos.undo_kills import kill_at_steps, kill_deletions, snapshot
from tests.chaos.undo_worker import as_on_two_disks

AUTHOR = Author("w", "run", "call", "Ada")
MTIME_NS = 1_500_000_000_123_456_789


@pytest.fixture
def files(tmp_path: Path) -> WorkspaceFiles:
    return WorkspaceFiles(tmp_path / "checkpoints")


@pytest.fixture(params=["one disk", "two disks"])
def disks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(vars(trash), "rename_new", atomic_rename.rename_new)
    if request.param == "two disks":
        as_on_two_disks()
    return str(request.param)


def at(ws: Path, path: str) -> WorkspacePath:
    return place(path, (ws,))


def names(ws: Path) -> list[str]:
    return sorted(path.name for path in ws.iterdir())


@pytest.mark.usefixtures("disks")
def test_a_restored_file_has_its_permissions_and_times(files: WorkspaceFiles, ws: Path) -> None:
    tree = ws / "tree"
    (tree / "inner").mkdir(parents=True)
    (tree / "inner" / "run.sh").write_text("#!/bin/sh\n")
    (tree / "inner" / "run.sh").chmod(0o751)
    (tree / "link").symlink_to("inner/run.sh")
    os.mkfifo(tree / "pipe")
    for path in (*tree.rglob("*"), tree):
        os.utime(path, ns=(MTIME_NS, MTIME_NS), follow_symlinks=False)
    (tree / "inner").chmod(0o550)
    before = snapshot(ws)
    change = files.delete(AUTHOR, at(ws, "tree"))
    assert names(ws) == []
    assert undo(files, [change])[0].problem is None
    assert snapshot(ws) == before
    assert (tree / "inner").stat().st_mtime_ns == MTIME_NS
    assert not files.store.trash(change.id).exists()
    assert not files.store.pending()


@pytest.mark.usefixtures("disks")
def test_a_damaged_file_is_restored_only_on_request(files: WorkspaceFiles, ws: Path) -> None:
    (ws / "a").write_text("precious")
    change = files.delete(AUTHOR, at(ws, "a"))
    kept = files.store.trash(change.id) / "content"
    kept.write_text("preciouz")
    (left,) = undo(files, [change])
    assert isinstance(left.problem, ConflictError)
    assert left.problem.code == "damaged"
    assert str(kept.parent) in str(left.problem)
    assert names(ws) == []
    assert kept.read_text() == "preciouz"
    assert undo(files, [change], force=True)[0].problem is None
    assert (ws / "a").read_text() == "preciouz"


def test_a_file_missing_from_the_trash_is_reported(files: WorkspaceFiles, ws: Path) -> None:
    (ws / "a").write_text("precious")
    change = files.delete(AUTHOR, at(ws, "a"))
    (files.store.trash(change.id) / "content").unlink()
    (left,) = undo(files, [change], force=True)
    assert left.problem is not None
    assert left.problem.code == "not_found"


def test_damaged_content_is_not_restored_and_is_replaced_when_stored_again(files: WorkspaceFiles, ws: Path) -> None:
    (ws / "a").write_bytes(b"old")
    change = files.write(AUTHOR, at(ws, "a"), b"new")
    assert change is not None
    stored = files.store.folder / "objects" / change.before[:2] / change.before[2:]
    stored.write_bytes(b"odd")
    for force in (False, True):
        (left,) = undo(files, [change], force=force)
        assert isinstance(left.problem, NotFoundError)
        assert left.problem.code == "damaged"
        assert (ws / "a").read_bytes() == b"new"
    files.store.store(b"old")
    assert stored.read_bytes() == b"old"
    assert undo(files, [change])[0].problem is None
    assert (ws / "a").read_bytes() == b"old"


def test_a_copy_that_differs_replaces_nothing(files: WorkspaceFiles, ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that writes other bytes than it was given."""
    monkeypatch.setitem(vars(trash), "rename_new", atomic_rename.rename_new)
    as_on_two_disks()
    (ws / "a").write_text("precious")
    real = file_copying.copy

    def wrong(source: int, name: str, target: int, new: str, *, whole: bool = False) -> None:
        real(source, name, target, new, whole=whole)
        handle = os.open(new, os.O_WRONLY, dir_fd=target)
        os.write(handle, b"P")
        os.close(handle)

    with monkeypatch.context() as patch:
        patch.setattr(file_copying, "copy", wrong)
        with pytest.raises(ToolError):
            files.delete(AUTHOR, at(ws, "a"))
    assert (ws / "a").read_text() == "precious"
    assert files.store.of("w") == []
    change = files.delete(AUTHOR, at(ws, "a"))
    with monkeypatch.context() as patch:
        patch.setattr(file_copying, "copy", wrong)
        (left,) = undo(files, [change])
    assert left.problem is not None
    assert names(ws) == []
    assert undo(files, [change])[0].problem is None
    assert (ws / "a").read_text() == "precious"


def test_a_partly_deleted_folder_is_completely_in_the_trash(
    files: WorkspaceFiles, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(vars(trash), "rename_new", atomic_rename.rename_new)
    as_on_two_disks()
    (ws / "d").mkdir()
    for name in ("one", "two"):
        (ws / "d" / name).write_text(name)

    def in_part(folder: int, name: str) -> None:
        if name.startswith(".atelier-"):
            os.unlink(f"{name}/one", dir_fd=folder)
            raise PermissionError(13, "denied")

    with monkeypatch.context() as patch:
        patch.setattr(file_copying, "delete", in_part)
        with pytest.raises(ToolError, match="not all of it can be deleted"):
            files.delete(AUTHOR, at(ws, "d"))
    (change,) = files.store.of("w")
    assert not files.store.pending()
    assert undo(files, [change])[0].problem is None
    assert {path.name: path.read_text() for path in (ws / "d").iterdir()} == {"one": "one", "two": "two"}


def test_the_mode_of_a_file_that_a_command_made_executable_is_restored(files: WorkspaceFiles, ws: Path) -> None:
    (ws / "a").write_bytes(b"same")
    change = files.note(AUTHOR, at(ws, "a"), b"same", b"same", mode=0o640)
    (ws / "a").chmod(0o755)
    assert undo(files, [change])[0].problem is None
    assert stat.S_IMODE((ws / "a").stat().st_mode) == 0o640


def test_the_folders_of_a_deleted_file_are_restored_with_their_modes(files: WorkspaceFiles, ws: Path) -> None:
    change = files.note(AUTHOR, at(ws, "d/e/a"), b"text", None, mode=0o600, modes={"d": 0o700, "d/e": 0o2755})
    assert undo(files, [change])[0].problem is None
    assert [stat.S_IMODE((ws / each).stat().st_mode) for each in ("d", "d/e", "d/e/a")] == [0o700, 0o2755, 0o600]


def test_a_deletion_on_a_disconnected_disk_waits(
    files: WorkspaceFiles, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill, and then the disk with the workspace is missing during recovery."""
    (ws / "a").write_text("precious")
    change = files.delete(AUTHOR, at(ws, "a"))
    back = Change(
        **{
            **change.model_dump(),
            "id": change.id + "1",
            "action": "created",
            "undoes": change.id,
            "temporary": ".atelier-1.tmp",
        }
    )
    files.store.begin(back)
    (ws / ".atelier-1.tmp").write_text("preci")
    ws.rename(ws.with_name("away"))
    files.recover()
    assert [each.id for each in files.store.pending()] == [back.id]
    ws.with_name("away").rename(ws)
    files.recover()
    assert names(ws) == []
    assert files.store.pending() == []
    assert undo(files, [change])[0].problem is None


def test_leftovers_of_a_recorded_deletion_are_removed(files: WorkspaceFiles, ws: Path) -> None:
    """A kill between the record and the end of deleting from the other disk."""
    (ws / "d").mkdir()
    (ws / "d" / "a").write_text("x")
    change = files.delete(AUTHOR, at(ws, "d"))
    files.store.begin(change.model_copy(update={"temporary": ".atelier-1.tmp"}))
    (ws / ".atelier-1.tmp").mkdir()
    (ws / ".atelier-1.tmp" / "a").write_text("x")
    files.recover()
    assert names(ws) == []
    assert files.store.pending() == []
    assert undo(files, [change])[0].problem is None
    assert (ws / "d" / "a").read_text() == "x"


def test_kills_at_some_steps_across_disks(tmp_path: Path) -> None:
    for figures in (kill_at_steps(tmp_path, tmp_path, 131), kill_deletions(tmp_path, tmp_path, 71)):
        assert figures.cut_off
        assert (figures.lost, figures.half, figures.silent) == (0, 0, 0), figures
