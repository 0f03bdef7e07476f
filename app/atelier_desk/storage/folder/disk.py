"""The room on the disk."""

from __future__ import annotations

import shutil
from pathlib import Path

MIN_FREE_BYTES = 64 * 1024 * 1024
"""Free space asked for before opening: room for the write-ahead log and one flush of the tables in memory."""


def free_bytes(path: object) -> int:
    """Free bytes for this user on the disk that holds ``path`` or the nearest folder above it that exists."""
    here = Path(str(path))
    while not here.exists() and here != here.parent:
        here = here.parent
    return shutil.disk_usage(here).free
