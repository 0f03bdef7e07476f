"""Undo all changes of a workspace, or make one more, until done or killed.

    python -m tests.chaos.undo_worker WORKSPACE CHECKPOINTS ACT [STEP]

``ACT`` is ``undo`` or ``delete``. With ``STEP`` the process kills itself (SIGKILL) at that disk access. Where both
folders are on one disk, renaming from one to the other is refused as it would be between two.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from pathlib import Path

from atelier_desk.workspace import atomic_rename
from atelier_desk.workspace.checkpoints import trash
from atelier_desk.workspace.checkpoints.undo import undo
from atelier_desk.workspace.checkpoints.undoable_file_operations import Author, WorkspaceFiles
from atelier_desk.workspace.path_resolution import place

TOUCHES = frozenset(
    {
        "open",
        "os.mkdir",
        "os.rename",
        "os.remove",
        "os.rmdir",
        "os.symlink",
        "os.link",
        "os.chmod",
        "os.utime",
        "shutil.rmtree",
    }
)


def die_at(step: int) -> None:
    """Have the process killed at a step; only what it did before can be seen from outside."""
    seen = 0

    def look(event: str, _arguments: object) -> None:
        nonlocal seen
        if event in TOUCHES:
            seen += 1
            if seen == step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(look)


def as_on_two_disks() -> None:
    """Refuse renames between folders on the way into the trash and back."""
    real = atomic_rename.rename_new

    def rename(source: int, name: str, target: int, new: str) -> None:
        if not os.path.samestat(os.fstat(source), os.fstat(target)):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), new)
        real(source, name, target, new)

    vars(trash)["rename_new"] = rename


def main(workspace: Path, checkpoints: Path, act: str, step: int) -> None:
    if workspace.stat().st_dev == checkpoints.stat().st_dev:
        as_on_two_disks()
    files = WorkspaceFiles(checkpoints)
    changes = [change for change in files.store.of("w") if change.undoable]
    print("ready", flush=True)
    if step:
        die_at(step)
    if act == "delete":
        files.delete(Author("w"), place("new", (workspace,)))
    elif left := [each.problem for each in undo(files, changes) if each.problem is not None]:
        raise left[0]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]) if len(sys.argv) > 4 else 0)
