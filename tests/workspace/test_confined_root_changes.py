"""The results of creating, replacing, moving and deleting, with and without the system calls for them."""

# judges: app/atelier_desk/workspace/atomic_rename.py
# judges: app/atelier_desk/workspace/openat.py
from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import os
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from atelier_desk.domain.errors import ToolError
from atelier_desk.workspace import atomic_rename, confined_root, file_copying, openat
from atelier_desk.workspace.confined_root import ConfinedRoot, problem
from tests.helpers.error_codes import raises_code


def _refused(*_given: object) -> int:
    ctypes.set_errno(errno.EINVAL)
    return -1


@pytest.fixture(params=["renameat2", "without", "not on this disk"])
def calls(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Once with the system call that renames without replacing, once on a system without it, once on a disk that
    does not support it.
    """
    if request.param != "renameat2":
        found = _refused if request.param == "not on this disk" else None
        monkeypatch.setattr(atomic_rename, "_renameat2", lambda: found)
    return str(request.param)


def code_of(work: Callable[[], object]) -> str:
    with pytest.raises(ToolError) as refused:
        work()
    return refused.value.code


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def tree(folder: Path) -> dict[str, str | None]:
    return {
        str(path.relative_to(folder)): path.read_text() if path.is_file() and not path.is_symlink() else None
        for path in sorted(folder.rglob("*"))
    }


def test_the_contents_of_a_folder_are_listed(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("12345")
    (tmp_path / "b.txt").chmod(0o640)
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to("b.txt")
    (tmp_path / "nowhere").symlink_to("gone")
    os.mkfifo(tmp_path / "pipe")
    confined = ConfinedRoot(tmp_path)
    assert [(name, each.kind) for name, each in confined.names()] == [
        ("a", "folder"), ("b.txt", "file"), ("link", "link"), ("nowhere", "link"), ("pipe", "special"),
    ]  # fmt: skip
    file, info = confined.inspect("link"), (tmp_path / "b.txt").stat()
    assert file is not None
    assert (file.kind, file.size, file.mode, file.modified) == ("file", 5, 0o640, info.st_mtime)
    assert file.identity == (info.st_dev, info.st_ino)
    link = confined.inspect("link", follow=False)
    assert link is not None
    assert link.kind == "link"
    assert confined.inspect("gone") is confined.inspect("gone/deeper") is None
    assert code_of(lambda: confined.inspect("b.txt/below")) == "not_a_folder"
    assert code_of(lambda: confined.read("pipe", 10)) == code_of(lambda: confined.write("pipe", b"x")) == "not_a_file"
    assert code_of(lambda: confined.read("a", 10)) == code_of(lambda: confined.write("a", b"x")) == "not_a_file"


def test_a_refusal_names_the_requested_path(tmp_path: Path) -> None:
    confined = ConfinedRoot(tmp_path)
    (tmp_path / "big").write_bytes(b"123456")
    for work, text in (
        (lambda: confined.read("gone", 1), "gone does not exist"),
        (lambda: confined.read("big", 5), "big has 6 bytes; at most 5"),
        (lambda: confined.write("big", b"x", new=True), "big exists already"),
        (lambda: confined.make_folder("big/x"), "big is no folder"),
        (lambda: confined.rename("big", confined, "big"), "big exists already"),
    ):
        with pytest.raises(ToolError) as refused:
            work()
        assert text in str(refused.value)
    assert problem(OSError("odd"), "x").code == problem(OSError(errno.EIO, "odd"), "x").code == "io"
    assert str(problem(OSError(errno.EIO, "odd"), "x")) == "x: odd."


@pytest.mark.parametrize("walk", [False, True], ids=["openat2", "walk"])
def test_no_descriptor_is_left_open(tmp_path: Path, walk: bool, calls: str) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / "out").symlink_to("/etc")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "to-a").symlink_to("a")
    confined = ConfinedRoot(tmp_path, [tmp_path / "closed"], walk=walk)
    real = ConfinedRoot(tmp_path.resolve(), walk=walk, real=True)

    def everything() -> None:
        for each in (confined, real):
            each.make_folder("b/c")
            each.write("b/c/new", b"x")
            each.write("b/c/new", b"y", expected=digest(b"x"))
            each.rename("b/c/new", each, "b/moved")
            each.remove("b/moved")
            each.remove_empty("b/c")
            each.remove_empty("b")
            assert each.read("to-a", 5) == b"a"
            each.names()
            for path in ("gone", "out/passwd", "loop", "a/b", "gone/deeper", "../x", "b"):
                for work in (
                    each.inspect,
                    each.names,
                    partial(each.read, most=5),
                    partial(each.write, data=b"x", expected="no"),
                ):
                    with contextlib.suppress(ToolError):
                        work(path)

    everything()
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    everything()
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_a_file_is_replaced_only_while_it_is_unchanged(tmp_path: Path, calls: str) -> None:
    (tmp_path / "a").write_text("old")
    confined = ConfinedRoot(tmp_path)
    assert code_of(lambda: confined.write("a", b"new", expected=digest(b"other"))) == "changed"
    assert tree(tmp_path) == {"a": "old"}
    confined.write("a", b"new", expected=digest(b"old"))
    assert tree(tmp_path) == {"a": "new"}


def test_a_write_by_others_at_the_last_moment_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They write between check and exchange: their file is restored, including what they write in the meantime."""
    path = tmp_path / "a"
    path.write_text("old")
    real = atomic_rename.exchange
    for later in ("", "theirs, again"):
        path.write_text("old")
        times: list[int] = []

        def late(folder: int, one: str, other: str, times: list[int] = times, later: str = later) -> bool:
            times.append(1)
            if len(times) == 1:
                path.write_text("theirs")
            elif len(times) == 2 and later:
                path.write_text(later)
            return real(folder, one, other)

        monkeypatch.setattr(confined_root, "exchange", late)
        assert code_of(lambda: ConfinedRoot(tmp_path).write("a", b"new", expected=digest(b"old"))) == "changed"
        assert tree(tmp_path) == {"a": later or "theirs"}


def test_a_file_deleted_before_it_is_replaced_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_text("old")
    real = file_copying.digest_of

    def gone(folder: int, name: str) -> str:
        (tmp_path / "a").unlink(missing_ok=True)
        return real(folder, name)

    monkeypatch.setattr(confined_root, "digest_of", gone)
    assert code_of(lambda: ConfinedRoot(tmp_path).write("a", b"new", expected=digest(b"old"))) == "changed"
    assert tree(tmp_path) == {}


def test_a_name_created_at_the_last_moment_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "mine").write_text("mine")
    real = atomic_rename.rename_new

    def late(source: int, name: str, target: int, new: str) -> None:
        (tmp_path / "a").write_text("theirs")
        real(source, name, target, new)

    monkeypatch.setattr(confined_root, "rename_new", late)
    confined = ConfinedRoot(tmp_path)
    for work in (
        lambda: confined.write("a", b"new", new=True),
        lambda: confined.rename("mine", confined, "a"),
        lambda: confined.rename("folder", confined, "a"),
    ):
        (tmp_path / "a").unlink(missing_ok=True)
        assert code_of(work) == "exists"
        assert tree(tmp_path) == {"a": "theirs", "folder": None, "mine": "mine"}


def test_a_temporary_file_of_somebody_else_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("theirs")
    makes: tuple[Callable[[Path], object], ...] = (
        lambda path: path.write_text("begun"),
        lambda path: path.symlink_to("theirs"),
    )
    for make in makes:
        beside = tmp_path / ".atelier-known.tmp"
        make(beside)
        assert code_of(lambda: ConfinedRoot(tmp_path).write("a", b"new", temporary=".atelier-known.tmp")) == "exists"
        assert (tmp_path / "theirs").read_text() == "theirs"
        assert not (tmp_path / "a").exists()
        assert beside.read_text() in ("begun", "theirs")
        beside.unlink()


def test_files_folders_and_links_themselves_are_moved(tmp_path: Path, calls: str) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    (one / "folder").mkdir(parents=True)
    other.mkdir()
    (one / "folder" / "a").write_text("a")
    (one / "b").write_text("b")
    (one / "link").symlink_to("b")
    source, target = ConfinedRoot(one), ConfinedRoot(other)
    source.rename("folder", target, "moved")
    source.rename("link", target, "link")
    source.rename("b", source, "c")
    assert (other / "link").is_symlink()
    assert (tree(one), tree(other)) == ({"c": "b"}, {"link": None, "moved": None, "moved/a": "a"})
    (one / "d").write_text("d")
    assert code_of(lambda: source.rename("d", source, "c")) == "exists"
    source.rename("d", source, "c", overwrite=True)
    assert tree(one) == {"c": "d"}
    assert code_of(lambda: source.rename("c", target, "moved", overwrite=True)) == "exists", (
        "a folder is never replaced"
    )
    assert code_of(lambda: target.rename("moved", target, "moved", overwrite=True)) == "into_itself"
    assert code_of(lambda: target.rename("moved", target, "moved/below")) == "into_itself"
    assert code_of(lambda: target.rename("gone", target, "x")) == "not_found"
    with pytest.raises(ToolError, match="control characters"):
        source.rename("c", source, "x\ny")
    assert (tree(one), tree(other)) == ({"c": "d"}, {"link": None, "moved": None, "moved/a": "a"})


def test_a_move_to_another_disk_is_refused_with_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_text("a")

    def across(*_given: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(confined_root, "rename_new", across)
    confined = ConfinedRoot(tmp_path)
    with raises_code(ToolError, "other_disk", match="copy it, then delete it"):
        confined.rename("a", confined, "b")


def test_the_workspace_folder_and_the_programs_data_are_not_moved(tmp_path: Path) -> None:
    (tmp_path / "ws" / "above" / "data").mkdir(parents=True)
    (tmp_path / "ws" / "beside").mkdir()
    confined = ConfinedRoot(tmp_path / "ws", [tmp_path / "ws" / "above" / "data"])
    assert code_of(lambda: confined.rename("", confined, "x")) == "whole"
    for path in ("above", "above/data"):
        assert code_of(lambda path=path: confined.rename(path, confined, "x")) == "closed"  # type: ignore[misc]
        assert code_of(lambda path=path: confined.refuse_root(path)) == "closed"  # type: ignore[misc]
    assert code_of(lambda: confined.names("above/data")) == "closed"
    confined.rename("beside", confined, "above/moved")
    assert (tmp_path / "ws" / "above" / "moved").is_dir()


def test_deleting_a_link_never_deletes_its_target(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "a").write_text("a")
    (tmp_path / "to-empty").symlink_to("empty")
    (tmp_path / "to-a").symlink_to("a")
    confined = ConfinedRoot(tmp_path)
    assert code_of(lambda: confined.remove_empty("to-empty")) == "not_a_folder"
    confined.remove("to-a")
    confined.remove("to-empty")
    assert tree(tmp_path) == {"a": "a", "empty": None}
    (tmp_path / "empty" / "x").write_text("x")
    assert code_of(lambda: confined.remove_empty("empty")) == "not_empty"


def test_missing_folders_are_created_and_reported_from_the_top(tmp_path: Path) -> None:
    confined = ConfinedRoot(tmp_path)
    assert confined.make_folder("a/b/c") == ["a", "a/b", "a/b/c"]
    assert confined.make_folder("a/b/d") == ["a/b/d"]
    assert confined.make_folder("a/b") == confined.make_folder("") == []
    (tmp_path / "link").symlink_to("a")
    assert confined.make_folder("link/e") == ["link/e"]
    assert (tmp_path / "a" / "e").is_dir()


def test_a_relative_link_in_a_subfolder_is_resolved_there(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_text("below")
    (tmp_path / "file").write_text("above")
    (tmp_path / "a" / "link").symlink_to("b/file")
    (tmp_path / "up").symlink_to("a/..")
    (tmp_path / "a" / "up").symlink_to("..")
    confined = ConfinedRoot(tmp_path)
    assert confined.read("a/link", 10) == b"below"
    assert confined.read("up/file", 10) == confined.read("a/up/file", 10) == b"above"
    confined.write("a/link", b"new")
    assert (tmp_path / "a" / "b" / "file").read_text() == "new"
    for path in ("", ".", "up", "a/up", "a/.."):
        with confined.located(path) as (_folder, name):
            assert name == "."


def test_extended_attributes_and_the_requested_mode_are_stored(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(0o600)
    try:
        os.setxattr(path, "user.origin", b"somewhere")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    confined = ConfinedRoot(tmp_path)
    confined.write("a", b"new", mode=0o750)
    assert (os.getxattr(path, "user.origin"), stat.S_IMODE(path.stat().st_mode)) == (b"somewhere", 0o750)
    confined.write("b", b"new", mode=0o640)
    assert stat.S_IMODE((tmp_path / "b").stat().st_mode) == 0o640


def test_a_long_file_is_written_and_read_completely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Although the system writes and reads a few bytes at a time."""
    real_write, real_read = os.write, os.read
    monkeypatch.setattr(os, "write", lambda handle, data: real_write(handle, bytes(data)[:7]))
    monkeypatch.setattr(os, "read", lambda handle, most: real_read(handle, min(most, 5)))
    content = bytes(range(256))
    confined = ConfinedRoot(tmp_path)
    confined.write("a", content)
    assert confined.read("a", 256) == content


def test_a_granted_folder_that_became_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real" / "ws").mkdir(parents=True)
    (tmp_path / "real" / "ws" / "a").write_text("a")
    folder = tmp_path.resolve() / "real" / "ws"
    assert ConfinedRoot(folder, real=True).read("a", 5) == b"a"
    for moved in (folder, folder.parent):
        moved.rename(tmp_path / "away")
        moved.symlink_to(tmp_path / "away")
        assert code_of(lambda: ConfinedRoot(folder, real=True).read("a", 5)) == "workspace_gone"
        assert ConfinedRoot(folder).read("a", 5) == b"a"
        moved.unlink()
        (tmp_path / "away").rename(moved)


def test_a_system_that_cannot_open_below_a_folder_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "supports_dir_fd", set())
    assert not openat.supported()
    assert code_of(lambda: ConfinedRoot(tmp_path).names()) == "unsupported"


def test_a_folder_being_moved_is_retried_and_then_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    assert ConfinedRoot(tmp_path).names("a") == []
    real, tries = openat._libc(), []

    class Busy:
        def __init__(self, times: int, number: int = errno.EAGAIN) -> None:
            self.times, self.number = times, number

        def syscall(self, *given: object) -> int:
            tries.append(1)
            if len(tries) <= self.times:
                monkeypatch.setattr(ctypes, "get_errno", lambda: self.number)
                return -1
            return int(real.syscall(*given))

    for times, number, code in (
        (63, errno.EAGAIN, ""),
        (64, errno.EAGAIN, "changing"),
        (1, errno.EINTR, ""),
        (1, errno.EXDEV, "outside"),
    ):
        tries.clear()
        busy = Busy(times, number)
        monkeypatch.setattr(openat, "_libc", lambda busy=busy: busy)
        if code:
            assert code_of(lambda: ConfinedRoot(tmp_path).names("a")) == code
        else:
            assert ConfinedRoot(tmp_path).names("a") == []
        assert len(tries) == (times if code else times + 1)


# equivalent: confined_root.py module: `1024` → `1025`
#   How much is read at once is a choice: nothing but the number of calls follows from it.
# equivalent: confined_root.py module: `1024` → `1023`
#   As above.
# equivalent: confined_root.py module: `1024 * 1024` → `1024 // 1024`
#   As above.


def test_a_disk_without_hard_links_accepts_free_names_and_replaces_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_given: object, **_more: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(atomic_rename, "_renameat2", lambda: None)
    monkeypatch.setattr(os, "link", refused)
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "theirs").write_text("theirs")
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        (tmp_path / "nowhere").symlink_to("gone")
        for taken in ("theirs", "nowhere"):
            with pytest.raises(FileExistsError):
                atomic_rename.rename_new(folder, "mine", folder, taken)
        assert tree(tmp_path) == {"mine": "mine", "nowhere": None, "theirs": "theirs"}
        atomic_rename.rename_new(folder, "mine", folder, "free")
        assert tree(tmp_path) == {"free": "mine", "nowhere": None, "theirs": "theirs"}
    finally:
        os.close(folder)
