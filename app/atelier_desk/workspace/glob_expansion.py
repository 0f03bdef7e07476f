"""Expand the patterns of a command line with a limit on the folders searched."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable

MAX_STEPS = 10_000
"""Maximum folder entries visited per command line, about 50 ms.

``/*/*/*/*/x`` would visit every file of the machine.
"""


class TooManyError(Exception):
    """Expanding the patterns would exceed a limit."""


class Patterns:
    """Expands ``*`` and ``?`` like bash without options. The limit on visited entries is shared by all patterns."""

    def __init__(self, start: str, most: int) -> None:
        """``start``: folder for relative patterns; ``most``: maximum number of matches per pattern."""
        self._start = start or os.curdir
        self._most = most
        self._left = MAX_STEPS

    def names(self, pattern: str) -> list[str]:
        """Return the matching files and folders, spelled like the pattern; blocks.

        Raises:
            TooManyError: too many matches, or too many entries to visit.
        """
        *folders, last = [part for part in pattern.split("/") if part]
        found = ["/" if pattern.startswith("/") else ""]
        for part in folders:
            found = self._below(found, part, os.DirEntry.is_dir)
        found = self._below(found, last, lambda _entry: True)
        if len(found) > self._most:
            raise TooManyError
        return found

    def _below(self, folders: list[str], part: str, wanted: Callable[[os.DirEntry[str]], bool]) -> list[str]:
        if not any(mark in part for mark in "*?"):
            self._count(len(folders))
            inside = (os.path.join(folder, part) for folder in folders)  # noqa: PTH118
            return [path for path in inside if os.path.lexists(os.path.join(self._start, path))]  # noqa: PTH118
        fits = re.compile(fnmatch.translate(part)).match
        found: list[str] = []
        for folder in folders:
            try:
                with os.scandir(os.path.join(self._start, folder)) as entries:  # noqa: PTH118
                    for entry in entries:
                        self._count(1)
                        if (
                            fits(entry.name)
                            and (part.startswith(".") or not entry.name.startswith("."))
                            and wanted(entry)
                        ):
                            found.append(os.path.join(folder, entry.name))  # noqa: PTH118
            except OSError:
                continue
        return found

    def _count(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise TooManyError
