"""Cleans checkpoints until it is killed, or deletes leftovers:
``python -m tests.chaos.checkpoint_cleaning_worker CHECKPOINTS clean|delete``.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from atelier_desk.workspace.checkpoints.cleaning import clean
from atelier_desk.workspace.checkpoints.leftover_undo_data import delete
from atelier_desk.workspace.checkpoints.undoable_file_operations import WorkspaceFiles

NOW = datetime(2026, 11, 23, tzinfo=UTC)
OLD = NOW - timedelta(days=100)
KNOWN = frozenset({"mine"})
EXPIRED = frozenset({"expired"})


def main(checkpoints: Path, what: str) -> None:
    files = WorkspaceFiles(checkpoints, (), lambda: NOW)
    print("ready", flush=True)
    if what == "clean":
        clean(files, before=NOW - timedelta(days=30), most=1_000_000_000, known=KNOWN, expired=EXPIRED)
    else:
        delete(files, ["expired"], KNOWN)
    print("done", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
