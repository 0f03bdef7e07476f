"""Write a file of a workspace repeatedly until killed: ``python -m tests.chaos.file_writer WORKSPACE
CHECKPOINTS``.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

from atelier_desk.workspace.checkpoints.undoable_file_operations import Author, WorkspaceFiles
from atelier_desk.workspace.path_resolution import place

SIZE = 300_000
CONTENTS = (b"A" * SIZE, b"B" * SIZE)


def main(workspace: Path, checkpoints: Path) -> None:
    files, author = WorkspaceFiles(checkpoints), Author("w")
    target, other = place("sub/file.txt", (workspace,)), place("sub/moved.txt", (workspace,))
    print("ready", flush=True)
    for number in itertools.count():
        files.write(author, target, CONTENTS[number % 2])
        if number % 5 == 4:
            files.move(author, target, other)
            files.copy(author, other, target)
            files.delete(author, other)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
