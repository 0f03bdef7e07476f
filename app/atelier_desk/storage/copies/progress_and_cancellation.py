"""How far long work on a data folder is, and how it ends early when it is cancelled."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from atelier_desk.storage.data_folder.lock import to_its_end
from atelier_desk.support.threads import in_storage_thread

T = TypeVar("T")
Progress = Callable[[int, int], None]
"""Called with what is done and the whole, on the event loop."""
Report = Callable[[int, int], None]
"""The same for a function in a thread, which calls it after every chunk. Raises ``Stopped`` after a cancellation."""
TOTAL = 1_000
"""Whole that ``part`` and ``stoppable`` tell of: no more than that many calls, however much there is to do."""
CHUNK = 1024 * 1024


class Stopped(Exception):
    """The work was cancelled."""


def no_progress(_done: int, _total: int) -> None:
    """Nobody wants to know."""


def part(progress: Progress, first: float, last: float) -> Progress:
    """Return what tells of a step that is the part from ``first`` to ``last`` (0 to 1) of the whole work."""

    def notify(done: int, total: int) -> None:
        progress(round(TOTAL * (first + (last - first) * done / max(1, total))), TOTAL)

    return notify


async def stoppable(function: Callable[..., T], *args: object, progress: Progress = no_progress) -> T:
    """Run a function in a thread with a ``Report`` as its last argument; when cancelled, wait until that ended it."""
    loop, stopped = asyncio.get_running_loop(), threading.Event()
    told = -1

    def report(done: int, total: int) -> None:
        nonlocal told
        if stopped.is_set():
            raise Stopped
        if (share := done * TOTAL // max(1, total)) != told:
            told = share
            loop.call_soon_threadsafe(progress, share, TOTAL)

    return await to_its_end(in_storage_thread(function, *args, report), stopped.set)


def copy_tree(source: Path, target: Path, size: int, report: Report) -> None:
    """Copy a folder of ``size`` bytes, chunk by chunk; links stay links. The target must not exist."""
    done = 0

    def copy(here: str, there: str) -> None:
        nonlocal done
        with Path(here).open("rb") as old, Path(there).open("wb") as new:
            while chunk := old.read(CHUNK):
                new.write(chunk)
                done += len(chunk)
                report(done, size)
        shutil.copystat(here, there)

    shutil.copytree(source, target, symlinks=True, copy_function=copy)
