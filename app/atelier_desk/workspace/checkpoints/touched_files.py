# ruff: noqa: PTH116, PTH118
"""Which files below a folder were written since a moment, also where no checkpoint looks: in ignored folders, and of
any size.

A file's status-change time cannot be set by a program, and changes with its content, its name and its permissions.
"""

from __future__ import annotations

import os
import stat

from atelier_desk.workspace.bounded_walk import WalkLimit, walk

SECONDS = 5.0
ENTRIES = 500_000
SLACK_NS = 20_000_000
"""How far the times of files may lag behind the clock: the kernel takes them from its last tick."""


def touched(root: str, since_ns: int, seconds: float = SECONDS) -> tuple[list[str], bool]:
    """The plain files below ``root`` whose content, name or mode changed since then, and whether everything was
    looked at.

    Links are not followed. A folder that was renamed brings all it holds. Of a ``.git`` the folder itself is named
    when git stored contents in it, which can be had from there when the files are gone.
    """
    found: list[str] = []
    limit = WalkLimit(entries=ENTRIES, seconds=seconds)
    for _folder, moved, entries, enter in walk(root, False, limit):
        for entry in entries:
            if entry.name == ".git":
                if _stored(entry.path, since_ns):
                    found.append(entry.path)
                continue
            try:
                info = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            written = info.st_mtime_ns >= since_ns
            changed = written or info.st_ctime_ns >= since_ns
            if stat.S_ISDIR(info.st_mode):
                # What is put into a folder changes both times of it, renaming it one alone.
                enter((entry.path, moved or (changed and not written)))
            elif stat.S_ISREG(info.st_mode) and (changed or moved):
                found.append(entry.path)
    return found, not limit.unseen


def _stored(git: str, since_ns: int) -> bool:
    """Whether contents were put into a repository's ``objects``: one of its folders changed."""
    objects = os.path.join(git, "objects")
    try:
        folders = [objects, *(entry.path for entry in os.scandir(objects) if entry.is_dir(follow_symlinks=False))]
        return any(os.stat(folder).st_mtime_ns >= since_ns for folder in folders)
    except OSError:
        return False
