"""Walks of folders that end: after so many entries or seconds, and what was not seen is said. Links are not followed."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Iterator
from time import monotonic
from typing import TypeVar

Value = TypeVar("Value")


class WalkLimit:
    """What one walk, or several together, may take.

    Attributes:
        unseen: the first file or folder that was not looked at; empty when everything was.
    """

    def __init__(self, *, entries: float = math.inf, seconds: float = math.inf) -> None:
        self.unseen = ""
        self._left, self._until, self._count = entries, monotonic() + seconds, 0

    def allows(self, path: str) -> bool:
        """Count one entry in ``path``; false when there is no room for it."""
        self._count += 1
        if self._count > self._left or (self._count % 64 == 1 and monotonic() > self._until):
            self.unseen = self.unseen or path
        return not self.unseen


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a folder and no link; false when nobody can tell."""
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def walk(
    top: str, value: Value, limit: WalkLimit, *, strict: bool = False
) -> Iterator[tuple[str, Value, list[os.DirEntry[str]], Callable[[tuple[str, Value]], None]]]:
    """A folder with its value, its entries, and what has a folder below, with a value, looked into later; then those, nearest first.

    Ends where the limit is reached, with what was seen so far. A folder that cannot be read has no entries; with ``strict`` it raises
    ``OSError``.
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
