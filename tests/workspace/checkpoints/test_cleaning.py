"""Cleaning of checkpoints: data that no undo needs is deleted first, and changes that can no longer be undone are
marked.
"""

# judges: app/atelier_desk/workspace/checkpoints/checkpoint_files.py
from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from atelier_desk.domain.errors import NotFoundError
from atelier_desk.workspace.checkpoints.cleaning import clean, stored_size
from atelier_desk.workspace.checkpoints.undo import undo
from atelier_desk.workspace.checkpoints.undoable_file_operations import Author, WorkspaceFiles
from atelier_desk.workspace.path_resolution import WorkspacePath, place

NOW = datetime(2026, 11, 23, tzinfo=UTC)
PLENTY = 1_000_000_000


class Days:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Days:
    return Days()


@pytest.fixture
def files(tmp_path: Path, clock: Days) -> WorkspaceFiles:
    return WorkspaceFiles(tmp_path / "checkpoints", (), clock)


def at(ws: Path, path: str) -> WorkspacePath:
    return place(path, (ws,))


def write(files: WorkspaceFiles, ws: Path, name: str, text: str, workflow: str = "w") -> None:
    files.write(Author(workflow, "run"), at(ws, name), text.encode())


def test_old_changes_are_dropped_and_marked(files: WorkspaceFiles, ws: Path, clock: Days) -> None:
    (ws / "a").write_text("first")
    (ws / "gone").write_text("gone")
    write(files, ws, "a", "second")
    files.delete(Author("w"), at(ws, "gone"))
    clock.now += timedelta(days=31)
    write(files, ws, "a", "third")
    assert stored_size(files).changes == 3
    done = clean(files, before=clock.now - timedelta(days=30), most=PLENTY, known={"w"})
    assert done.given_up == 2
    assert done.freed > 0
    old, deleted, new = files.store.of("w")
    assert (old.cleaned, deleted.cleaned, new.cleaned) == (True, True, False)
    assert not files.store.trash(deleted.id).exists()
    first, second, third = undo(files, [old, deleted, new])
    assert first.problem is None, "the change that is kept is undone"
    assert (ws / "a").read_text() == "second"
    assert all(isinstance(each.problem, NotFoundError) for each in (second, third))
    assert stored_size(files).changes == 0
    again = clean(files, before=clock.now - timedelta(days=30), most=PLENTY, known={"w"})
    assert again.given_up == 0, "nobody is told twice"


def test_above_the_size_limit_unneeded_data_is_deleted_first(files: WorkspaceFiles, ws: Path) -> None:
    (ws / "a").write_text("0" * 50_000)
    write(files, ws, "a", "1" * 50_000)
    write(files, ws, "b", "2" * 50_000)
    undo(files, files.store.of("w")[1:])
    assert not (ws / "b").exists()
    # Nothing needs what undoing b put into the trash; the change of a is needed.
    done = clean(files, before=None, most=130_000, known={"w"})
    assert done.given_up == 0
    assert files.store.size() <= 130_000
    alive = [change for change in files.store.of("w") if change.undoable]
    assert [change.path for change in alive] == ["a"]
    assert clean(files, before=None, most=10_000, known={"w"}).given_up == 1
    assert files.store.size() <= 10_000


def test_content_shared_with_a_kept_change_stays(files: WorkspaceFiles, ws: Path, clock: Days) -> None:
    (ws / "a").write_text("same")
    (ws / "b").write_text("same")
    write(files, ws, "a", "x")
    clock.now += timedelta(days=40)
    write(files, ws, "b", "y")
    clean(files, before=clock.now - timedelta(days=30), most=PLENTY, known={"w"})
    assert [each.problem for each in undo(files, files.store.of("w")[1:])] == [None]
    assert (ws / "b").read_text() == "same"


def test_data_of_a_deleted_workflow_is_deleted(files: WorkspaceFiles, ws: Path) -> None:
    write(files, ws, "a", "x", "gone")
    write(files, ws, "b", "y", "here")
    assert clean(files, before=None, most=PLENTY, known={"here"}, expired={"gone"}).given_up == 0
    assert files.store.of("gone") == []
    assert [change.path for change in files.store.of("here")] == ["b"]


def test_held_files_stay_until_their_workflow_is_deleted(files: WorkspaceFiles, ws: Path, clock: Days) -> None:
    (ws / "AGENTS.md").write_text("x" * 1000)
    with files.root(ws).located("AGENTS.md") as (folder, name):
        held = files.held.move_out(files.held_record(Author("w"), ws, "AGENTS.md"), folder, name)
    assert not (ws / "AGENTS.md").exists()
    clock.now = NOW + timedelta(days=400)
    clean(files, before=clock.now, most=0, known={"w"})
    assert files.held.of("w") == [held]
    assert stored_size(files).size == 0, "nobody gives it up, so it is not counted among what is given up by size"
    clean(files, before=None, most=PLENTY, known=set(), expired={"w"})
    assert files.held.of("w") == []
