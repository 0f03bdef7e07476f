"""Walks of folders that end: after so many entries or seconds, and what was not seen is said. Links are not followed."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import monotonic
from typing import Generic, TypeVar

Value = TypeVar("Value")


class WalkLimit:
    """What one walk, or several together, may take.

    Attributes:
        unseen: the first file or folder that was not looked at; empty when everything was.
    """

    def __init__(self, *, entries: float = math.inf, seconds: float = math.inf) -> None:
        self.unseen = ""
        self._left = entries
        self._until = monotonic() + seconds
        self._count = 0

    def allows(self, path: str) -> bool:
        """Count one entry, at or in ``path``; false when there is no room for it."""
        self._count += 1
        # The clock is asked at the first entry, too: a walk may have many small folders, or none of its time left.
        if self._count > self._left or (self._count % 64 == 1 and monotonic() > self._until):
            self.unseen = self.unseen or path
        return not self.unseen


@dataclass(slots=True)
class WalkedFolder(Generic[Value]):
    """A folder, with what its walker noted of it when it was entered."""

    path: str
    value: Value
    entries: list[os.DirEntry[str]] = field(default_factory=list)
    entered: list[tuple[str, Value]] = field(default_factory=list)

    def enter(self, path: str, value: Value) -> None:
        """Have a folder below looked into later."""
        self.entered.append((path, value))


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a folder and no link; false when nobody can tell."""
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def walk(top: str, value: Value, limit: WalkLimit, *, strict: bool = False) -> Iterator[WalkedFolder[Value]]:
    """A folder, then those that were entered, nearest first; ends where the limit is reached, with what was seen so far.

    ``value`` goes with ``top``. A folder that cannot be read has no entries; with ``strict`` it raises ``OSError``.
    """
    waiting = deque([(top, value)])
    while waiting:
        folder = WalkedFolder(*waiting.popleft())
        try:
            with os.scandir(folder.path) as entries:
                for entry in entries:
                    if not limit.allows(folder.path):
                        break
                    folder.entries.append(entry)
        except OSError:
            if strict:
                raise
        yield folder
        if limit.unseen:
            return
        waiting.extend(folder.entered)
