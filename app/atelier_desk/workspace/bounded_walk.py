"""Walk folders with a limit on entries and time, and report what was not visited. Links are not followed."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Iterator
from time import monotonic
from typing import TypeVar

Value = TypeVar("Value")


class WalkLimit:
    """Shared limit of one or several walks.

    Attributes:
        unseen: the first file or folder that was not visited; empty if everything was.
    """

    def __init__(self, *, entries: float = math.inf, seconds: float = math.inf) -> None:
        self.unseen = ""
        self._left, self._until, self._count = entries, monotonic() + seconds, 0

    def allows(self, path: str) -> bool:
        """Count one entry of ``path``; False when the limit is reached."""
        self._count += 1
        if self._count > self._left or (self._count % 64 == 1 and monotonic() > self._until):
            self.unseen = self.unseen or path
        return not self.unseen


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a folder and not a link; False if that cannot be determined."""
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def walk(
    top: str, value: Value, limit: WalkLimit, *, strict: bool = False
) -> Iterator[tuple[str, Value, list[os.DirEntry[str]], Callable[[tuple[str, Value]], None]]]:
    """Walk folders breadth-first.

    Yields each folder with its value, its entries, and a function that queues a subfolder with a value. Stops when the
    limit is reached. An unreadable folder has no entries; with ``strict`` it raises ``OSError``.
    """
    waiting = deque([(top, value)])
    while waiting and not limit.unseen:
        folder, noted = waiting.popleft()
        seen: list[os.DirEntry[str]] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if not limit.allows(folder):
                        break
                    seen.append(entry)
        except OSError:
            if strict:
                raise
        yield folder, noted, seen, waiting.append
