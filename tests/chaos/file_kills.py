"""Kill processes that write files, and swap links under processes that open them; used by the long runs and by the
suite's samples.
"""

from __future__ import annotations

import ctypes
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep

from atelier_desk.domain.errors import ToolError
from atelier_desk.workspace.checkpoints.undoable_changes import Author, WorkspaceFiles
from atelier_desk.workspace.path_resolution import place
from atelier_desk.workspace.root import TEMPORARY, ConfinedRoot
from tests.chaos.file_writer import CONTENTS

WHOLE = set(CONTENTS)
PATIENCE = 60.0
_HERE, _EXCHANGE = -100, 2
"""AT_FDCWD and RENAME_EXCHANGE of Linux."""


def kill_writers(folder: Path, times: int, seed: int = 1) -> None:
    """Start a writer, kill it after a random time, and check what it left; repeated ``times`` times."""
    chance = random.Random(seed)
    workspace, checkpoints = folder / "ws", folder / "data" / "checkpoints"
    (workspace / "sub").mkdir(parents=True)
    for _kill in range(times):
        command = (sys.executable, "-m", "tests.chaos.file_writer", str(workspace), str(checkpoints))
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
            sleep(chance.uniform(0.001, 0.15))
            writer.kill()
            writer.wait(10)
        for path in workspace.rglob("*.txt"):
            assert path.read_bytes() in WHOLE, f"{path} is torn"
        WorkspaceFiles(checkpoints).recover()
        assert not list(workspace.rglob(f"{TEMPORARY}*")), "an unfinished file is left"
        assert not list((checkpoints / "pending").glob("*.json"))
        for change in WorkspaceFiles(checkpoints).store.of("w"):
            assert change.action != "deleted" or (checkpoints / "trash" / change.id / "content").exists()


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
