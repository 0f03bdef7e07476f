"""The only window of a data folder: another start has it shown.

Imported only where a window is to be opened.
"""

from __future__ import annotations

import time
from pathlib import Path

from atelier_desk.domain.errors import StorageError
from atelier_desk.engine.ipc.address import read_note
from atelier_desk.storage.data_folder.datadir import DataDir, default_data_dir
from atelier_desk.storage.data_folder.lock import POLL_S, FolderLock
from atelier_desk.support.display_check import desktop_problem

__all__ = ["FolderLock", "ask_holder_to_raise", "default_data_dir", "desktop_problem", "the_one_window"]

OPENING_S = 60.0
"""Seconds to wait for another window to open or close."""


def the_one_window(root: Path, *, quick: bool) -> FolderLock | int | None:
    """Become the only window of a data folder, or have the existing one shown.

    While another window is opening or closing, wait for it: it holds the folder already, and does not answer
    yet.

    Returns:
        A lock that keeps others from opening a second window, to be released at the end; an exit status when
            another window was asked; None when that one neither answers nor ends, or the folder is not
            writable: opening then reports why.
    """
    until = time.monotonic() + OPENING_S
    while time.monotonic() < until:
        raised = ask_holder_to_raise(root, quick=quick)
        if raised is not None:
            return raised
        try:
            # A folder that always exists and is never replaced; the data's own is locked by its readers and
            # writers.
            claimed = FolderLock.claim(DataDir(root).ensure().logs)
        except StorageError:
            return None
        if claimed is not None:
            return claimed
        time.sleep(POLL_S)
    return None


def ask_holder_to_raise(root: Path, *, quick: bool = False) -> int | None:
    """Ask the process that holds the data folder to show its window, or its quick ask.

    Returns:
        0 when it does, 1 when it has no window, None when nobody holds the folder.
    """
    if read_note(root) is None:
        return None
    from atelier_desk.engine.ipc.window_request import ask_to_raise

    return ask_to_raise(root, quick=quick)
