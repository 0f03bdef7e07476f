"""Marks of files with outside content: when they apply, that no kill loses one, and that looking one up is cheap."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from atelier_desk.workspace.checkpoints import tainted_file_marks
from atelier_desk.workspace.checkpoints.recently_written_files import touched
from atelier_desk.workspace.checkpoints.tainted_file_marks import TaintMarks, outside_of
from atelier_desk.workspace.diffs import digest

WHO = ("evil.example",)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def marks(tmp_path: Path) -> TaintMarks:
    return TaintMarks(tmp_path / "data" / "taint.jsonl")


def again(marks: TaintMarks) -> TaintMarks:
    return TaintMarks(marks._file)


def write(marks: TaintMarks, root: Path, name: str, text: str = "x", sources: tuple[str, ...] = WHO) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    marks.wrote(root, name, sources, digest(text.encode()))
    path.write_text(text)
    return path


def test_a_mark_applies_only_to_the_written_content(marks: TaintMarks, root: Path) -> None:
    path = write(marks, root, "a.md")
    assert (marks.of(str(path)), marks.below(str(root)), again(marks).of(str(path))) == (WHO, WHO, WHO)
    path.write_text("y")
    assert (marks.of(str(path)), marks.below(str(root)), marks.list([str(root)])) == ((), (), [])
    path.write_text("x")
    assert marks.of(str(path)) == WHO
    path.unlink()
    assert marks.of(str(path)) == marks.below(str(root)) == ()
    assert marks.of(str(root / "b.md")) == ()


def test_links_and_other_spellings_lead_to_the_same_file(marks: TaintMarks, root: Path, tmp_path: Path) -> None:
    path = write(marks, root, "a.md")
    (tmp_path / "link").symlink_to(root)
    for spelled in (tmp_path / "link" / "a.md", root / "sub" / ".." / "a.md"):
        assert marks.of(str(spelled)) == WHO
    assert marks.below(str(tmp_path / "link")) == WHO
    (root / "A.md").write_text("another file")
    assert marks.of(str(root / "A.md")) == ()
    assert marks.of(str(path)) == WHO


def test_a_persons_confirmation_applies_to_the_current_content(marks: TaintMarks, root: Path) -> None:
    path = write(marks, root, "a.md")
    assert marks.clear([str(path)]) == [str(path)]
    assert marks.of(str(path)) == again(marks).of(str(path)) == ()
    assert marks.clear([str(path)]) == []
    write(marks, root, "a.md", "worse")
    assert marks.of(str(path)) == WHO
    write(marks, root, "sub/b.md")
    assert marks.clear([str(root)]) == [str(path), str(root / "sub/b.md")]


def test_a_kill_while_a_command_runs_leaves_the_folder_marked(marks: TaintMarks, root: Path) -> None:
    (root / "a.md").write_text("x")
    marks.begin([root], WHO)
    killed = again(marks)
    assert killed.of(str(root / "a.md")) == WHO
    assert [(mark.path, mark.folder) for mark in killed.list()] == [(str(root), True)]
    assert killed.clear([str(root / "a.md")]) == [str(root / "a.md")]
    (root / "b.md").write_text("x")
    assert (killed.of(str(root / "a.md")), killed.of(str(root / "b.md"))) == ((), WHO)
    assert killed.clear([str(root / "none.md")]) == []
    assert killed.clear([str(root)]) == [str(root)]
    assert again(killed).of(str(root / "b.md")) == ()


def test_parallel_commands_keep_the_folder_marked_until_the_last_has_ended(marks: TaintMarks, root: Path) -> None:
    first = marks.begin([root], WHO)
    second = marks.begin([root], ("other.example",))
    marks.end(first)
    assert [mark.folder for mark in marks.list()] == [True]
    (root / "a.md").write_text("x")
    marks.end(second)
    assert [(mark.path, mark.sources) for mark in again(marks).list()] == [(str(root / "a.md"), ("other.example",))]


def test_a_folder_marked_before_stays_marked(marks: TaintMarks, root: Path) -> None:
    marks.begin([root], WHO)
    after_a_kill = again(marks)
    after_a_kill.end(after_a_kill.begin([root], WHO))
    assert [mark.folder for mark in after_a_kill.list()] == [True]


def test_an_incompletely_searched_folder_stays_marked(
    marks: TaintMarks, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = marks.begin([root], WHO)
    monkeypatch.setattr("atelier_desk.workspace.checkpoints.recently_written_files.ENTRIES", 3)
    for number in range(5):
        (root / f"{number}.md").write_text("x")
    marks.end(command)
    assert str(root) in [mark.path for mark in marks.list() if mark.folder]


def test_a_folder_with_very_many_new_files_is_marked(
    marks: TaintMarks, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tainted_file_marks, "MOST_FILES", 3)
    (root / "src").mkdir()
    command = marks.begin([root], WHO)
    for number in range(5):
        (root / "modules" / "deep").mkdir(parents=True, exist_ok=True)
        (root / "modules" / "deep" / f"{number}.js").write_text("x")
        (root / f"{number}.md").write_text(str(number))
    (root / "src" / "a.py").write_text("x")
    marks.end(command)
    folders = [mark.path for mark in marks.list() if mark.folder]
    assert folders == [str(root / "modules")]
    assert len(marks.list()) == 7


@pytest.mark.parametrize("damage", [b'{"path": "/x", "con', b"\xff\xfe\n", b"[]\n", b'{"path": 1}\n', b"null\n"])
def test_an_unreadable_line_affects_no_other(marks: TaintMarks, root: Path, damage: bytes) -> None:
    path = write(marks, root, "a.md")
    with marks._file.open("ab") as file:
        file.write(damage)
    damaged = again(marks)
    other = write(damaged, root, "b.md")
    assert (again(damaged).of(str(path)), again(damaged).of(str(other))) == (WHO, WHO)


def test_an_unreadable_line_is_preserved_when_the_list_is_rewritten(
    marks: TaintMarks, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tainted_file_marks, "_SPARE_LINES", 2)
    marks._file.parent.mkdir(parents=True)
    marks._file.write_bytes(b'{"path": "/x", "content": "of a newer Atelier"}\n')
    path = write(marks, root, "a.md")
    for number in range(10):
        write(marks, root, "b.md", str(number))
        marks.clear([str(root / "b.md")])
    assert again(marks).of(str(path)) == WHO
    lines = marks._file.read_bytes().splitlines()
    assert len(lines) == 2
    assert b"of a newer Atelier" in lines[0]


def test_the_list_is_shortened_and_private(marks: TaintMarks, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tainted_file_marks, "_SPARE_LINES", 5)
    path = write(marks, root, "a.md")
    for number in range(20):
        write(marks, root, "b.md", str(number))
        marks.clear([str(root / "b.md")])
    assert marks._file.stat().st_mode & 0o077 == 0
    assert again(marks).of(str(path)) == WHO
    assert len(marks._file.read_bytes().splitlines()) == 1
    assert json.loads(marks._file.read_text())["path"] == str(path)


def test_only_sources_outside_of_the_folder_count(root: Path) -> None:
    (root / "a.md").write_text("x")
    (root / "run.sh").write_text("x")
    named = (str(root / "a.md"), "evil.example", str(root / "gone.md"), f"$ {root}/run.sh", f"{root}/a.md (imported)")
    assert outside_of(root, named) == named[1:]


def test_a_command_cannot_hide_its_files_by_setting_times(root: Path) -> None:
    since = time.time_ns() - 1_000_000
    path = root / "a.md"
    path.write_text("x")
    os.utime(path, (0, 0))
    assert touched(str(root), since) == ([str(path)], True)


def test_ten_thousand_marks_are_looked_up_quickly(marks: TaintMarks, root: Path) -> None:
    marks._add(*(tainted_file_marks.TaintMark(str(root / f"{number}.md"), "0" * 64, WHO) for number in range(10_000)))
    (root / "1.md").write_text("x")
    began = time.process_time()
    assert marks.below(str(root)) == ()
    assert marks.of(str(root / "1.md")) == ()
    assert time.process_time() - began < 1.0
