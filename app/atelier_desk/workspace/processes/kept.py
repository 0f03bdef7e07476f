# ruff: noqa: PTH208
"""What a command may not change in repositories, put back when it is over. A leaf: the launcher loads it as a file.

Where the system allows mounts of its own, the sandbox holds those of the workspace itself read-only. Everywhere else, in the repositories
below it, and for what was not there before, they are compared and put back: they run outside of the sandbox the next time anybody calls
git. No link is followed on the way, so that a command that puts one in the place of a folder gains nothing.
"""

import os
import stat
from collections.abc import Iterator
from typing import Any

MOST_BYTES = 8 * 1024 * 1024
"""What is remembered of one repository; more cannot be put back, and its command is not started."""
MOST_REPOSITORIES = 500
"""In one workspace; with more a command is not started either. Each holds a folder open."""
MOST_ENTRIES = 500_000
"""Files and folders among which repositories are looked for: about a second. Those behind are not kept."""
_NAMES = ("hooks", "config", "config.worktree")
"""In ``.git``: what git runs, or what says what it runs."""
_NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = _NO_LINK | os.O_DIRECTORY


class Kept:
    """What the repositories of a workspace were like before a command: its own, and those in folders below it.

    Raises:
        OSError: there are too many, one is too large, or cannot be read.
    """

    def __init__(self, root: str) -> None:
        self._all: list[_Repository] = []
        try:
            self._all.append(_Repository(os.open(root, _FOLDER), ".git", ""))
            for top, name, path in _nested(root):
                self._all.append(_Repository(top, name, path))
                if len(self._all) > MOST_REPOSITORIES:
                    raise OSError(f"{root} holds more than {MOST_REPOSITORIES} repositories")
        except BaseException:
            for each in self._all:
                each.close()
            raise

    def put_back(self) -> list[str]:
        """The names, from the workspace on, that had been changed and are now as they were."""
        changed: list[str] = []
        for each in self._all:
            try:
                changed += each.put_back()
            finally:
                each.close()
        return changed


def _nested(root: str) -> Iterator[tuple[int, str, str]]:
    """The repositories below a workspace, and those of its modules: the open folder each lies in, its name there, and that folder's path
    from the workspace on. The folder is for the caller to close."""
    seen = 0
    for here, folders, files, opened in os.fwalk(root):
        seen += len(folders) + len(files)
        path = os.path.relpath(here, root)
        path = "" if path == "." else f"{path}/"
        if ".git" in folders or ".git" in files:
            if path:
                yield os.dup(opened), ".git", path
            if ".git" in folders:
                folders.remove(".git")
                yield from _modules(opened, f"{path}.git/modules/")
        if seen > MOST_ENTRIES:
            return


def _modules(folder: int, path: str) -> Iterator[tuple[int, str, str]]:
    """The repositories that ``.git`` of an open folder keeps for its modules (gitrepository-layout(5))."""
    try:
        for here, folders, _files, opened in os.fwalk(".git/modules", dir_fd=folder):
            within = path + here.removeprefix(".git/modules").lstrip("/")
            for name in list(folders):
                if _identity(opened, f"{name}/HEAD"):
                    yield os.dup(opened), name, f"{within}/" if within != path else path
            folders[:] = [name for name in folders if name not in ("objects", "refs", "logs", "hooks", "info")]
    except FileNotFoundError:
        return


class _Repository:
    """One of them: the entry ``name`` of an open folder, which it closes, a folder with what git runs or a file that leads to one."""

    def __init__(self, top: int, name: str, path: str) -> None:
        self._top, self._name, self._path = top, name, path
        self._left = MOST_BYTES
        try:
            self._is = _identity(top, name)
            files = (*((".gitmodules",) if name == ".git" else ()), *((name,) if self._is and not self._is[2] else ()))
            self._files = {each: self._read(top, each) for each in files}
            self._within: dict[str, Any] = {}
            if self._is and self._is[2]:
                folder = os.open(name, _FOLDER, dir_fd=top)
                try:
                    self._within = {each: self._read(folder, each) for each in _NAMES}
                finally:
                    os.close(folder)
        except BaseException:
            os.close(top)
            raise

    def close(self) -> None:
        os.close(self._top)

    def put_back(self) -> list[str]:
        """What had been changed. One below the workspace that is gone was deleted: there is nothing left to protect."""
        if not os.fstat(self._top).st_nlink:
            return []
        changed: list[str] = []
        if self._is and self._is[2]:
            self._repository(changed)
        changed += [name for name, before in self._files.items() if self._same(self._top, name, before)]
        return [f"{self._path}{name}" for name in changed]

    def _repository(self, changed: list[str]) -> None:
        found = _identity(self._top, self._name)
        if found is None and self._path:
            return
        if found != self._is:
            # Another one stands in its place: it is moved aside, because nobody can say what it runs.
            if found is not None:
                os.rename(self._name, _free(self._top), src_dir_fd=self._top, dst_dir_fd=self._top)
            changed.append(self._name)
            return
        folder = os.open(self._name, _FOLDER, dir_fd=self._top)
        try:
            changed += [f"{self._name}/{name}" for name, before in self._within.items() if self._same(folder, name, before)]
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
            raise OSError(f"{self._path}{self._name}/{name} is larger than {MOST_BYTES // 2**20} MB")
        return ("file", found.st_mode & 0o7777, content)


def _identity(folder: int, name: str) -> tuple[int, int, bool] | None:
    """What tells an entry from another of its name, and whether it is a folder."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
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
