"""The room on the disk."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

MIN_FREE_BYTES = 64 * 1024 * 1024
"""Free space asked for before opening: room for the write-ahead log and one flush of the tables in memory."""


MIN_FREE_FILES = 64
"""Files that can still be made, asked for before opening: those of one start, with a log and a few tables."""


def free_bytes(path: object) -> int:
    """Free bytes for this user on the disk that holds ``path`` or the nearest folder above it that exists."""
    return shutil.disk_usage(_nearest(path)).free


def free_files(path: object) -> int | None:
    """How many files this user can still make on the disk that holds ``path``; None where the file system has no fixed number of them."""
    if not hasattr(os, "statvfs"):
        return None
    found = os.statvfs(_nearest(path))
    return found.f_favail if found.f_files else None


def no_files_left(path: object) -> bool:
    """Whether fewer than ``MIN_FREE_FILES`` can be made there, whatever room there is."""
    left = free_files(path)
    return left is not None and left < MIN_FREE_FILES


def _nearest(path: object) -> Path:
    here = Path(str(path))
    while not here.exists() and here != here.parent:
        here = here.parent
    return here
