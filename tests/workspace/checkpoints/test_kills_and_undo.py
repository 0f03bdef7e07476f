"""Checkpoints: a kill at any moment leaves a change done or not done, and an undo never overwrites the work of
others.
"""

# judges: app/atelier_desk/workspace/atomic_rename.py
# judges: app/atelier_desk/workspace/checkpoints/checkpoint_files.py
# judges: app/atelier_desk/workspace/checkpoints/undoable_file_operations.py
from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from atelier_desk.domain.errors import ConflictError, ToolError
from atelier_desk.domain.file_change import Change
from atelier_desk.workspace import atomic_rename
from atelier_desk.workspace.checkpoints import checkpoint_files, trash
from atelier_desk.workspace.checkpoints.undo import undo
from atelier_desk.workspace.checkpoints.undoable_file_operations import Author, WorkspaceFiles
from atelier_desk.workspace.confined_root import TEMPORARY
from atelier_desk.workspace.path_resolution import WorkspacePath, place
from tests.chaos.file_write_kills import kill_writers
from tests.chaos.link_swap_races import race

AUTHOR = Author("w", "run", "call", "Ada")


@pytest.fixture
def files(tmp_path: Path) -> WorkspaceFiles:
    return WorkspaceFiles(tmp_path / "checkpoints")


def at(ws: Path, path: str) -> WorkspacePath:
    return place(path, (ws,))


class Killed(BaseException):
    pass


@pytest.mark.parametrize("operation", ["write", "new", "delete", "move", "copy", "folder"])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_interrupted_change_is_resolved(
    files: WorkspaceFiles, ws: Path, operation: str, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ws / "a").write_text("old")
    real_finish, real_drop = checkpoint_files.CheckpointFiles.finish, checkpoint_files.CheckpointFiles.drop

    def killed(*given: object) -> None:
        raise Killed

    # As if the process had ended there: neither "done" nor "not done" is recorded.
    monkeypatch.setattr(checkpoint_files.CheckpointFiles, "drop", lambda self, change: None)
    if moment == "after":
        monkeypatch.setattr(checkpoint_files.CheckpointFiles, "finish", killed)
    else:
        for name in ("write", "rename", "make_folder"):
            monkeypatch.setattr("atelier_desk.workspace.confined_root.ConfinedRoot." + name, killed)
        monkeypatch.setattr("atelier_desk.workspace.checkpoints.trash.put", killed)
    acts: dict[str, Callable[[], object]] = {
        "write": lambda: files.write(AUTHOR, at(ws, "a"), b"new"),
        "new": lambda: files.write(AUTHOR, at(ws, "b"), b"new", new=True),
        "delete": lambda: files.delete(AUTHOR, at(ws, "a")),
        "move": lambda: files.move(AUTHOR, at(ws, "a"), at(ws, "b")),
        "copy": lambda: files.copy(AUTHOR, at(ws, "a"), at(ws, "b")),
        "folder": lambda: files.make_folder(AUTHOR, at(ws, "d/e")),
    }
    with pytest.raises(Killed):
        acts[operation]()
    monkeypatch.undo()
    assert real_finish is checkpoint_files.CheckpointFiles.finish
    assert real_drop is checkpoint_files.CheckpointFiles.drop
    again = WorkspaceFiles(files.store.folder)
    assert len(again.store.pending()) == 1
    again.recover()
    assert not again.store.pending()
    changes = again.store.of("w")
    assert len(changes) == (moment == "after")
    assert not list(ws.rglob(f"{TEMPORARY}*"))
    assert all(done.problem is None for done in undo(again, changes))
    assert {path.name for path in ws.iterdir()} == {"a"}
    assert (ws / "a").read_text() == "old"


def test_a_deleted_file_survives_when_its_name_is_reused_before_recovery(
    files: WorkspaceFiles, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the kill and the next start somebody creates a file of that name: the trash has the only copy of the
    old one.
    """

    def killed(*given: object) -> None:
        raise Killed

    (ws / "a").write_text("precious")
    monkeypatch.setattr(checkpoint_files.CheckpointFiles, "finish", killed)
    with pytest.raises(Killed):
        files.delete(AUTHOR, at(ws, "a"))
    monkeypatch.undo()
    (ws / "a").write_text("somebody else's")
    again = WorkspaceFiles(files.store.folder)
    again.recover()
    [change] = again.store.of("w")
    assert (change.action, again.store.pending()) == ("deleted", [])
    [kept] = undo(again, [change])
    assert kept.problem is not None
    (ws / "a").unlink()
    assert undo(again, [change])[0].problem is None
    assert (ws / "a").read_text() == "precious"


def test_an_undo_preserves_changes_of_others_unless_forced(files: WorkspaceFiles, ws: Path) -> None:
    (ws / "a").write_text("old")
    change = files.write(AUTHOR, at(ws, "a"), b"agent")
    assert change is not None
    (ws / "a").write_text("mine")
    (left,) = undo(files, [change])
    assert isinstance(left.problem, ConflictError)
    assert (ws / "a").read_text() == "mine"
    (done,) = undo(files, [change], force=True)
    assert done.problem is None
    assert (ws / "a").read_text() == "old"
    newest = files.store.of("w")[-1]
    assert (newest.undoable, files.store.content(newest.before)) == (True, b"mine"), (
        "it is listed, and can be brought back"
    )
    assert not undo(files, files.store.of("w")[:1]), "it is undone already"
    assert undo(files, [newest])[0].problem is None
    assert (ws / "a").read_text() == "mine"


def test_a_deleted_or_moved_file_does_not_overwrite_a_new_one(files: WorkspaceFiles, ws: Path) -> None:
    (ws / "a").write_text("a")
    (ws / "b").write_text("b")
    deleted = files.delete(AUTHOR, at(ws, "a"))
    (moved,) = files.move(AUTHOR, at(ws, "b"), at(ws, "c"))
    (ws / "a").write_text("mine")
    (ws / "b").write_text("mine")
    assert all(isinstance(each.problem, ConflictError) for each in undo(files, [deleted, moved]))
    assert {path.name: path.read_text() for path in ws.iterdir()} == {"a": "mine", "b": "mine", "c": "b"}
    assert all(each.problem is None for each in undo(files, [deleted, moved], force=True))
    assert {path.name: path.read_text() for path in ws.iterdir()} == {"a": "a", "b": "b"}


@pytest.mark.parametrize("swaps", [True, False], ids=["exchange", "compare"])
def test_a_write_at_the_last_moment_is_never_overwritten(
    files: WorkspaceFiles, ws: Path, monkeypatch: pytest.MonkeyPatch, swaps: bool
) -> None:
    """Somebody saves after the file was compared, just before it is replaced: by an undo, and by an agent's own
    edit.
    """
    (ws / "a").write_text("old")
    change = files.write(AUTHOR, at(ws, "a"), b"agent")
    assert change is not None
    mine = iter(("mine 1", "mine 2"))

    def late(folder: int, one: str, other: str) -> bool:
        if (text := next(mine, None)) is not None:
            (ws / "a.new").write_text(text)
            (ws / "a.new").rename(ws / "a")
        return swaps and atomic_rename.exchange(folder, one, other)

    monkeypatch.setattr("atelier_desk.workspace.confined_root.exchange", late)
    (left,) = undo(files, [change])
    assert isinstance(left.problem, ConflictError)
    assert (ws / "a").read_text() in ("mine 1", "mine 2")
    mine = iter(("mine 3",))
    with pytest.raises(ToolError, match="changed in the meantime"):
        files.write(AUTHOR, at(ws, "a"), b"agent again")
    assert (ws / "a").read_text() == "mine 3"
    assert [path.name for path in ws.iterdir()] == ["a"], "nothing is left behind"
    assert not files.store.pending()
    monkeypatch.undo()
    assert undo(files, [change], force=True)[0].problem is None
    assert (ws / "a").read_text() == "old"


@pytest.mark.parametrize("third", [False, True], ids=["", "and again"])
def test_a_new_file_changed_at_the_last_moment_is_not_deleted(
    files: WorkspaceFiles, ws: Path, monkeypatch: pytest.MonkeyPatch, third: bool
) -> None:
    change = files.write(AUTHOR, at(ws, "a"), b"agent")
    assert change is not None
    real = atomic_rename.rename_new

    def late(source: int, name: str, target: int, new: str) -> None:
        if name == "a":
            (ws / "a").write_text("mine")
        elif third:
            (ws / "a").write_text("newer")
        real(source, name, target, new)

    monkeypatch.setattr(trash, "rename_new", late)
    (left,) = undo(files, [change])
    assert isinstance(left.problem, ConflictError)
    assert (ws / "a").read_text() == ("newer" if third else "mine")
    monkeypatch.undo()
    if third:  # the removed file can still be restored
        deleted = files.store.of("w")[-1]
        assert (deleted.action, deleted.undoable) == ("deleted", True)
        (ws / "a").unlink()
        assert undo(files, [deleted])[0].problem is None
        assert (ws / "a").read_text() == "mine"


def test_a_kill_after_the_exchange_restores_what_somebody_else_wrote(
    files: WorkspaceFiles, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ws / "a").write_text("old")

    def killed(folder: int, one: str, other: str) -> bool:
        (ws / "a").write_text("mine")
        assert atomic_rename.exchange(folder, one, other)
        (ws / one).rename(ws / "kept")  # the writer's own cleanup must not find it, as after a kill
        raise Killed

    monkeypatch.setattr("atelier_desk.workspace.confined_root.exchange", killed)
    monkeypatch.setattr(checkpoint_files.CheckpointFiles, "drop", lambda self, change: None)
    with pytest.raises(Killed):
        files.write(AUTHOR, at(ws, "a"), b"agent")
    monkeypatch.undo()
    [pending] = files.store.pending()
    (ws / "kept").rename(ws / pending.temporary)
    assert (ws / "a").read_text() == "agent"
    WorkspaceFiles(files.store.folder).recover()
    assert {path.name: path.read_text() for path in ws.iterdir()} == {"a": "mine"}


def test_renaming_refuses_an_existing_name(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for flags in (True, False):
        if not flags:
            monkeypatch.setattr(atomic_rename, "_renameat2", lambda: None)
        for kind in ("file", "folder"):
            for name in ("one", "two"):
                (ws / name).touch() if kind == "file" else (ws / name).mkdir()
            handle = os.open(ws, os.O_RDONLY)
            try:
                with pytest.raises(FileExistsError):
                    atomic_rename.rename_new(handle, "one", handle, "two")
                atomic_rename.rename_new(handle, "one", handle, "three")
            finally:
                os.close(handle)
            assert sorted(path.name for path in ws.iterdir()) == ["three", "two"]
            for path in ws.iterdir():
                path.unlink() if kind == "file" else path.rmdir()


def test_several_changes_of_one_file_are_undone_in_turn(files: WorkspaceFiles, ws: Path) -> None:
    for text in (b"1", b"2", b"3"):
        files.write(AUTHOR, at(ws, "deep/a"), text)
    changes = files.store.of("w")
    (left,) = undo(files, changes[:1])
    assert left.problem is not None, "the newer ones stand on it"
    assert all(each.problem is None for each in undo(files, changes))
    assert not list(ws.iterdir())


def test_three_kills_in_writes(tmp_path: Path) -> None:
    kill_writers(tmp_path, 3)


@pytest.mark.skipif(sys.platform != "linux", reason="exchanging two names in one call is Linux's")
@pytest.mark.parametrize("walk", [False, True], ids=["openat2", "walk"])
def test_a_second_of_swapped_links(tmp_path: Path, walk: bool) -> None:
    assert race(tmp_path, 1.0, walk=walk, least=10) >= 10


@pytest.mark.parametrize("action", ["changed", "created", "deleted", "moved"])
def test_a_kill_before_an_undo_is_recorded_does_not_make_it_another_persons_change(
    files: WorkspaceFiles, ws: Path, action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ws / "a").write_text("old")
    if action == "created":
        (ws / "a").unlink()
    if action in ("changed", "created"):
        files.write(AUTHOR, at(ws, "a"), b"new")
    elif action == "deleted":
        files.delete(AUTHOR, at(ws, "a"))
    else:
        files.move(AUTHOR, at(ws, "a"), at(ws, "b"))
    (change,) = files.store.of("w")

    def killed(_change: Change) -> None:
        raise KeyboardInterrupt

    again = WorkspaceFiles(files.store.folder)
    with monkeypatch.context() as patch:
        # The files are restored; the record of the undo is written next.
        real = again.store.save
        patch.setattr(again.store, "save", lambda saved: killed(saved) if saved.undone_by else real(saved))
        with pytest.raises(KeyboardInterrupt):
            undo(again, [change])
    again.recover()
    assert [each.id for each in again.store.of("w") if not each.undoes] == [change.id], (
        "no change that nobody made is listed"
    )
    assert [done.problem for done in undo(again, [change])] == [None]
    assert [path.name for path in ws.iterdir()] == ([] if action == "created" else ["a"])
    assert undo(again, again.store.of("w")[:1]) == []
