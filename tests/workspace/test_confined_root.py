"""Nothing outside a granted folder can be reached: by no spelling, link or kind of file, with either way of
resolving paths.
"""

# judges: app/atelier_desk/workspace/openat.py
# judges: app/atelier_desk/workspace/atomic_rename.py
from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from atelier_desk.domain.errors import AtelierError, ToolError
from atelier_desk.workspace.checkpoints.undoable_file_operations import Author, WorkspaceFiles
from atelier_desk.workspace.confined_root import TEMPORARY, ConfinedRoot
from atelier_desk.workspace.path_resolution import WorkspacePath, place
from tests.helpers.error_codes import raises_code

SECRET = b"secret of somebody else\n"
AUTHOR = Author("workflow")

UP = [
    "..",
    "../",
    "../secret.txt",
    "../outside/secret.txt",
    "a/../../secret.txt",
    "a/b/../../../secret.txt",
    "./../secret.txt",
    "././../secret.txt",
    "a//..//../secret.txt",
    "../ws/../secret.txt",
    "a/../a/../../outside/secret.txt",
    "sub/../../secret.txt",
    "../../../../../../etc/passwd",
    "..//secret.txt",
    ".././secret.txt",
    "sub/./../../secret.txt",
    "nowhere/../../secret.txt",
    "a.txt/../../secret.txt",
]
ABSOLUTE = [
    "/etc/passwd",
    "/etc/shadow",
    "//etc/passwd",
    "///etc/passwd",
    "/etc/../etc/passwd",
    "/",
    "//",
    "/proc/self/environ",
    "/proc/self/root/etc/passwd",
    "/proc/self/cwd",
    "/dev/zero",
    "/dev/null",
    "/dev/stdin",
    "/proc/self/fd/0",
    "/proc/1/root",
    "/tmp/../etc/passwd",
    "{ws}/../secret.txt",
    "{ws}x/secret.txt",
    "{ws}/../outside/secret.txt",
    "{ws}/sub/../../secret.txt",
    "{outside}/secret.txt",
    "{outside}",
    "~/.ssh/id_rsa",
    "~",
    "~/../../etc/passwd",
]
LINKS = [
    "file-link",
    "absolute-link",
    "folder-link/secret.txt",
    "folder-link/new.txt",
    "folder-link",
    "chain-1",
    "chain-2/secret.txt",
    "chain-3",
    "sub/up-link/secret.txt",
    "sub/up-link/../secret.txt",
    "up-up/secret.txt",
    "up-up/outside/secret.txt",
    "etc-link/passwd",
    "etc-link",
    "dangling-out",
    "dangling-out/x",
    "loop-a",
    "loop-b/x",
    "self-loop",
    "self-loop/x",
    "proc-link",
    "proc-root/etc/passwd",
    "proc-cwd",
    "proc-cwd/secret.txt",
    "fd-link",
    "sub/file-link-up",
    "sub/deep/far-link",
    "inside-then-out/secret.txt",
    "dot-link/folder-link/secret.txt",
    "long-chain-0",
    "back-link/secret.txt",
    "absolute-inside",
    "absolute-inside/b.txt",
]
SPECIAL = ["fifo", "socket", "sub/fifo", "link-to-fifo", "sub"]
NAMES = [
    "nul\0byte",
    "\0",
    "a.txt\0.png",
    "",
    "x" * 256,
    "y/" * 2100 + "z",
    "\ud800",
    "é" * 200,
    "a.txt/below",
    "a.txt/../../x",
    "folder-link\n/secret.txt",
]


@pytest.fixture
def area(tmp_path: Path) -> Iterator[Path]:
    """``ws`` is granted; next to it is what must not be reached."""
    outside, ws = tmp_path / "outside", tmp_path / "ws"
    for folder in (outside, ws / "sub" / "deep", ws / "a" / "b", tmp_path / "wsx"):
        folder.mkdir(parents=True)
    for path in (tmp_path / "secret.txt", outside / "secret.txt", tmp_path / "wsx" / "secret.txt"):
        path.write_bytes(SECRET)
    (ws / "a.txt").write_text("mine\n")
    (ws / "a" / "b.txt").write_text("mine too\n")
    links = {
        "file-link": "../secret.txt",
        "absolute-link": str(tmp_path / "secret.txt"),
        "folder-link": "../outside",
        "chain-1": "chain-2/secret.txt",
        "chain-2": "sub/up-link/outside",
        "chain-3": "chain-1",
        "sub/up-link": "../..",
        "up-up": "..",
        "etc-link": "/etc",
        "dangling-out": "../not-there-yet",
        "loop-a": "loop-b",
        "loop-b": "loop-a",
        "self-loop": "self-loop",
        "proc-link": "/proc/self/environ",
        "proc-root": "/proc/self/root",
        "proc-cwd": "/proc/self/cwd",
        "fd-link": "/proc/self/fd/0",
        "sub/file-link-up": "../../secret.txt",
        "sub/deep/far-link": "../../../outside/secret.txt",
        "inside-then-out": "a/../../outside",
        "dot-link": ".",
        "back-link": "../ws/../outside",
        "absolute-inside": str(ws / "a"),
        "link-to-fifo": "fifo",
        **{f"long-chain-{number}": f"long-chain-{number + 1}" for number in range(45)},
        "good-file": "a.txt",
        "good-folder": "a",
        "sub/good-up": "../a/b.txt",
    }
    for name, target in links.items():
        (ws / name).symlink_to(target)
    os.mkfifo(ws / "fifo")
    os.mkfifo(ws / "sub" / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(ws)
        server.bind("socket")
        os.chdir(here)
        yield tmp_path


Operation = Callable[[WorkspaceFiles, WorkspacePath, Path, bool], object]


def _root(files: WorkspaceFiles, where: WorkspacePath, walk: bool) -> ConfinedRoot:
    return ConfinedRoot(where.root, walk=walk)


OPERATIONS: dict[str, Operation] = {
    "read": lambda files, where, ws, walk: _root(files, where, walk).read(where.path, 1_000_000),
    "list": lambda files, where, ws, walk: _root(files, where, walk).names(where.path),
    "write": lambda files, where, ws, walk: _root(files, where, walk).write(where.path, b"overwritten"),
    "new": lambda files, where, ws, walk: _root(files, where, walk).write(f"{where.path}/new.txt", b"new", new=True),
    "make": lambda files, where, ws, walk: _root(files, where, walk).make_folder(f"{where.path}/made/deeper"),
    "kept write": lambda files, where, ws, walk: files.write(AUTHOR, where, b"overwritten"),
    "delete": lambda files, where, ws, walk: files.delete(AUTHOR, where),
    "move out": lambda files, where, ws, walk: files.move(AUTHOR, where, WorkspacePath(ws, "moved", "moved")),
    "move in": lambda files, where, ws,
    walk: files.move(AUTHOR, WorkspacePath(ws, "a.txt", "a.txt"), where, overwrite=True),
    "copy out": lambda files, where, ws, walk: files.copy(AUTHOR, where, WorkspacePath(ws, "copied", "copied")),
    "copy in": lambda files, where, ws,
    walk: files.copy(AUTHOR, WorkspacePath(ws, "a.txt", "a.txt"), where, overwrite=True),
}  # fmt: skip


def everything(folder: Path) -> dict[str, tuple[bytes | str, int]]:
    """Everything outside the granted folder: names, contents, permissions."""
    found: dict[str, tuple[bytes | str, int]] = {}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).parts[0] in ("ws", "kept")
        if not inside:
            info = path.lstat()
            found[str(path)] = (path.read_bytes() if stat.S_ISREG(info.st_mode) else "", info.st_mode)
    return found


def holds_secret(value: object) -> bool:
    if isinstance(value, bytes):
        return SECRET.strip() in value
    return isinstance(value, list) and any(isinstance(each, tuple) and "secret" in each[0] for each in value)


def test_there_are_at_least_eighty_escapes() -> None:
    assert len({*UP, *ABSOLUTE, *LINKS, *SPECIAL, *NAMES}) >= 80


@pytest.mark.parametrize("walk", [False, True], ids=["openat2", "walk"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_escape_reaches_anything(area: Path, operation: str, walk: bool) -> None:
    ws = area / "ws"
    files = WorkspaceFiles(area / "kept")
    before = everything(area)
    system = Path("/etc/passwd").read_bytes()
    for text in (*UP, *ABSOLUTE, *LINKS, *SPECIAL, *NAMES):
        spelled = text.replace("{ws}", str(ws)).replace("{outside}", str(area / "outside"))
        value = None
        with contextlib.suppress(AtelierError):
            value = OPERATIONS[operation](files, place(spelled, (ws,)), ws, walk)
        assert not holds_secret(value), text
        assert value != system, text
        assert everything(area) == before, text
        for made in ("copied", "moved"):
            path = ws / made
            assert not (path.is_file() and not path.is_symlink() and path.read_bytes() == SECRET), text
    assert not list(ws.rglob(f"{TEMPORARY}*"))


@pytest.mark.parametrize("walk", [False, True], ids=["openat2", "walk"])
@pytest.mark.parametrize("text", [*UP, *ABSOLUTE, *LINKS, *SPECIAL, *NAMES])
def test_reading_an_escape_is_refused_with_a_message(area: Path, text: str, walk: bool) -> None:
    ws = area / "ws"
    spelled = text.replace("{ws}", str(ws)).replace("{outside}", str(area / "outside"))
    with pytest.raises(ToolError) as refused:
        where = place(spelled, (ws,))
        ConfinedRoot(ws, walk=walk).read(where.path, 1_000_000)
    # What only resembles an escape is a missing file.
    assert refused.value.code in ("outside", "bad_path", "not_found", "not_a_file", "not_a_folder", "io"), (
        text,
        refused.value.code,
    )


@pytest.mark.parametrize("walk", [False, True], ids=["openat2", "walk"])
def test_links_that_stay_inside_are_followed(area: Path, walk: bool) -> None:
    root = ConfinedRoot(area / "ws", walk=walk)
    assert root.read("good-file", 100) == b"mine\n"
    assert root.read("good-folder/b.txt", 100) == root.read("sub/good-up", 100) == b"mine too\n"
    root.write("good-file", b"through the link\n")
    assert (area / "ws" / "good-file").is_symlink()
    assert (area / "ws" / "a.txt").read_bytes() == b"through the link\n"


def test_deleting_a_link_leaves_its_target(area: Path) -> None:
    files = WorkspaceFiles(area / "kept")
    files.delete(AUTHOR, place("folder-link", (area / "ws",)))
    files.delete(AUTHOR, place("good-folder", (area / "ws",)))
    assert (area / "outside" / "secret.txt").exists()
    assert (area / "ws" / "a" / "b.txt").exists()
    assert not (area / "ws" / "folder-link").is_symlink()


def test_writing_one_name_of_a_hard_link_leaves_the_other(area: Path) -> None:
    (area / "ws" / "hard").hardlink_to(area / "secret.txt")
    ConfinedRoot(area / "ws").write("hard", b"mine now")
    assert (area / "secret.txt").read_bytes() == SECRET


def test_the_program_s_own_data_is_closed(area: Path) -> None:
    data = area / "ws" / "sub" / "data"
    data.mkdir()
    (data / "db").write_text("rows")
    (area / "ws" / "to-data").symlink_to("sub/data")
    files = WorkspaceFiles(data / "checkpoints", (data,))
    for text in ("sub/data/db", "to-data/db", "sub/../sub/data/db"):
        with raises_code(ToolError, "closed", match="Atelier"):
            files.root(area / "ws").read(place(text, (area / "ws",)).path, 100)
    for text in ("sub", "sub/data"):
        with raises_code(ToolError, "closed"):
            files.delete(AUTHOR, place(text, (area / "ws",)))
    assert (data / "db").exists()


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o640])
def test_permissions_are_preserved(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "run.sh"
    path.write_text("old")
    path.chmod(mode)
    ConfinedRoot(tmp_path).write("run.sh", b"new")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_text() == "new"


def test_a_failed_write_leaves_the_old_file_and_no_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("old")
    real = os.fsync

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ToolError) as refused:
        ConfinedRoot(tmp_path).write("a", b"new")
    monkeypatch.setattr(os, "fsync", real)
    assert refused.value.code == "no_space"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_text() == "old"


def test_a_name_with_line_ends_can_be_read_but_not_created(tmp_path: Path) -> None:
    (tmp_path / "two\nlines 🎨").write_text("x")
    root = ConfinedRoot(tmp_path)
    assert root.read("two\nlines 🎨", 10) == b"x"
    root.write("palette 🎨.txt", b"fine")
    with pytest.raises(ToolError):
        root.write("new\nname", b"x")


def test_a_deleted_folder_is_reported(tmp_path: Path) -> None:
    with raises_code(ToolError, "workspace_gone"):
        ConfinedRoot(tmp_path / "gone").read("a", 10)


def test_a_new_file_never_replaces_an_existing_one(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("there")
    with raises_code(ToolError, "exists"):
        ConfinedRoot(tmp_path).write("a", b"new", new=True)
    assert (tmp_path / "a").read_text() == "there"


@pytest.mark.parametrize("passing", [True, False], ids=["passed through", "shut"])
def test_a_closed_folder_is_recognised_below_an_unreadable_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, passing: bool
) -> None:
    """``..`` may be traversable without being readable, or not at all: root is refused neither, so the test
    refuses.
    """
    data = tmp_path / "data"
    (data / "deep").mkdir(parents=True)
    (data / "deep" / "secret").write_text("secret")
    (tmp_path / "fine").write_text("fine")
    real_open = os.open

    def refused(path: str, flags: int, *more: int, dir_fd: int | None = None) -> int:
        if path == ".." and not (passing and flags & getattr(os, "O_PATH", 0)):
            raise PermissionError(13, "denied")
        return real_open(path, flags, *more, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", refused)
    monkeypatch.setattr(os, "supports_dir_fd", {*os.supports_dir_fd, refused})
    root = ConfinedRoot(tmp_path, [data])
    for path in ("data/deep/secret", "data/deep/new"):
        with raises_code(ToolError, "closed"):
            root.read(path, 10) if path.endswith("secret") else root.write(path, b"x")
    assert root.read("fine", 10) == b"fine"


@pytest.mark.parametrize(
    ("number", "code"),
    [(errno.EROFS, "read_only"), (errno.ENOSPC, "no_space"), (errno.EDQUOT, "no_space"), (errno.EACCES, "denied")],
)
def test_an_unwritable_disk_is_reported_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: str
) -> None:
    (tmp_path / "a").write_text("old")

    def refused(*_given: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "write", refused)
    with pytest.raises(ToolError) as error:
        ConfinedRoot(tmp_path).write("a", b"new")
    monkeypatch.undo()
    assert error.value.code == code
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_text() == "old"


def exchanged(monkeypatch: pytest.MonkeyPatch, name: str, exchange: Callable[[], object]) -> None:
    """In the moment before ``name`` is opened somebody replaces it."""
    real_open, done = os.open, list[object]()

    def late(path: str, flags: int, *more: int, dir_fd: int | None = None) -> int:
        if path == name and not done:
            done.append(exchange())
        return real_open(path, flags, *more, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", late)
    monkeypatch.setattr(os, "supports_dir_fd", {*os.supports_dir_fd, late})


@pytest.mark.parametrize(("becomes", "code"), [("link", "outside"), ("pipe", "not_a_file"), ("folder", "not_a_file")])
def test_a_file_replaced_after_the_check_is_not_read(
    area: Path, monkeypatch: pytest.MonkeyPatch, becomes: str, code: str
) -> None:
    path = area / "ws" / "a.txt"

    def exchange() -> None:
        path.unlink()
        if becomes == "link":
            path.symlink_to(area / "secret.txt")
        elif becomes == "pipe":
            os.mkfifo(path)
        else:
            path.mkdir()

    exchanged(monkeypatch, "a.txt", exchange)
    with pytest.raises(ToolError) as refused, ConfinedRoot(area / "ws").file("a.txt") as handle:
        raise AssertionError(f"it was opened: {os.read(handle, 100)!r}")
    assert refused.value.code == code


def test_a_folder_replaced_during_the_walk_is_not_entered(area: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ws = area / "ws"
    (ws / "a" / "secret.txt").write_text("mine")

    def exchange() -> None:
        (ws / "a").rename(ws / "old")
        (ws / "a").symlink_to(area / "outside")

    exchanged(monkeypatch, "a", exchange)
    with pytest.raises(ToolError) as refused:
        ConfinedRoot(ws, walk=True).read("a/secret.txt", 100)
    assert refused.value.code in ("outside", "not_a_folder")


@pytest.mark.parametrize("new", [True, False])
def test_file_and_folder_are_synced_when_a_write_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new: bool
) -> None:
    """Before a power failure: the content is synced before the name shows it, and the name is synced, too."""
    if not new:
        (tmp_path / "a").write_text("old")
    synced: list[tuple[bool, list[str]]] = []
    real = os.fsync

    def noted(handle: int) -> None:
        names = sorted("a" if path.name == "a" else "unfinished" for path in tmp_path.iterdir())
        synced.append((stat.S_ISDIR(os.fstat(handle).st_mode), names))
        real(handle)

    monkeypatch.setattr(os, "fsync", noted)
    root = ConfinedRoot(tmp_path)
    root.write("a", b"new", new=new)
    assert synced == [(False, ["unfinished"] if new else ["a", "unfinished"]), (True, ["a"])]
    synced.clear()
    root.make_folder("b")
    root.rename("a", root, "b/a")
    root.remove("b/a")
    assert [folder for folder, _names in synced] == [True] * 4, "made, moved into, moved out of, deleted from"


def test_a_file_of_the_maximum_size_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    root = ConfinedRoot(tmp_path)
    assert root.read("a", 5) == b"12345"
    with pytest.raises(ToolError) as refused:
        root.read("a", 4)
    assert (refused.value.code, refused.value.params["size"], refused.value.params["most"]) == ("too_large", 5, 4)


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"1234")
    real, more = os.read, [b"5", b"6"]

    def growing(handle: int, most: int) -> bytes:
        data = real(handle, most)
        if more:
            path.write_bytes(path.read_bytes() + more.pop(0))
        return data

    monkeypatch.setattr(os, "read", growing)
    assert ConfinedRoot(tmp_path).read("log", 6) == b"123456"
    path.write_bytes(b"1234")
    more += [b"5", b"6", b"7"]
    with raises_code(ToolError, "too_large"):
        ConfinedRoot(tmp_path).read("log", 6)


@pytest.mark.parametrize(
    ("letter", "fine"), [("\x1f", False), (" ", True), ("~", True), ("\x7f", False), ("\x80", True), ("\t", False)]
)
def test_new_names_contain_no_control_characters(tmp_path: Path, letter: str, fine: bool) -> None:
    for make in (ConfinedRoot(tmp_path).make_folder, lambda name: ConfinedRoot(tmp_path).write(f"{name}.txt", b"x")):
        if fine:
            make(f"a{letter}b")
        else:
            with pytest.raises(ToolError, match="control characters"):
                make(f"a{letter}b")
    assert len(list(tmp_path.iterdir())) == (2 if fine else 0)


@pytest.mark.parametrize("walk", [False, True], ids=["openat2", "walk"])
def test_at_most_forty_links_are_followed(tmp_path: Path, walk: bool) -> None:
    (tmp_path / "end").mkdir()
    (tmp_path / "end" / "a.txt").write_text("here")
    for number in range(45):
        (tmp_path / f"link-{number}").symlink_to(f"link-{number - 1}" if number else "end")
    root = ConfinedRoot(tmp_path, walk=walk)
    assert root.read("link-39/a.txt", 10) == b"here"
    with raises_code(ToolError, "outside"):
        root.read("link-40/a.txt", 10)
    (tmp_path / "file-0").symlink_to("end/a.txt")
    for number in range(1, 45):
        (tmp_path / f"file-{number}").symlink_to(f"file-{number - 1}")
    assert root.read("file-38", 10) == b"here"
    with raises_code(ToolError, "outside"):
        root.read("file-39", 10)
