"""Free space on the disk."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

MIN_FREE_BYTES = 64 * 1024 * 1024
"""Free space in bytes required to open a database: for the write-ahead log and one flush of the in-memory tables."""


MIN_FREE_FILES = 64
"""Number of files that must still be creatable to open a database: those of one start, with a log and a few tables."""


def free_bytes(path: object) -> int:
    """Return the free bytes for this user on the disk of ``path``, or of the nearest existing folder above it."""
    return shutil.disk_usage(_nearest(path)).free


def free_files(path: object) -> int | None:
    """Return how many files this user can still create on the disk of ``path``.

    None if the file system has no fixed number.
    """
    if not hasattr(os, "statvfs"):
        return None
    found = os.statvfs(_nearest(path))
    return found.f_favail if found.f_files else None


def no_files_left(path: object) -> bool:
    """Whether fewer than ``MIN_FREE_FILES`` can be created there, regardless of free space."""
    left = free_files(path)
    return left is not None and left < MIN_FREE_FILES


def _nearest(path: object) -> Path:
    here = Path(str(path))
    while not here.exists() and here != here.parent:
        here = here.parent
    return here
