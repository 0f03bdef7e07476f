"""Hand over files that the launcher removed because git would execute them to the held files.

The launcher knows no workflows: it puts each item into a folder of its own (``processes.held_git_files``). After it
ends, they become ordinary held files, so that the same "Keep" and "Discard" apply.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from atelier_desk.domain.errors import AtelierError
from atelier_desk.domain.held_file import HeldFile
from atelier_desk.workspace.checkpoints.held_files import LAUNCHER
from atelier_desk.workspace.checkpoints.undoable_file_operations import Author, WorkspaceFiles

log = logging.getLogger(__name__)
Entry = Mapping[str, str]


def adopt(
    files: WorkspaceFiles, author: Author, entries: Iterable[Entry], *, by: str = ""
) -> tuple[list[HeldFile], tuple[Entry, ...]]:
    """Take over what a program's launcher removed; return the records, and the entries that stay.

    Entries stay if they are in no granted folder or could only be renamed. Blocks.

    Args:
        entries: ``command_process.Guarded.held``.
        by: its author, if no agent.
    """
    held: list[HeldFile] = []
    left: list[Entry] = []
    for entry in entries:
        folder = Path(entry["file"]).parent
        record = _adopted(files, author, folder, by) if folder.parent == files.held.folder / LAUNCHER else None
        if record is None:
            left.append(entry)
        else:
            held.append(record)
    return held, tuple(left)


def adopt_left(files: WorkspaceFiles) -> list[HeldFile]:
    """Take over files left by a kill of Atelier; their workflow is unknown. Blocks."""
    try:
        folders = sorted((files.held.folder / LAUNCHER).iterdir())
    except FileNotFoundError:
        return []
    found = (_adopted(files, Author(""), place, "") for place in folders)
    return [record for record in found if record is not None]


def _adopted(files: WorkspaceFiles, author: Author, place: Path, by: str) -> HeldFile | None:
    try:
        about = json.loads((place / "held.json").read_text("utf-8"))
        path, root = Path(about["path"]), Path(about["root"])
        (name,) = (each.name for each in place.iterdir() if each.name != "held.json")
        below = path.relative_to(root).as_posix()
        record = files.held_record(author, root, below, by=by)
        record = record.model_copy(update={"replaces": files.digest_at(files.root(root), below, follow=False)})
        handle = os.open(place, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            record = files.held.move_out(record, handle, name)
        finally:
            os.close(handle)
    except (AtelierError, OSError, ValueError, KeyError, TypeError) as error:
        # It stays in place, and its location is reported.
        log.warning("what a command left is held in %s: %s", place, error)
        return None
    shutil.rmtree(place, ignore_errors=True)
    return record
