# ruff: noqa: PTH101, PTH208
"""Small file trees, read and written below open folders without following links. A leaf: the launcher loads it as a
file.

A tree is None for nothing, ``("link", target)``, ``("file", mode, content)``, ``("folder", mode, {name: tree})``, or
``("other", mode)`` for pipes, sockets and devices.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC
FOLDER = NO_LINK | os.O_DIRECTORY
Tree = Any
Identity = tuple[int, int]
"""Device and inode."""
MAX_DEPTH = 100
"""Maximum nesting of folders."""


class TooLargeError(OSError):
    """A tree has more bytes than the caller allows."""


class Budget:
    """Remaining bytes for trees."""

    def __init__(self, left: int) -> None:
        self.left = left

    def consume(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise TooLargeError("too large")


def found(folder: int, name: str) -> os.stat_result | None:
    """Return the status of a name, None if it does not exist."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def open_folder(name: str, folder: int) -> int:
    """Open a folder, even if its owner removed their own rights. Raises ``OSError``."""
    try:
        return os.open(name, FOLDER, dir_fd=folder)
    except PermissionError:
        was = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISDIR(was.st_mode) or was.st_uid != os.geteuid():
            raise
        change_mode(folder, name, was.st_mode | 0o700)
        try:
            return os.open(name, FOLDER, dir_fd=folder)
        finally:
            change_mode(folder, name, was.st_mode)


def change_mode(folder: int, name: str, mode: int) -> None:
    """Change the mode of a file or folder, never of a link's target."""
    if not hasattr(os, "O_PATH"):
        os.chmod(name, stat.S_IMODE(mode), dir_fd=folder)
        return
    opened = os.open(name, os.O_PATH | NO_LINK, dir_fd=folder)
    try:
        if not stat.S_ISLNK(os.fstat(opened).st_mode):
            os.chmod(f"/proc/self/fd/{opened}", stat.S_IMODE(mode))
    finally:
        os.close(opened)


@contextmanager
def writable(folder: int) -> Iterator[None]:
    """Temporarily let the owner change an open folder's content."""
    mode = stat.S_IMODE(os.fstat(folder).st_mode)
    changed = mode & 0o700 != 0o700
    if changed:
        os.fchmod(folder, mode | 0o700)
    try:
        yield
    finally:
        if changed:
            os.fchmod(folder, mode)


def read(folder: int, name: str, budget: Budget, depth: int = 0) -> Tree:
    """Read the tree under a name. Raises ``TooLargeError``, and ``OSError`` if unreadable."""
    if depth > MAX_DEPTH:
        raise TooLargeError("too deep")
    info = found(folder, name)
    if info is None:
        return None
    mode = stat.S_IMODE(info.st_mode)
    if stat.S_ISLNK(info.st_mode):
        return ("link", os.readlink(name, dir_fd=folder))
    if stat.S_ISDIR(info.st_mode):
        inner = open_folder(name, folder)
        try:
            with writable(inner):
                names = sorted(os.listdir(inner))
                budget.consume(64 * len(names))
                return ("folder", mode, {each: read(inner, each, budget, depth + 1) for each in names})
        finally:
            os.close(inner)
    if not stat.S_ISREG(info.st_mode):
        return ("other", mode)
    try:
        opened = os.open(name, os.O_RDONLY | os.O_NONBLOCK | NO_LINK, dir_fd=folder)
    except PermissionError:
        change_mode(folder, name, mode | 0o400)
        opened = os.open(name, os.O_RDONLY | os.O_NONBLOCK | NO_LINK, dir_fd=folder)
        change_mode(folder, name, mode)
    with os.fdopen(opened, "rb") as file:
        content = file.read(max(0, budget.left) + 1)
    budget.consume(len(content))
    return ("file", mode, content)


def remove(folder: int, name: str) -> None:
    """Delete anything under a name."""
    info = found(folder, name)
    if info is None:
        return
    with writable(folder):
        if not stat.S_ISDIR(info.st_mode):
            os.unlink(name, dir_fd=folder)
            return
        inner = open_folder(name, folder)
        try:
            with writable(inner):
                for each in os.listdir(inner):
                    remove(inner, each)
        finally:
            os.close(inner)
        os.rmdir(name, dir_fd=folder)


def write(folder: int, name: str, tree: Tree) -> None:
    """Create a tree under a free name; items that cannot be recreated are skipped."""
    with writable(folder):
        match tree:
            case ("link", target):
                os.symlink(target, name, dir_fd=folder)
            case ("file", mode, content):
                opened = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK, 0o600, dir_fd=folder)
                with os.fdopen(opened, "wb") as file:
                    file.write(content)
                    os.fchmod(opened, mode)
            case ("folder", mode, inner):
                os.mkdir(name, 0o700, dir_fd=folder)
                made = os.open(name, FOLDER, dir_fd=folder)
                try:
                    for each, value in inner.items():
                        write(made, each, value)
                    os.fchmod(made, mode)
                finally:
                    os.close(made)


def links(tree: Tree, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield every link in a tree: its folder, relative to the tree, and its target."""
    match tree:
        case ("link", target):
            yield path.rpartition("/")[0], target
        case ("folder", _mode, inner):
            for name, each in inner.items():
                yield from links(each, f"{path}/{name}")


def is_part(tree: Tree, of: Tree) -> bool:
    """Whether all files of a tree exist identically in another one; links never count, because their place differs."""
    if tree is None or of is None or tree[0] != of[0]:
        return False
    if tree[0] == "folder":
        return all(is_part(each, of[2].get(name)) for name, each in tree[2].items())
    return bool(tree[0] == "file" and tree == of)


def readable(name: str) -> str:
    """Like ``domain.text.readable_name``, which a leaf cannot import."""
    return "".join(f"⟨{ord(each) - 0xDC00:02X}⟩" if "\udc80" <= each <= "\udcff" else each for each in name)
