"""Changes by a command are found, shown and undone; what is not covered is reported."""

from __future__ import annotations

import itertools
import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from atelier_desk.workspace.checkpoints import command_changes as around
from atelier_desk.workspace.checkpoints.command_changes import ChangedSet, CommandChanges
from atelier_desk.workspace.checkpoints.undo import undo
from atelier_desk.workspace.checkpoints.undoable_file_operations import Author, WorkspaceFiles

ANN = Author("w", "r", "c", "Ann")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    (made / "src").mkdir(parents=True)
    for name, text in (
        (".gitignore", "built/\n"),
        (".env", "A=1\n"),
        ("src/a.py", "a\n"),
        ("src/run.sh", "#!/bin/sh\n"),
        ("b.txt", "b\n"),
    ):
        (made / name).write_text(text)
    (made / "src/run.sh").chmod(0o755)
    return made


def files(root: Path) -> WorkspaceFiles:
    return WorkspaceFiles(root.parent / "data", (root.parent / "data",))


def tree(root: Path) -> dict[str, tuple[str, int]]:
    """Every file with its text and mode, every folder with none."""
    found = {}
    for path in sorted(root.rglob("*")):
        text = path.read_text() if path.is_file() and not path.is_symlink() else ""
        found[path.relative_to(root).as_posix()] = (text, path.lstat().st_mode)
    return found


def said(changed: ChangedSet) -> list[str]:
    return [f"{part.action} {part.path}" for part in changed.parts]


def test_all_kinds_of_changes_are_undone(root: Path) -> None:
    kept, before = files(root), tree(root)
    around = CommandChanges(kept, [root])
    (root / "src/a.py").write_text("changed in place\n")
    (root / ".env").write_text("A=2\n")
    (root / "src/run.sh").unlink()
    (root / "b.txt").rename(root / "src/c.txt")
    (root / "new/deep").mkdir(parents=True)
    (root / "new/deep/d.txt").write_text("d\n")
    (root / "built").mkdir()
    (root / "built/out").write_text("left out\n")
    changed = around.compare(ANN)
    assert said(changed) == [
        *(
            "changed .env",
            "deleted b.txt",
            "created new/deep/d.txt",
            "changed src/a.py",
            "created src/c.txt",
            "deleted src/run.sh",
        )
    ]
    assert (changed.lost, changed.partly) == ((), False)
    assert "+changed in place" in next(part.diff for part in changed.parts if part.path == "src/a.py")
    changes = kept.store.of("w")
    assert {change.agent_name for change in changes} == {"Ann"}
    assert [each.problem for each in undo(kept, changes)] == [None] * 6
    (root / "built/out").unlink()
    (root / "built").rmdir()
    assert tree(root) == before


def test_later_changes_by_others_are_not_lost(root: Path) -> None:
    kept = files(root)
    around = CommandChanges(kept, [root])
    (root / "b.txt").write_text("by the command\n")
    around.compare(ANN)
    (root / "b.txt").write_text("by a person\n")
    assert undo(kept, kept.store.of("w"))[0].problem is not None
    assert (root / "b.txt").read_text() == "by a person\n"


def test_nothing_changed(root: Path) -> None:
    around = CommandChanges(files(root), [root])
    (root / "b.txt").touch()
    assert around.compare(ANN) == ChangedSet()


def test_too_large_files_are_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(around, "ONE_BYTES", 10)
    (root / "large.bin").write_bytes(b"x" * 11)
    look = CommandChanges(files(root), [root])
    (root / "large.bin").write_bytes(b"y" * 12)
    (root / "b.txt").write_text("small\n")
    changed = look.compare(ANN)
    assert (said(changed), changed.lost) == (["changed b.txt"], ("large.bin",))


def test_many_changes_and_a_folder_too_large_to_search(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(around, "CHANGES", 2)
    look = CommandChanges(files(root), [root])
    for number in range(4):
        (root / f"n{number}").write_text("n")
    changed = look.compare(ANN)
    assert (len(changed.parts), changed.lost) == (2, ("n2", "n3"))
    monkeypatch.setattr(around, "SECONDS", -1.0)
    monkeypatch.setattr("atelier_desk.workspace.gitignore_walk.ENTRIES", 1)
    assert CommandChanges(files(root), [root]).compare(ANN).partly


def test_a_second_folder_is_searched_and_links_are_not_followed(root: Path, tmp_path: Path) -> None:
    other, away = tmp_path / "other", tmp_path / "away"
    for folder in (other, away):
        folder.mkdir()
        (folder / "f").write_text("1\n")
    (root / "link").symlink_to(away)
    look = CommandChanges(files(root), [root, other])
    for folder in (other, away):
        (folder / "f").write_text("2\n")
    assert said(look.compare(ANN)) == [f"changed {other}/f"]


def test_at_the_time_limit_the_newest_changes_can_be_undone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = itertools.count()
    for path in list(root.iterdir()):
        path.unlink() if path.is_file() else shutil.rmtree(path)
    for number in range(6):
        (root / f"{number}").write_text("old\n")
        os.utime(root / f"{number}", (1_000_000 + number,) * 2)
    monkeypatch.setattr(around, "time", SimpleNamespace(monotonic=lambda: float(next(seconds))))
    look = CommandChanges(files(root), [root])
    for number in range(6):
        (root / f"{number}").write_text("new\n")
    changed = look.compare(ANN)
    assert (said(changed), changed.lost) == (["changed 3", "changed 4", "changed 5"], ("0", "1", "2"))


def test_a_moved_folder_is_named(root: Path) -> None:
    around = CommandChanges(files(root), [root])
    root.rename(root.parent / "elsewhere")
    changed = around.compare(ANN)
    assert (changed.gone, changed.parts, changed.lost, changed.partly) == ((str(root),), (), (), False)


@pytest.mark.skipif(sys.platform != "linux", reason="names are text here")
def test_an_undecodable_name_hides_no_other_change(root: Path) -> None:
    bad = os.path.join(os.fsencode(root), b"bad\xff.txt")  # noqa: PTH118 - the name is bytes
    kept = files(root)
    look = CommandChanges(kept, [root])
    with open(bad, "wb") as file:  # noqa: PTH123 - the name is bytes
        file.write(b"x")
    (root / "b.txt").write_text("changed\n")
    changed = look.compare(ANN)
    assert said(changed) == ["changed b.txt"]
    assert [part.model_dump_json() for part in changed.parts]
