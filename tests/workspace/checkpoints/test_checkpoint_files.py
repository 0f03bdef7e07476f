"""What is stored of changes, and where: folders of earlier versions are read by these exact names, and unreadable
does not mean empty.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from atelier_desk.domain.errors import NotFoundError, ToolError, UsageError
from atelier_desk.domain.file_change import Change
from atelier_desk.workspace.checkpoints.checkpoint_files import CheckpointFiles
from atelier_desk.workspace.checkpoints.records import Stopped

DATA = b"content"
NAME = hashlib.sha256(DATA).hexdigest()


def change(id: str = "0001-a", workflow_id: str = "w", **more: object) -> Change:
    facts = {
        "id": id,
        "workflow_id": workflow_id,
        "at": datetime(2026, 11, 23, tzinfo=UTC),
        "action": "changed",
        "root": "/ws",
        "path": "a",
    }
    return Change.model_validate({**facts, **more})


@pytest.fixture
def kept(tmp_path: Path) -> CheckpointFiles:
    return CheckpointFiles(tmp_path / "checkpoints")


@pytest.fixture
def unlisted(kept: CheckpointFiles, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes the system refuse to list one of the folders."""
    real = os.listdir

    def refuse(name: str) -> None:
        def listdir(path: Path) -> list[str]:
            if path == kept.folder / name:
                raise PermissionError(13, "Permission denied")
            return real(path)

        monkeypatch.setattr(os, "listdir", listdir)

    return refuse


def names(kept: CheckpointFiles) -> set[str]:
    return {path.relative_to(kept.folder).as_posix() for path in kept.folder.rglob("*") if path.is_file()}


def test_the_names_of_all_files(kept: CheckpointFiles) -> None:
    assert kept.store(DATA) == NAME
    kept.begin(change("0002-b"))
    kept.save(change())
    kept.set_cleaned_by("token")
    with kept.trash_folder("0001-a", make=True) as handle:
        os.close(os.open("content", os.O_CREAT | os.O_WRONLY, dir_fd=handle))
    assert names(kept) == {
        f"objects/{NAME[:2]}/{NAME[2:]}", "pending/0002-b.json", "changes/w/0001-a.json", "trash/0001-a/content",
        "cleaned-by",
    }  # fmt: skip
    assert (kept.stored(), kept.trashed(), kept.cleaned_by()) == ({NAME}, {"0001-a"}, "token")
    assert kept.size() == sum((kept.folder / name).stat().st_size for name in names(kept) if name != "cleaned-by")


@pytest.mark.parametrize("call", [CheckpointFiles.trash, CheckpointFiles.read])
def test_no_name_escapes_the_folder(kept: CheckpointFiles, call: Callable[[CheckpointFiles, str], object]) -> None:
    with pytest.raises(UsageError, match="other"):
        call(kept, "../other")


def test_content_is_returned_or_reported_as_damaged_or_missing(kept: CheckpointFiles) -> None:
    assert (kept.has(NAME), kept.size_of(NAME)) == (False, 0)
    kept.store(DATA)
    path = kept.folder / "objects" / NAME[:2] / NAME[2:]
    assert (kept.content(NAME), kept.has(NAME), kept.size_of(NAME)) == (DATA, True, len(DATA))
    path.write_bytes(b"c0ntent")
    with pytest.raises(NotFoundError) as damaged:
        kept.content(NAME)
    assert (damaged.value.code, str(path) in str(damaged.value)) == ("damaged", True)
    assert kept.store(DATA) == NAME
    assert kept.content(NAME) == DATA, "the same content again replaces what was damaged"
    kept.drop_content(NAME)
    kept.drop_content(NAME)  # repeating it is no error
    with pytest.raises(NotFoundError) as gone:
        kept.content(NAME)
    assert (gone.value.code, kept.stored()) == ("not_found", set())


def test_a_change_is_pending_until_done_or_dropped(kept: CheckpointFiles) -> None:
    one, undo = change(), change("0002-b", undoes="0001-a")
    kept.begin(one)
    assert (kept.pending(), kept.recorded(one), kept.of("w")) == ([one], False, [])
    kept.finish(one)
    assert (kept.pending(), kept.recorded(one), kept.of("w")) == ([], True, [one])
    kept.begin(undo)
    kept.finish(undo)
    assert (kept.pending(), kept.of("w")) == ([undo], [one, undo]), (
        "that of an undo waits until all of the undo is done"
    )
    for _ in range(2):
        kept.drop(undo)
        assert kept.pending() == []


def test_a_deleted_change_deletes_its_trash(kept: CheckpointFiles) -> None:
    one, other = change(), change("0002-b")
    for each in (one, other):
        kept.save(each)
        with kept.trash_folder(each.id, make=True):
            pass
    for _ in range(2):
        kept.remove(one)
        assert (kept.of("w"), kept.trashed(), kept.recorded(one)) == ([other], {other.id}, False)
    kept.empty_trash(other)
    assert (kept.of("w"), kept.trashed()) == ([other], set())


def test_the_changes_of_one_workflow_are_listed_oldest_first(kept: CheckpointFiles) -> None:
    made = [change(id) for id in ("0003-a", "0001-b", "0002-c")]
    for each in (*made, change("0004-d", "other")):
        kept.save(each)
    assert [each.id for each in kept.of("w")] == ["0001-b", "0002-c", "0003-a"]
    assert kept.get("w", "0002-c") == made[2]
    with pytest.raises(NotFoundError, match="0004-d"):
        kept.get("w", "0004-d")
    (kept.folder / "changes/w/0001-b.json").write_bytes(b"half")
    changes, unread = kept.read("w")
    assert ([each.id for each in changes], [each.path.name for each in unread]) == (
        ["0002-c", "0003-a"],
        ["0001-b.json"],
    )


def test_the_referenced_contents_are_known_only_when_all_records_are_readable(
    kept: CheckpointFiles, unlisted: Callable[[str], None]
) -> None:
    assert (kept.references().changes, kept.references().unread) == ({}, ()), (
        "a folder in which nothing was kept names nothing"
    )
    kept.save(change())
    kept.save(change("0002-b", "other"))
    kept.begin(change("0003-c"))
    found = kept.references()
    assert (set(found.changes), set(found.pending), found.unread) == ({"0001-a", "0002-b"}, {"0003-c"}, ())
    with pytest.raises(Stopped):
        kept.references(lambda: True)
    for name in ("changes/w/0001-a.json", "pending/0003-c.json"):
        (kept.folder / name).write_bytes(b"half")
    found = kept.references()
    assert (set(found.changes), {each.path.stem for each in found.unread}) == ({"0002-b"}, {"0001-a", "0003-c"})
    unlisted("changes")
    assert [each.folder for each in kept.references().unread if each.path.name == "changes"] == [True]


@pytest.mark.parametrize("there", ["content", "trash", "both"])
def test_missing_records_are_noticed_while_their_contents_exist(kept: CheckpointFiles, there: str) -> None:
    if there != "trash":
        kept.store(DATA)
    if there != "content":
        with kept.trash_folder("0001-a", make=True):
            pass
    (missed,) = kept.references().unread
    assert (missed.path, missed.folder, missed.reason) == (kept.folder / "changes", True, "it is missing")
    assert kept.references().unused_contents(kept.stored()) == set()
    assert kept.record_names() == ({"": set()}, False)
    kept.save(change())
    assert kept.references().unread == ()


def test_names_of_records_include_unreadable_ones(kept: CheckpointFiles, unlisted: Callable[[str], None]) -> None:
    kept.save(change())
    kept.save(change("0002-b", "other"))
    kept.begin(change("0003-c"))
    (kept.folder / "changes/w/0001-a.json").write_bytes(b"half")
    (kept.folder / "changes/w/.0009-z.json").touch()  # a write interrupted by a kill
    (kept.folder / "changes/w/notes.txt").touch()
    (kept.folder / "changes/empty").mkdir()
    (kept.folder / "changes/empty/.0009-z.json").touch()
    assert kept.record_names() == ({"": {"0003-c"}, "w": {"0001-a"}, "other": {"0002-b"}, "empty": set()}, True)
    assert (kept.with_records(), kept.with_records("w"), kept.with_records("empty"), kept.with_records("no")) == (
        {"w", "other"}, {"w"}, set(), set(),
    )  # fmt: skip
    unlisted("changes/w")
    assert (kept.record_names()[1], kept.with_records(), kept.with_records("w"), kept.with_records("other")) == (
        False, None, None, {"other"},
    )  # fmt: skip


def test_a_folder_in_the_trash_is_synced_before_the_original_is_deleted(
    kept: CheckpointFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    real = os.fsync

    def fsync(handle: int) -> None:
        synced.append(os.fstat(handle).st_ino)
        real(handle)

    with pytest.raises(ToolError) as gone, kept.trash_folder("0001-a"):
        pass
    assert (gone.value.code, kept.trashed()) == ("not_found", set())
    monkeypatch.setattr(os, "fsync", fsync)
    with kept.trash_folder("0001-a", make=True):
        synced.clear()
    path = kept.folder / "trash/0001-a"
    assert synced == [path.stat().st_ino, path.parent.stat().st_ino]
    assert path.stat().st_mode & 0o777 == 0o700
    with kept.trash_folder("0001-a") as handle:
        assert os.fstat(handle).st_ino == path.stat().st_ino
    assert len(synced) == 2, "one that is only read is not written"


def test_an_unreadable_date_of_the_last_cleaning_is_unknown(kept: CheckpointFiles) -> None:
    assert kept.cleaned_by() == ""
    kept.set_cleaned_by("one")
    (kept.folder / "cleaned-by").write_bytes(b"\xff")
    assert kept.cleaned_by() == ""
