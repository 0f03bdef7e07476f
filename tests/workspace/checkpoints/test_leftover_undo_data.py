"""Cleaning preserves what an unreadable record may refer to, and what this database does not know; a person can
delete both.
"""

from __future__ import annotations

import builtins
import errno
import io
import json
import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.file_change import Change
from atelier_desk.workspace.checkpoints.cleaning import clean, stored_size
from atelier_desk.workspace.checkpoints.leftover_undo_data import DAYS, delete, survey, unclaimed
from atelier_desk.workspace.checkpoints.undo import undo
from atelier_desk.workspace.checkpoints.undoable_file_operations import Author, WorkspaceFiles
from atelier_desk.workspace.path_resolution import place

NOW = datetime(2026, 11, 23, tzinfo=UTC)
PLENTY = 1_000_000_000


@pytest.fixture
def files(tmp_path: Path) -> WorkspaceFiles:
    return WorkspaceFiles(tmp_path / "checkpoints", (), lambda: NOW)


def delete_folder(files: WorkspaceFiles, ws: Path, workflow: str = "w", name: str = "photos") -> Change:
    """A folder that an agent deleted: its only copy is in the trash."""
    (ws / name).mkdir()
    (ws / name / "one.jpg").write_text(f"the only copy in {name}")
    return files.delete(Author(workflow, "run"), place(name, (ws,)))


def edit(files: WorkspaceFiles, ws: Path, workflow: str = "w", name: str = "text") -> Change:
    (ws / name).write_text(f"{name} as it was")
    made = files.write(Author(workflow, "run"), place(name, (ws,)), b"edited")
    assert made is not None
    return made


def clean_hard(files: WorkspaceFiles, known: set[str], expired: set[str] | None = None) -> None:
    """Clean twice, with age and size limits at their minimum."""
    for _time in range(2):
        clean(files, before=NOW + timedelta(days=1), most=0, known=known, expired=expired or set())


def is_kept(files: WorkspaceFiles, change: Change) -> bool:
    """Whether what an undo needs exists."""
    if change.action == "deleted":
        return (files.store.trash(change.id) / "content/one.jpg").exists()
    return files.store.has(change.before)


@pytest.mark.parametrize("what", [delete_folder, edit])
def test_a_flipped_byte_in_a_record_loses_nothing_and_is_reported(
    files: WorkspaceFiles, ws: Path, tmp_path: Path, what: Callable[..., Change]
) -> None:
    change = what(files, ws)
    record = files.store.record(change)
    whole = record.read_bytes()
    checkpoints, before = files.store.folder, tmp_path / "before"
    checkpoints.rename(before)
    for number, byte in enumerate(whole):
        shutil.copytree(before, checkpoints)
        flipped = bytearray(whole)
        flipped[number] = byte ^ (1 << (number % 8))
        record.write_bytes(flipped)
        clean_hard(files, {"w"})
        assert is_kept(files, change), f"byte {number}: {bytes(flipped)!r}"
        assert [each.kind for each in survey(files, {"w"}, {})][:1] == ["unreadable"], f"byte {number} is silent"
        assert record.read_bytes() == flipped
        shutil.rmtree(checkpoints)


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"",
        lambda whole: whole[: len(whole) // 2],
        lambda whole: bytes(len(whole)),
        lambda whole: whole[:-1],
        lambda whole: os.urandom(len(whole)),
        lambda whole: json.dumps({**json.loads(whole.split(b"\n")[0]), "of_a_newer_atelier": 1}).encode(),
    ],
    ids=["empty", "half", "zeros", "one byte short", "noise", "newer"],
)
def test_an_incomplete_record_preserves_what_it_may_refer_to(
    files: WorkspaceFiles, ws: Path, damage: Callable[[bytes], bytes]
) -> None:
    deleted, edited, fine = delete_folder(files, ws), edit(files, ws), edit(files, ws, name="other")
    for change in (deleted, edited):
        record = files.store.record(change)
        record.write_bytes(damage(record.read_bytes()))
    clean_hard(files, {"w"})
    assert is_kept(files, deleted)
    assert is_kept(files, edited)
    assert [change.id for change in files.store.of("w") if change.undoable] == [fine.id], (
        "nothing is given up that frees nothing"
    )
    found = survey(files, {"w"}, {})
    assert [each.kind for each in found] == ["unreadable", "unreadable", "contents"]
    assert found[0].size >= len("the only copy in photos")
    assert found[2].size == len("text as it was"), "the contents that only an unreadable record can name"


def test_a_record_of_a_version_without_hashes_is_read(files: WorkspaceFiles, ws: Path) -> None:
    change = edit(files, ws)
    files.store.record(change).write_text(change.model_dump_json())
    assert files.store.of("w") == [change]
    assert survey(files, {"w"}, {}) == []


FAILURES = [errno.EIO, errno.EMFILE, errno.EACCES, errno.ENFILE, errno.ESTALE]


class FailingReads:
    """Makes the ``nth`` opening or listing of a file below ``folder`` fail, or all of those that ``which``
    selects.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path, number: int) -> None:
        self.count, self.failing, self.number = 0, -1, number
        real: dict[str, Any] = {"open": io.open, "listdir": os.listdir, "os_open": os.open}

        def guarded(name: str) -> Callable[..., Any]:
            def call(path: Any, *rest: Any, **fields: Any) -> Any:
                if isinstance(path, str | Path) and Path(path).is_relative_to(folder):
                    self.count += 1
                    if self.count - 1 == self.failing:
                        raise OSError(self.number, os.strerror(self.number), str(path))
                return real[name](path, *rest, **fields)

            return call

        monkeypatch.setattr(io, "open", guarded("open"))
        monkeypatch.setattr(builtins, "open", guarded("open"))
        monkeypatch.setattr(os, "listdir", guarded("listdir"))


@pytest.mark.parametrize("number", FAILURES, ids=lambda number: errno.errorcode[number])
def test_a_failed_read_loses_nothing(
    files: WorkspaceFiles, ws: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Each read of a cleaning fails once, in a separate cleaning, while a change of another workflow is dropped."""
    mine = [delete_folder(files, ws, "stays"), edit(files, ws, "stays")]
    old = delete_folder(files, ws, "given-up", "old")
    before = tmp_path / "before"
    files.store.folder.rename(before)
    with monkeypatch.context() as patch:
        shutil.copytree(before, files.store.folder)
        reads = FailingReads(patch, files.store.folder, number)
        clean(files, before=NOW + timedelta(days=1), most=PLENTY, known={"given-up"})
        assert not is_kept(files, old)
        many = reads.count
    assert many > 5
    for failing in range(many):
        shutil.rmtree(files.store.folder)
        shutil.copytree(before, files.store.folder)
        with monkeypatch.context() as patch:
            reads = FailingReads(patch, files.store.folder, number)
            reads.failing = failing
            clean(files, before=NOW + timedelta(days=1), most=PLENTY, known={"given-up"})
        assert all(is_kept(files, change) for change in mine), f"read {failing}"
        assert files.store.of("stays") == sorted(mine, key=lambda each: each.id), f"read {failing}"
        (after,) = files.store.of("given-up")
        assert after.cleaned or is_kept(files, old), "what cannot be undone says so"


def test_an_unreadable_record_has_a_reason(files: WorkspaceFiles, ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change = edit(files, ws)
    reads = FailingReads(monkeypatch, files.store.record(change), errno.EIO)
    reads.failing = 0
    (found, _contents) = survey(files, {"w"}, {})
    assert (found.key, found.reason) == (f"changes/w/{change.id}.json", "Input/output error")


def test_an_unlistable_folder_of_records_preserves_the_trash_too(
    files: WorkspaceFiles, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = delete_folder(files, ws)
    with monkeypatch.context() as patch:
        reads = FailingReads(patch, files.store.record(change).parent, errno.EACCES)
        reads.failing = 0
        clean(files, before=None, most=0, known={"w"}, expired={"w", f"trash/{change.id}"})
    assert is_kept(files, change)
    assert files.store.of("w") == [change]


def test_a_missing_folder_of_records_preserves_contents_and_trash(files: WorkspaceFiles, ws: Path) -> None:
    deleted, edited = delete_folder(files, ws), edit(files, ws)
    shutil.rmtree(files.store.folder / "changes")
    clean_hard(files, {"w"})
    assert is_kept(files, deleted)
    assert is_kept(files, edited)
    assert [(each.key, each.kind) for each in survey(files, {"w"}, {})] == [
        ("changes", "unreadable"),
        ("objects", "contents"),
    ]
    delete(files, ["changes"], {"w"})
    assert [(each.key, each.kind) for each in survey(files, {"w"}, {})] == [(f"trash/{deleted.id}", "unnamed")], (
        "still to be seen"
    )
    assert is_kept(files, deleted)


def test_trash_without_a_record_stays_until_it_expires(files: WorkspaceFiles, ws: Path) -> None:
    change, other = delete_folder(files, ws), edit(files, ws)
    files.store.record(change).unlink()
    clean_hard(files, {"w"})
    assert is_kept(files, change)
    key = f"trash/{change.id}"
    assert unclaimed(files, {"w"}) == {key}
    clean_hard(files, {"w"}, {key})
    assert not files.store.trash(change.id).exists()
    assert [each.id for each in files.store.of("w")] == [other.id]


def test_unknown_data_is_preserved_and_not_counted(files: WorkspaceFiles, ws: Path) -> None:
    unknown = [delete_folder(files, ws, "newer"), edit(files, ws, "newer", "big")]
    mine = edit(files, ws, "mine", "small")
    clean(files, before=NOW + timedelta(days=1), most=PLENTY, known=set())
    clean(files, before=None, most=2_000, known={"mine"})
    assert all(is_kept(files, change) for change in [*unknown, mine])
    first = NOW - timedelta(days=3)
    (leftover,) = survey(files, {"mine"}, {"newer": first})
    assert (leftover.key, leftover.kind, leftover.changes) == ("newer", "unknown", 2)
    assert leftover.until == first + timedelta(days=DAYS)
    clean_hard(files, {"mine"}, {"newer"})
    assert not any(is_kept(files, change) for change in unknown)
    assert files.store.of("newer") == []
    assert survey(files, {"mine"}, {}) == []


def test_data_of_a_workflow_that_reappears_is_not_deleted(files: WorkspaceFiles, ws: Path) -> None:
    change = edit(files, ws)
    clean(files, before=None, most=PLENTY, known={"w"}, expired={"w"})
    assert is_kept(files, change)
    assert files.store.of("w") == [change]


def test_a_person_deletes_only_leftovers(files: WorkspaceFiles, ws: Path) -> None:
    damaged, unknown, mine = (
        edit(files, ws, "w", "damaged"),
        delete_folder(files, ws, "newer"),
        edit(files, ws, "w", "mine"),
    )
    files.store.record(damaged).write_bytes(b"?")
    with pytest.raises(NotFoundError):
        delete(files, [f"changes/w/{mine.id}.json"], {"w"})
    with pytest.raises(NotFoundError):
        delete(files, ["../ws"], {"w"})
    with pytest.raises(NotFoundError):
        delete(files, ["newer", "nothing"], {"w"})
    assert is_kept(files, unknown), "an error deletes nothing"
    assert delete(files, ["newer"], {"w"}) > 0
    assert not files.store.trash(unknown.id).exists()
    assert is_kept(files, damaged), "another leftover stays"
    delete(files, [f"changes/w/{damaged.id}.json"], {"w"})
    assert survey(files, {"w"}, {}) == []
    assert not is_kept(files, damaged), "no record may name it any more"
    assert [each.problem for each in undo(files, [mine])] == [None]
    assert (ws / "mine").read_text() == "mine as it was"


def test_a_held_file_whose_record_is_damaged_stays_and_is_listed(files: WorkspaceFiles, ws: Path) -> None:
    (ws / "AGENTS.md").write_text("the only copy")
    with files.root(ws).located("AGENTS.md") as (folder, name):
        held = files.held.move_out(files.held_record(Author("w"), ws, "AGENTS.md"), folder, name)
    record = files.held.folder / "w" / f"{held.id}.json"
    record.write_bytes(record.read_bytes().replace(b"AGENTS", b"BGENTS"))
    clean_hard(files, set(), {"w"})
    (leftover,) = [each for each in survey(files, set(), {}) if each.kind == "unreadable"]
    assert leftover.key == f"held/w/{held.id}.json"
    assert (files.held.folder / "w" / held.id / "content").read_text() == "the only copy"
    delete(files, [leftover.key], set())
    assert not record.exists()
    assert not (files.held.folder / "w" / held.id).exists()


def test_an_interrupted_change_waits_for_its_folder(files: WorkspaceFiles, ws: Path, tmp_path: Path) -> None:
    """A kill in the middle of a change, and the disk is not connected at the next start."""
    change = edit(files, ws)
    files.store.record(change).unlink()
    files.store.begin(change)
    ws.rename(tmp_path / "unplugged")
    clean_hard(files, {"w"})
    assert is_kept(files, change)
    assert [(each.key, each.kind) for each in survey(files, {"w"}, {})] == [(f"pending/{change.id}.json", "cut_off")]
    (tmp_path / "unplugged").rename(ws)
    files.recover()
    assert [each.problem for each in undo(files, files.store.of("w"))] == [None]
    assert (ws / "text").read_text() == "text as it was"


def test_a_change_completed_before_the_kill_counts_although_the_file_changed_since(
    files: WorkspaceFiles, ws: Path
) -> None:
    change = edit(files, ws)
    files.store.begin(change)  # it was recorded, and the pending mark not yet deleted
    (ws / "text").write_text("by a person")
    clean_hard(files, set())
    assert is_kept(files, change)
    assert files.store.of("w") == [change]
    assert files.store.pending() == []


def test_a_stopped_cleaning_leaves_the_rest(files: WorkspaceFiles, ws: Path) -> None:
    changes = [edit(files, ws, "w", f"file {number}") for number in range(20)]
    answers = iter([False] * 30)
    done = clean(files, before=NOW + timedelta(days=1), most=PLENTY, known={"w"}, stop=lambda: next(answers, True))
    assert not done.finished
    assert 0 < done.given_up < len(changes)
    alive = [change for change in files.store.of("w") if change.undoable]
    assert len(alive) == len(changes) - done.given_up
    assert all(is_kept(files, change) for change in alive)
    assert clean(files, before=NOW + timedelta(days=1), most=PLENTY, known={"w"}).finished
    assert stored_size(files).changes == 0


def test_the_content_of_a_read_only_folder_is_deleted(files: WorkspaceFiles, ws: Path) -> None:
    (ws / "cache/inner").mkdir(parents=True)
    (ws / "cache/inner/file").write_text("x")
    (ws / "cache/inner").chmod(0o500)
    change = files.delete(Author("w"), place("cache", (ws,)))
    clean_hard(files, {"w"})
    assert not files.store.trash(change.id).exists()
