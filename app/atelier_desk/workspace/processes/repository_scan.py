# ruff: noqa: PTH114, PTH115, PTH120, PTH119
"""Find what git would take for a repository in a folder. A leaf: the launcher loads it as a file.

git looks for ``.git``, a folder or a file that leads to one, and takes any folder with ``HEAD``, ``objects`` and
``refs`` for a bare repository; ``commondir`` in place of the last two makes it a linked one (gitrepository-layout(5),
setup.c).
"""

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Callable, Collection, Iterator
from typing import Any

if __package__:
    from atelier_desk.workspace.processes.git_pointer_files import target
    from atelier_desk.workspace.processes.link_safe_file_trees import FOLDER, Identity, open_folder
else:
    from git_pointer_files import target
    from link_safe_file_trees import FOLDER, Identity, open_folder

MARKS = frozenset((".git", "HEAD", "objects", "refs", "commondir"))
_FOLDS = sys.platform == "darwin"
"""Whether the file system ignores case."""
MOST_LINKS = 500_000
"""Maximum number of links, about 150 MB of names."""
LONGEST = 16 * 4096
"""Maximum characters of a path.

Git finds nothing past PATH_MAX, and 20 000 nested folders would fill the memory with their names.
"""
_LINKS = 40
"""Maximum links in one path (path_resolution(7))."""


class Scan:
    """Result of a scan, by absolute path. Not a dataclass: importing those takes longer than everything else.

    Attributes:
        repositories: folders that git takes for repositories, and all called ``.git``; ``searched`` ones wherever they
            are now.
        pointers: files and links called ``.git``; ``links``: targets of all other links, as written.
        entries: number of entries visited.
        too_many_links: ``links`` is incomplete, with more than ``MOST_LINKS``.
        unreadable: folders that could not be read.
    """

    def __init__(self) -> None:
        self.repositories: dict[str, Identity] = {}
        self.pointers: list[str] = []
        self.links: dict[str, str] = {}
        self.too_many_links = False
        self.entries = 0
        self.unreadable: list[str] = []


class _Level:
    """An open folder with its subfolders still to visit."""

    def __init__(
        self, handle: int, path: str, scan: Scan, searched: Collection[Identity], inodes: Collection[int]
    ) -> None:
        self.handle, self.path = handle, path
        info = os.fstat(handle)
        self.closed = (
            stat.S_IMODE(info.st_mode) if info.st_uid == os.geteuid() and info.st_mode & 0o500 != 0o500 else None
        )
        """Mode of a folder whose owner removed their own rights, which are granted temporarily."""
        if self.closed is not None:
            os.fchmod(handle, self.closed | 0o500)
        self.folders: list[str] = []
        marks: dict[str, Any] = {}
        with os.scandir(handle) as entries:
            for entry in entries:
                scan.entries += 1
                name = entry.name
                if entry.is_dir(follow_symlinks=False):
                    self.folders.append(name)
                elif entry.is_symlink() and not scan.too_many_links:
                    scan.too_many_links = len(scan.links) >= MOST_LINKS
                    with contextlib.suppress(OSError):
                        scan.links[f"{path}/{name}"] = os.readlink(name, dir_fd=handle)
                if _FOLDS:
                    name = {"head": "HEAD"}.get(name.lower(), name.lower())
                if name in MARKS:
                    marks[name] = entry
        git = marks.get(".git")
        if git is not None and not git.is_dir(follow_symlinks=False):
            scan.pointers.append(f"{path}/{git.name}")
            scan.links.pop(f"{path}/{git.name}", None)
        named = os.path.basename(path)
        is_named = (named.lower() if _FOLDS else named) == ".git"
        if is_named or is_layout(marks) or (info.st_ino in inodes and (info.st_dev, info.st_ino) in searched):
            scan.repositories[path] = (info.st_dev, info.st_ino)

    def close(self) -> None:
        if self.closed is not None:
            os.fchmod(self.handle, self.closed)
        os.close(self.handle)


def is_layout(names: Collection[str]) -> bool:
    """Whether git takes a folder with these names for a repository."""
    return "HEAD" in names and ("commondir" in names or ("objects" in names and "refs" in names))


def identity(handle: int) -> Identity:
    info = os.fstat(handle)
    return info.st_dev, info.st_ino


class StoppedError(OSError):
    """The caller asked to stop."""


class TooManyError(OSError):
    """There are more entries than allowed."""


def scan(
    root: str,
    handle: int,
    into: Scan,
    *,
    searched: Collection[Identity] = (),
    most: int | None = None,
    go_on: Callable[[], bool] | None = None,
) -> None:
    """Scan a folder and everything below without following links.

    Args:
        handle: the folder, open; it stays open.
        searched: folders to find under any name.
        most: maximum entries, including those already in ``into``.
        go_on: called for every folder; once it returns False, the scan stops.

    Raises:
        TooManyError: there are more.
        StoppedError: ``go_on`` returned False.
    """
    inodes = {inode for _device, inode in searched}
    levels = [_Level(os.dup(handle), root, into, searched, inodes)]
    try:
        while levels:
            level = levels[-1]
            if not level.folders:
                levels.pop().close()
                continue
            if go_on is not None and not go_on():
                raise StoppedError
            name = level.folders.pop()
            path = f"{level.path}/{name}"
            if len(path) > LONGEST:
                continue
            try:
                opened = open_folder(name, level.handle)
            except OSError as error:
                if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                    into.unreadable.append(path)
                continue
            levels.append(_Level(opened, path, into, searched, inodes))
            if most is not None and into.entries > most:
                raise TooManyError(
                    f"{root} holds more than {most} files and folders: they cannot all be searched for repositories"
                )
    finally:
        for level in levels:
            level.close()


def leads_to(path: str, name: str) -> Identity | None:
    """Return the folder that a pointer leads to (see ``git_pointer_files.target``); None if there is none."""
    try:
        opened = os.open(target(path, name) or os.devnull, FOLDER & ~os.O_NOFOLLOW)
    except (OSError, ValueError):
        return None
    try:
        return identity(opened)
    finally:
        os.close(opened)


def places_on_the_way(path: str) -> Iterator[str]:
    """Yield every link in an absolute path, and its final target: they determine what the path means."""
    waiting = [each for each in reversed(path.split("/")) if each]
    here, followed = "", 0
    while waiting:
        part = waiting.pop()
        if part == ".":
            continue
        if part == "..":
            here = os.path.dirname(here) if here != "/" else ""
            here = "" if here == "/" else here
            continue
        step = f"{here}/{part}"
        if followed < _LINKS and os.path.islink(step):
            followed += 1
            yield step
            target = os.readlink(step)
            if target.startswith("/"):
                here = ""
            waiting += [each for each in reversed(target.split("/")) if each]
        else:
            here = step
    yield here or "/"
