# ruff: noqa: PTH116, PTH118
"""Find files below a folder written since a given time, including ignored and large files that checkpoints skip.

A file's status-change time cannot be set by a program, and changes with its content, name and permissions.
"""

from __future__ import annotations

import os
import stat

from atelier_desk.workspace.bounded_walk import WalkLimit, walk

SECONDS = 5.0
ENTRIES = 500_000
SLACK_NS = 20_000_000
"""Tolerance in ns: file times may lag behind the clock, because the kernel uses its last tick."""


def touched(root: str, since_ns: int, seconds: float = SECONDS) -> tuple[list[str], bool]:
    """Return plain files below ``root`` whose content, name or mode changed since then, and whether the scan was
    complete.

    Links are not followed. A renamed folder includes all its files. For a ``.git``, the folder itself is returned if
    git stored objects in it, from which deleted files can be recovered.
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
                # Adding an entry changes both times of a folder, renaming it only one.
                enter((entry.path, moved or (changed and not written)))
            elif stat.S_ISREG(info.st_mode) and (changed or moved):
                found.append(entry.path)
    return found, not limit.unseen


def _stored(git: str, since_ns: int) -> bool:
    """Whether objects were added to a repository: one of the folders in ``objects`` changed."""
    objects = os.path.join(git, "objects")
    try:
        folders = [objects, *(entry.path for entry in os.scandir(objects) if entry.is_dir(follow_symlinks=False))]
        return any(os.stat(folder).st_mtime_ns >= since_ns for folder in folders)
    except OSError:
        return False
