"""Swap a folder for a link under processes that open its files; used by the long runs and by the suite's samples."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from atelier_desk.domain.errors import ToolError
from atelier_desk.workspace.checkpoints.undoable_file_operations import Author, WorkspaceFiles
from atelier_desk.workspace.confined_root import ConfinedRoot
from atelier_desk.workspace.path_resolution import place

PATIENCE = 60.0
_HERE, _EXCHANGE = -100, 2
"""AT_FDCWD and RENAME_EXCHANGE of Linux."""


def race(folder: Path, seconds: float, *, walk: bool, least: int = 0) -> int:
    """Swap a folder for a link out of the workspace, as fast as possible, during reads, writes and deletions;
    returns the number of successful operations. On a busy machine it continues until ``least`` succeeded.

    Nothing outside is read or changed.
    """
    workspace, outside = folder / "ws", folder / "outside"
    inside = workspace / "d"
    for each in (inside, outside):
        each.mkdir(parents=True)
        (each / "f").write_bytes(b"inside" if each is inside else b"outside")
    link = workspace / "link"
    link.symlink_to("../outside")
    ends = monotonic() + seconds
    stopped = threading.Event()
    libc = ctypes.CDLL(None)

    def swap() -> None:
        while not stopped.is_set():
            # One system call exchanges the two, so the name always exists.
            assert libc.renameat2(_HERE, bytes(inside), _HERE, bytes(link), _EXCHANGE) == 0

    attempts: list[Callable[[], object]] = [
        lambda: root.read("d/f", 100),
        lambda: root.write("d/f", b"inside"),
        lambda: root.write("d/new", b"inside"),
        lambda: root.make_folder("d/made"),
        lambda: root.names("d"),
        lambda: files.delete(author, place("d/new", (workspace,))),
    ]
    swapper = threading.Thread(target=swap, daemon=True)
    swapper.start()
    root, files, author = (
        ConfinedRoot(workspace, walk=walk),
        WorkspaceFiles(folder / "data" / "checkpoints"),
        Author("w"),
    )
    done = 0
    try:
        while monotonic() < ends or (done < least and monotonic() < ends + PATIENCE):
            for number, attempt in enumerate(attempts):
                try:
                    found = attempt()
                except (ToolError, OSError):
                    continue
                done += 1
                assert found != b"outside", number
    finally:
        stopped.set()
        swapper.join(10)
    assert sorted(path.name for path in outside.iterdir()) == ["f"]
    assert (outside / "f").read_bytes() == b"outside"
    return done
