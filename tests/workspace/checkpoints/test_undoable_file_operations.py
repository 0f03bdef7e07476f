"""File changes, as recorded and as undone: also after a kill, and with somebody else working in parallel."""

# equivalent: undoable_file_operations.py WorkspaceFiles._change: `1` → `2`
#   Where the clock stands still or was set back, the next change has a later id than the one before: how much later
# nobody asks. equivalent: undoable_file_operations.py WorkspaceFiles._recorded: `raise` → `pass`
#   Once a change is written down, only a deletion can still fail; settling that again finds just what was written down.
from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.file_change import Change
from atelier_desk.workspace import file_copying
from atelier_desk.workspace.checkpoints import trash
from atelier_desk.workspace.checkpoints.undo import undo
from atelier_desk.workspace.checkpoints.undoable_file_operations import Author, WorkspaceFiles
from atelier_desk.workspace.confined_root import TEMPORARY, ConfinedRoot
from atelier_desk.workspace.path_resolution import WorkspacePath

AUTHOR = Author("w", "run", "call", "Ada", command=True)


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    (folder / "a").write_text("old")
    (folder / "d").mkdir()
    (folder / "d/x").write_text("x")
    return folder


@pytest.fixture
def files(tmp_path: Path) -> WorkspaceFiles:
    return WorkspaceFiles(tmp_path / "checkpoints")


def at(ws: Path, path: str) -> WorkspacePath:
    return WorkspacePath(ws, path, f"shown/{path}")


def tree(ws: Path) -> dict[str, str | None]:
    return {
        path.relative_to(ws).as_posix(): path.read_text() if path.is_file() else None for path in sorted(ws.rglob("*"))
    }


def taken_back(files: WorkspaceFiles, *changes: Change) -> None:
    assert [each.problem for each in undo(files, changes or files.store.of("w"))] == [None] * len(
        changes or files.store.of("w")
    )


ACTS: dict[str, Callable[[WorkspaceFiles, Path], object]] = {
    "write": lambda files, ws: files.write(AUTHOR, at(ws, "a"), b"new"),
    "create": lambda files, ws: files.write(AUTHOR, at(ws, "n/m/b"), b"new", new=True),
    "delete": lambda files, ws: files.delete(AUTHOR, at(ws, "a")),
    "delete folder": lambda files, ws: files.delete(AUTHOR, at(ws, "d")),
    "move": lambda files, ws: files.move(AUTHOR, at(ws, "a"), at(ws, "n/b")),
    "move folder": lambda files, ws: files.move(AUTHOR, at(ws, "d"), at(ws, "n/e")),
    "copy": lambda files, ws: files.copy(AUTHOR, at(ws, "a"), at(ws, "n/b")),
    "copy folder": lambda files, ws: files.copy(AUTHOR, at(ws, "d"), at(ws, "e")),
    "make folder": lambda files, ws: files.make_folder(AUTHOR, at(ws, "n/m")),
}
AFTER: dict[str, tuple[dict[str, str | None], dict[str, Any]]] = {
    "write": ({"a": "new"}, {"action": "changed", "path": "a", "before": sha("old"), "after": sha("new"), "made": ()}),
    "create": ({"n": None, "n/m": None, "n/m/b": "new"},
               {"action": "created", "path": "n/m/b", "before": "", "after": sha("new"), "made": ("n", "n/m")}),
    "delete": ({"a": ""}, {"action": "deleted", "path": "a", "before": sha("old"), "after": "", "folder": False}),
    "delete folder": ({"d": "", "d/x": ""}, {"action": "deleted", "path": "d", "after": "", "folder": True}),
    "move": ({"a": "", "n": None, "n/b": "old"},
             {"action": "moved", "path": "a", "moved_to": "n/b", "before": sha("old"), "after": sha("old"),
             "made": ("n",)}),
    "move folder": ({"d": "", "d/x": "", "n": None, "n/e": None, "n/e/x": "x"},
                    {"action": "moved", "path": "d", "moved_to": "n/e", "folder": True, "made": ("n",)}),
    "copy": ({"n": None, "n/b": "old"},
    {"action": "created", "path": "n/b", "after": sha("old"), "folder": False, "made": ("n",)}),
    "copy folder": ({"e": None, "e/x": "x"}, {"action": "created", "path": "e", "folder": True, "made": ()}),
    "make folder": ({"n": None, "n/m": None}, {"action": "created", "path": "n/m", "folder": True, "made": ("n",)}),
}  # fmt: skip
"""The state after each change: the file's text (empty: no file), and the text of its record."""


@pytest.mark.parametrize("act", ACTS)
def test_each_change_is_made_recorded_and_undone(files: WorkspaceFiles, ws: Path, act: str) -> None:
    before = tree(ws)
    ACTS[act](files, ws)
    changed, said = AFTER[act]
    assert tree(ws) == {path: text for path, text in {**before, **changed}.items() if text != ""}
    (change,) = files.store.of("w")
    assert {name: getattr(change, name) for name in said} == said
    assert (change.run_id, change.call_id, change.agent_name, change.command, change.root) == (
        "run",
        "call",
        "Ada",
        True,
        str(ws),
    )
    assert files.store.pending() == []
    if change.folder:
        place = ws / (change.moved_to or change.path)
        handle = os.open(place.parent, os.O_RDONLY)
        assert (change.after or change.before) == (file_copying.digest_of(handle, place.name) or change.before)
        os.close(handle)
    taken_back(files, change)
    assert tree(ws) == before
    assert files.store.get("w", change.id).undone_by


@pytest.mark.parametrize("act", ACTS)
def test_a_kill_in_the_middle_leaves_no_temporary_file_and_no_change(
    files: WorkspaceFiles, ws: Path, act: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kill comes before the last step, when the new content is already next to its target."""
    before = tree(ws)
    with monkeypatch.context() as patch:
        for owner, name in ((trash, "put"), (file_copying, "delete"), (ConfinedRoot, "rename")):
            patch.setattr(owner, name, _killed)
        for name in ("_replace", "rename_new"):
            patch.setattr(f"atelier_desk.workspace.confined_root.{name}", _killed)
        if act == "make folder":
            patch.setattr(ConfinedRoot, "make_folder", _killed)
        patch.setattr(files.store, "drop", lambda change: None)
        patch.setattr(os, "unlink", _killed)
        with pytest.raises(KeyboardInterrupt):
            ACTS[act](files, ws)
    (pending,) = files.store.pending()
    assert pending.temporary in (path.name for path in ws.rglob("*")) or act not in (
        "write",
        "create",
        "copy",
        "copy folder",
    )
    again = WorkspaceFiles(files.store.folder)
    again.recover()
    assert (again.store.pending(), again.store.of("w")) == ([], [])
    for name in pending.made:  # an empty folder created for it may stay
        assert not list((ws / name).rglob(f"{TEMPORARY}*"))
        shutil.rmtree(ws / name, ignore_errors=True)
    assert tree(ws) == {path: text for path, text in before.items() if not path.startswith(pending.made or "//")}


def _killed(*_given: object, **_more: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("act", [act for act in ACTS if not act.startswith("delete")])
def test_a_kill_after_the_last_step_leaves_the_change_done(
    files: WorkspaceFiles, ws: Path, act: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(ws)
    with monkeypatch.context() as patch:
        patch.setattr(files.store, "finish", _killed)
        patch.setattr(files.store, "drop", lambda change: None)
        with pytest.raises(KeyboardInterrupt):
            ACTS[act](files, ws)
    again = WorkspaceFiles(files.store.folder)
    again.recover()
    (change,) = again.store.of("w")
    _there, said = AFTER[act]
    assert {name: getattr(change, name) for name in said} == said
    assert (again.store.pending(), bool(change.after)) == ([], True)
    taken_back(again, change)
    assert tree(ws) == before


@pytest.mark.parametrize(
    "act", ["move a link", "write through a link", "write through a link to nothing", "bring a link back"]
)
def test_a_kill_at_a_link_leaves_the_change_done(
    files: WorkspaceFiles, ws: Path, act: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ws / "link").symlink_to("nothing" if act.endswith("nothing") else "a")
    undone = files.delete(AUTHOR, at(ws, "link")) if act.startswith("bring") else None
    with monkeypatch.context() as patch:
        patch.setattr(files.store, "finish", _killed)
        patch.setattr(files.store, "drop", lambda change: None)
        with pytest.raises(KeyboardInterrupt):
            if act.startswith("move"):
                files.move(AUTHOR, at(ws, "link"), at(ws, "moved"))
            elif undone is None:
                files.write(AUTHOR, at(ws, "link"), b"new")
            else:
                undo(files, [undone])
    again = WorkspaceFiles(files.store.folder)
    again.recover()
    assert again.store.pending() == []
    if undone is not None:
        assert (again.store.get("w", undone.id).undone_by != "", (ws / "link").is_symlink()) == (True, True)
        return
    (change,) = again.store.of("w")
    if act.endswith("nothing"):
        assert (change.action, change.after, (ws / "nothing").read_text()) == ("created", sha("new"), "new")
        return
    taken_back(again, change)
    assert tree(ws)["a"] == "old"
    assert ((ws / "link").is_symlink(), (ws / "moved").is_symlink()) == (True, False)


def test_an_undo_through_a_link_is_completed_after_a_kill(
    files: WorkspaceFiles, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ws / "link").symlink_to("a")
    change = files.write(AUTHOR, at(ws, "link"), b"new")
    assert change is not None
    with monkeypatch.context() as patch:
        patch.setattr(files.store, "finish", _killed)
        patch.setattr(files.store, "drop", lambda change: None)
        with pytest.raises(KeyboardInterrupt):
            undo(files, [change])
    again = WorkspaceFiles(files.store.folder)
    again.recover()
    assert (again.store.pending(), again.store.get("w", change.id).undone_by != "") == ([], True)
    assert ((ws / "a").read_text(), (ws / "link").is_symlink()) == ("old", True)


def test_leftovers_next_to_a_name_that_became_a_link_are_deleted(
    files: WorkspaceFiles, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        for owner, name in ((file_copying, "delete"), (ConfinedRoot, "rename")):
            patch.setattr(owner, name, _killed)
        patch.setattr(files.store, "drop", lambda change: None)
        with pytest.raises(KeyboardInterrupt):
            files.copy(AUTHOR, at(ws, "a"), at(ws, "b"))
    (pending,) = files.store.pending()
    assert (ws / pending.temporary).exists()
    (ws / "b").symlink_to("d/x")
    WorkspaceFiles(files.store.folder).recover()
    assert list(ws.rglob(f"{TEMPORARY}*")) == []


@pytest.mark.parametrize("gone", ["source", "target", "both"])
def test_an_interrupted_move_counts_only_if_the_target_exists_and_the_source_does_not(
    files: WorkspaceFiles, ws: Path, gone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(files.store, "finish", _killed)
        patch.setattr(files.store, "drop", lambda change: None)
        with pytest.raises(KeyboardInterrupt):
            files.move(AUTHOR, at(ws, "a"), at(ws, "b"))
    if gone in ("target", "both"):
        (ws / "b").unlink()
    if gone == "target":
        (ws / "a").write_text("old")
    again = WorkspaceFiles(files.store.folder)
    again.recover()
    assert (len(again.store.of("w")), again.store.pending()) == (1 if gone == "source" else 0, [])


def test_an_interrupted_write_does_not_count_where_somebody_else_wrote(
    files: WorkspaceFiles, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("a", "b"):
        with monkeypatch.context() as patch:
            patch.setattr(files.store, "finish", _killed)
            patch.setattr(files.store, "drop", lambda change: None)
            with pytest.raises(KeyboardInterrupt):
                files.write(AUTHOR, at(ws, path), b"agent")
    (ws / "a").write_text("mine")
    (ws / "b").unlink()
    again = WorkspaceFiles(files.store.folder)
    again.recover()
    assert (again.store.of("w"), again.store.pending()) == ([], [])
    assert (ws / "a").read_text() == "mine"


@pytest.mark.parametrize(("stands", "out", "left"), [
    ("agent", "mine", "mine"),  # the exchange removed it: it is put back
    ("agent", "old", "agent"),
    ("newer", "mine", "newer"),
    ("agent", None, "agent"),
])  # fmt: skip
def test_a_file_of_somebody_else_removed_by_an_exchange_is_put_back(
    files: WorkspaceFiles, ws: Path, monkeypatch: pytest.MonkeyPatch, stands: str, out: str | None, left: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(ConfinedRoot, "write", _killed)
        patch.setattr(files.store, "drop", lambda change: None)
        with pytest.raises(KeyboardInterrupt):
            files.write(AUTHOR, at(ws, "a"), b"agent")
    (pending,) = files.store.pending()
    (ws / "a").write_text(stands)
    if out is not None:
        (ws / pending.temporary).write_text(out)
    WorkspaceFiles(files.store.folder).recover()
    assert ((ws / "a").read_text(), list(ws.glob(f"{TEMPORARY}*"))) == (left, [])


CALLS: dict[str, tuple[Callable[[WorkspaceFiles, Path], object], str, str]] = {
    "write too much": (lambda files, ws: files.write(AUTHOR, at(ws, "b"), bytes(50 * 1024 * 1024 + 1)), "too_large",
    "52428801"),
    "write what is not expected": (lambda files, ws: files.write(AUTHOR, at(ws, "a"), b"new", expected=b"other"),
    "changed", "shown/a"),
    "write what was another": (lambda files, ws: files.write(AUTHOR, at(ws, "a"), b"new", was=sha("other")), "changed",
    "shown/a"),
    "write what was there": (lambda files, ws: files.write(AUTHOR, at(ws, "b"), b"new", was=sha("old")), "changed",
    "shown/b"),
    "write what should be there": (lambda files, ws: files.write(AUTHOR, at(ws, "b"), b"new", expected=b"old"),
    "changed", "shown/b"),
    "create what exists": (lambda files, ws: files.write(AUTHOR, at(ws, "a"), b"new", new=True), "exists", "shown/a"),
    "create the same": (lambda files, ws: files.write(AUTHOR, at(ws, "a"), b"old", new=True), "exists", "shown/a"),
    "delete what was another": (lambda files, ws: files.delete(AUTHOR, at(ws, "a"), was=sha("other")), "changed",
    "shown/a"),
    "delete what is not there": (lambda files, ws: files.delete(AUTHOR, at(ws, "b")), "not_found", ""),
    "delete all": (lambda files, ws: files.delete(AUTHOR, at(ws, "")), "whole", ""),
    "move what is not there": (lambda files, ws: files.move(AUTHOR, at(ws, "b"), at(ws, "c")), "not_found", "shown/b"),
    "move onto itself": (lambda files, ws: files.move(AUTHOR, at(ws, "a"), at(ws, "a"), overwrite=True), "same",
    "shown/a"),
    "move onto another": (lambda files, ws: files.move(AUTHOR, at(ws, "a"), at(ws, "d/x")), "exists", "shown/d/x"),
    "move onto a folder": (lambda files, ws: files.move(AUTHOR, at(ws, "a"), at(ws, "d"), overwrite=True), "exists",
    "shown/d"),
    "move into itself": (lambda files, ws: files.move(AUTHOR, at(ws, "d"), at(ws, "d/y")), "into_itself", "shown/d"),
    "copy what is not there": (lambda files, ws: files.copy(AUTHOR, at(ws, "b"), at(ws, "c")), "not_found", "shown/b"),
    "copy onto itself": (lambda files, ws: files.copy(AUTHOR, at(ws, "a"), at(ws, "a"), overwrite=True), "same",
    "shown/a"),
    "copy onto another": (lambda files, ws: files.copy(AUTHOR, at(ws, "a"), at(ws, "d/x")), "exists", "shown/d/x"),
    "copy into itself": (lambda files, ws: files.copy(AUTHOR, at(ws, "d"), at(ws, "d/y")), "into_itself", "shown/d"),
    "copy all into itself": (lambda files, ws: files.copy(AUTHOR, at(ws, ""), at(ws, "y")), "into_itself", "shown/"),
    "make a folder where a file is": (lambda files, ws: files.make_folder(AUTHOR, at(ws, "a")), "exists", "shown/a"),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_a_refused_change_changes_nothing(files: WorkspaceFiles, ws: Path, call: str) -> None:
    act, code, named = CALLS[call]
    before = tree(ws)
    with pytest.raises(ToolError) as refused:
        act(files, ws)
    assert (refused.value.code, named in str(refused.value)) == (code, True), str(refused.value)
    assert (tree(ws), files.store.of("w"), files.store.pending()) == (before, [], [])


def test_an_unexpected_file_is_not_even_moved_away(
    files: WorkspaceFiles, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trash, "put", _killed)
    with pytest.raises(ToolError, match="changed in the meantime"):
        files.delete(AUTHOR, at(ws, "a"), was=sha("other"))


def test_a_large_file_is_written(files: WorkspaceFiles, ws: Path) -> None:
    change = files.write(AUTHOR, at(ws, "large"), bytes(1024 * 1024))
    assert (change is not None, (ws / "large").stat().st_size) == (True, 1024 * 1024)


def test_a_change_without_effect_is_no_change(files: WorkspaceFiles, ws: Path) -> None:
    (ws / "a").chmod(0o640)
    assert files.write(AUTHOR, at(ws, "a"), b"old") is None
    assert files.write(AUTHOR, at(ws, "a"), b"old", mode=0o640, expected=b"old", was=sha("old")) is None
    assert files.make_folder(AUTHOR, at(ws, "d")) is None
    assert files.store.of("w") == []
    change = files.write(AUTHOR, at(ws, "a"), b"old", mode=0o600)
    assert change is not None
    assert (change.mode, (ws / "a").stat().st_mode & 0o777) == (0o640, 0o600)


def test_names_with_a_common_prefix_are_moved_and_copied(files: WorkspaceFiles, ws: Path) -> None:
    files.copy(AUTHOR, at(ws, "d"), at(ws, "dd"))
    files.move(AUTHOR, at(ws, "d"), at(ws, "ddd"))
    other = ws.parent / "other"
    other.mkdir()
    files.copy(AUTHOR, at(ws, "dd"), WorkspacePath(other, "dd/inside", "dd/inside"))
    assert ({path.name for path in ws.iterdir()}, (other / "dd/inside/x").read_text()) == ({"a", "dd", "ddd"}, "x")


def test_an_overwritten_file_goes_to_the_trash_first(files: WorkspaceFiles, ws: Path) -> None:
    (ws / "b").write_text("b")
    (ws / "c").write_text("c")
    before = tree(ws)
    moved = files.move(AUTHOR, at(ws, "a"), at(ws, "b"), overwrite=True)
    copied = files.copy(AUTHOR, at(ws, "b"), at(ws, "c"), overwrite=True)
    assert [[each.action for each in made] for made in (moved, copied)] == [
        ["deleted", "moved"],
        ["deleted", "created"],
    ]
    assert (tree(ws)["b"], tree(ws)["c"]) == ("old", "old")
    taken_back(files, *moved, *copied)
    assert tree(ws) == before


def test_a_folder_created_by_somebody_else_stays_after_an_undo(
    files: WorkspaceFiles, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for act in ("create", "move", "copy", "make folder"):
        shutil.rmtree(ws / "n", ignore_errors=True)
        with monkeypatch.context() as patch:
            real = files.store.begin

            def late(change: Change, real: Callable[[Change], object] = real) -> None:
                (ws / "n").mkdir(exist_ok=True)
                real(change)

            patch.setattr(files.store, "begin", late)
            ACTS[act](files, ws)
        change = files.store.of("w")[-1]
        assert "n" not in change.made, act
        taken_back(files, change)
        assert (ws / "n").is_dir(), act


def test_undoing_a_move_removes_the_folder_it_created(files: WorkspaceFiles, ws: Path) -> None:
    other = ws.parent / "other"
    other.mkdir()
    (change,) = files.move(AUTHOR, at(ws, "a"), WorkspacePath(other, "n/b", "n/b"))
    assert (change.moved_root, (other / "n/b").read_text()) == (str(other), "old")
    taken_back(files, change)
    assert ((ws / "a").read_text(), list(other.iterdir())) == ("old", [])


def test_marks_of_outside_content_follow_a_file(files: WorkspaceFiles, ws: Path) -> None:
    tainted = Author("w", tainted=("evil.org",))
    files.write(tainted, at(ws, "a"), b"new")
    files.copy(AUTHOR, at(ws, "a"), at(ws, "c"))
    files.move(AUTHOR, at(ws, "a"), at(ws, "b"))
    again = WorkspaceFiles(files.store.folder)
    assert [again.marks.of(str(ws / name)) for name in ("b", "c", "d/x")] == [("evil.org",), ("evil.org",), ()]


def test_a_deletion_is_restored_when_its_file_changed_at_the_last_moment(
    files: WorkspaceFiles, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = trash.put

    def late(folder: int, name: str, kept: int, beside: str) -> None:
        (ws / "a").write_text("mine")
        real(folder, name, kept, beside)

    monkeypatch.setattr(trash, "put", late)
    with pytest.raises(ToolError) as refused:
        files.delete(AUTHOR, at(ws, "a"), was=sha("old"))
    assert (refused.value.code, (ws / "a").read_text(), files.store.of("w")) == ("changed", "mine", [])


def test_a_leftover_next_to_a_deletion_is_named(
    files: WorkspaceFiles, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trash is on another disk, and the leftover cannot be deleted: the file is in the trash all the same."""
    with monkeypatch.context() as patch:

        def refuses(folder: int, name: str) -> None:
            raise PermissionError(13, "Permission denied")

        patch.setattr(file_copying, "delete", refuses)
        with pytest.raises(ToolError) as told:
            files.delete(AUTHOR, at(ws, "a"))
    (change,) = files.store.of("w")
    assert told.value.code == "denied"
    assert str(told.value) == (
        f"a is in the trash, but not all of it can be deleted from its disk (Permission denied): the rest is in "
        f"{change.temporary}. "
        "Tell the user."
    )
    assert (files.store.pending(), (ws / "a").exists()) == ([], False)
    taken_back(files, change)
    assert (ws / "a").read_text() == "old"


def test_leftovers_of_a_killed_deletion_are_deleted_but_not_the_targets_of_links(
    files: WorkspaceFiles, ws: Path
) -> None:
    outside = ws.parent / "outside"
    outside.mkdir()
    (ws / "link").symlink_to("d")
    (ws / "out").symlink_to(outside)
    for path in ("link", "out"):
        change = files.delete(AUTHOR, at(ws, path))
        for place in (ws, ws / "d", outside):
            (place / change.temporary).write_text("x")
        (ws / path).symlink_to("d" if path == "link" else outside)
        files.store.begin(change)
        again = WorkspaceFiles(files.store.folder)
        again.recover()
        assert again.store.pending() == []
        assert [(place / change.temporary).exists() for place in (ws, ws / "d", outside)] == [False, True, True]


@pytest.mark.parametrize(("before", "after", "action"), [
    (None, b"new", "created"), (b"old", None, "deleted"), (b"old", b"new", "changed"),
])  # fmt: skip
def test_changes_by_a_command_are_recorded_and_undone(
    files: WorkspaceFiles,
    ws: Path,
    monkeypatch: pytest.MonkeyPatch,
    before: bytes | None,
    after: bytes | None,
    action: str,
) -> None:
    synced: list[int] = []
    real = os.fsync

    def fsync(handle: int) -> None:
        synced.append(os.fstat(handle).st_ino)
        real(handle)

    path = ws / "noted"
    if after is not None:
        path.write_bytes(after)
    monkeypatch.setattr(os, "fsync", fsync)
    change = files.note(AUTHOR, at(ws, "noted"), before, after, mode=0o750 if before else None)
    assert (change.action, change.before, change.after) == (
        action, sha(before.decode()) if before else "", sha(after.decode()) if after else "",
    )  # fmt: skip
    assert files.store.of("w") == [change]
    assert files.store.trashed() == ({change.id} if action == "deleted" else set())
    if action == "deleted":
        assert (files.store.folder / "trash" / change.id / "content").stat().st_ino in synced
    taken_back(files, change)
    assert (path.read_bytes() if path.exists() else None) == before
    if before is not None:
        assert path.stat().st_mode & 0o777 == 0o750


def test_the_record_names_the_owner_of_a_held_file(files: WorkspaceFiles, ws: Path) -> None:
    held = files.held_record(AUTHOR, ws, ".git/hooks/pre-commit", by="pytest")
    assert held.model_dump(include={"workflow_id", "run_id", "call_id", "agent_name", "author", "root", "path"}) == {
        "workflow_id": "w", "run_id": "run", "call_id": "call", "agent_name": "Ada", "author": "pytest",
        "root": str(ws),
        "path": ".git/hooks/pre-commit",
    }  # fmt: skip


@pytest.mark.parametrize("above", ["missing", "file"])
def test_a_dangling_path_has_no_file(files: WorkspaceFiles, ws: Path, above: str) -> None:
    path = "gone/b" if above == "missing" else "a/b"
    assert files.digest_at(files.root(ws), path) == ""
    (ws / "link").symlink_to(ws.parent)
    with pytest.raises(ToolError):
        files.digest_at(files.root(ws), "link/ws")


def test_ids_increase_although_the_clock_is_set_back(
    files: WorkspaceFiles, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter((5_000, 5_000, 100, 9_000))
    monkeypatch.setattr(time, "time_ns", lambda: next(times))
    ids = [files._change(AUTHOR, at(ws, "a"), action="changed").id.partition("-")[0] for _ in range(4)]
    assert (ids == sorted(set(ids)), int(ids[-1])) == (True, 9_000)
