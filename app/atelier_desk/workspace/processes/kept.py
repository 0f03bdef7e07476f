# ruff: noqa: PTH208
"""What a command may not change in a repository, put back when it is over. A leaf: the launcher loads it as a file.

Where the system allows mounts of its own, the sandbox holds these read-only. Everywhere else, and for what was not there before, they are
compared and put back: they run outside of the sandbox the next time anybody calls git. No link is followed on the way, so that a command
that puts one in the place of a folder gains nothing.
"""

import os
import stat
from typing import Any

MOST_BYTES = 8 * 1024 * 1024
"""What is remembered of one repository; more cannot be put back, and its command is not started."""
_NAMES = ("hooks", "config")
"""In ``.git``: what git runs, or what says what it runs."""
_FILES = (".gitmodules",)
_NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = _NO_LINK | os.O_DIRECTORY


class Kept:
    """What a workspace's repository was like before a command.

    Raises:
        OSError: it is too large, or cannot be read.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._left = MOST_BYTES
        self._top = _open(root)
        try:
            self._is = _identity(self._top, ".git")
            self._files = {name: self._read(self._top, name) for name in (*_FILES, *((".git",) if self._is and not self._is[2] else ()))}
            self._within: dict[str, Any] = {}
            if self._is and self._is[2]:
                folder = os.open(".git", _FOLDER, dir_fd=self._top)
                try:
                    self._within = {name: self._read(folder, name) for name in _NAMES}
                finally:
                    os.close(folder)
        except BaseException:
            os.close(self._top)
            raise

    def put_back(self) -> list[str]:
        """The names, from the workspace on, that had been changed and are now as they were."""
        changed: list[str] = []
        try:
            if self._is and self._is[2]:
                self._repository(changed)
            changed += [name for name, before in self._files.items() if self._same(self._top, name, before)]
        finally:
            os.close(self._top)
        return changed

    def _repository(self, changed: list[str]) -> None:
        if _identity(self._top, ".git") != self._is:
            # Another one stands in its place: it is moved aside, because nobody can say what it runs.
            if _identity(self._top, ".git"):
                os.rename(".git", _free(self._top), src_dir_fd=self._top, dst_dir_fd=self._top)
            changed.append(".git")
            return
        folder = os.open(".git", _FOLDER, dir_fd=self._top)
        try:
            changed += [f".git/{name}" for name, before in self._within.items() if self._same(folder, name, before)]
        finally:
            os.close(folder)

    def _same(self, folder: int, name: str, before: Any) -> bool:
        """Put one name back; whether it had been changed."""
        self._left = MOST_BYTES
        try:
            if self._read(folder, name) == before:
                return False
        except OSError:
            pass
        _remove(folder, name)
        _write(folder, name, before)
        return True

    def _read(self, folder: int, name: str) -> Any:
        """A name as it is: None, a link's target, a file's mode and content, or a folder's names."""
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if stat.S_ISLNK(found.st_mode):
            return ("link", os.readlink(name, dir_fd=folder))
        if stat.S_ISDIR(found.st_mode):
            inner = os.open(name, _FOLDER, dir_fd=folder)
            try:
                return ("folder", found.st_mode & 0o7777, {each: self._read(inner, each) for each in sorted(os.listdir(inner))})
            finally:
                os.close(inner)
        if not stat.S_ISREG(found.st_mode):
            return ("other", found.st_mode)
        opened = os.open(name, os.O_RDONLY | os.O_NONBLOCK | _NO_LINK, dir_fd=folder)
        with os.fdopen(opened, "rb") as file:
            content = file.read(self._left + 1)
        self._left -= len(content)
        if self._left < 0:
            raise OSError(f"{name} of {self._root} is larger than {MOST_BYTES // 2**20} MB")
        return ("file", found.st_mode & 0o7777, content)


def _open(root: str) -> int:
    return os.open(root, _FOLDER)


def _identity(folder: int, name: str) -> tuple[int, int, bool] | None:
    """What tells an entry from another of its name, and whether it is a folder."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino, stat.S_ISDIR(found.st_mode)


def _free(folder: int) -> str:
    names = set(os.listdir(folder))
    return next(name for number in range(1, 10_000) if (name := f".git-replaced-{number}") not in names)


def _remove(folder: int, name: str) -> None:
    found = _identity(folder, name)
    if found is None:
        return
    if not found[2]:
        os.unlink(name, dir_fd=folder)
        return
    os.chmod(name, 0o700, dir_fd=folder)
    inner = os.open(name, _FOLDER, dir_fd=folder)
    try:
        for each in os.listdir(inner):
            _remove(inner, each)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=folder)


def _write(folder: int, name: str, before: Any) -> None:
    match before:
        case ("link", target):
            os.symlink(target, name, dir_fd=folder)
        case ("file", mode, content):
            opened = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o600, dir_fd=folder)
            with os.fdopen(opened, "wb") as file:
                file.write(content)
                os.fchmod(opened, mode)
        case ("folder", mode, inner):
            os.mkdir(name, 0o700, dir_fd=folder)
            made = os.open(name, _FOLDER, dir_fd=folder)
            try:
                for each, value in inner.items():
                    _write(made, each, value)
                os.fchmod(made, mode)
            finally:
                os.close(made)
