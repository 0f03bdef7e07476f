"""What the launcher took away because git would run it, handed over to the files that wait for a person.

The launcher knows nothing of workflows: it puts each thing in a folder of its own (``processes.holding``). Once it is over these become
held files like all others, so that one "Keep" and one "Discard" serve for both.
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
from atelier_desk.workspace.checkpoints.files import Author, WorkspaceFiles
from atelier_desk.workspace.checkpoints.held_files import LAUNCHER

log = logging.getLogger(__name__)
Entry = Mapping[str, str]


def adopt(files: WorkspaceFiles, author: Author, entries: Iterable[Entry], *, by: str = "") -> tuple[list[HeldFile], tuple[Entry, ...]]:
    """Take over what a program's launcher held; gives the records, and the entries that stay where they are.

    Those are what is in no granted folder, and what the launcher could only rename. Blocks.

    Args:
        entries: ``process.Guarded.held``.
        by: who made it, when it was no agent.
    """
    taken: list[HeldFile] = []
    left: list[Entry] = []
    for entry in entries:
        place = Path(entry["file"]).parent
        record = _adopted(files, author, place, by) if place.parent == files.held.folder / LAUNCHER else None
        if record is None:
            left.append(entry)
        else:
            taken.append(record)
    return taken, tuple(left)


def adopt_left(files: WorkspaceFiles) -> list[HeldFile]:
    """Take over what was held when Atelier was killed before it could: nobody knows of which workflow it is. Blocks."""
    try:
        places = sorted((files.held.folder / LAUNCHER).iterdir())
    except FileNotFoundError:
        return []
    found = (_adopted(files, Author(""), place, "") for place in places)
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
            record = files.held.take(record, handle, name)
        finally:
            os.close(handle)
    except (AtelierError, OSError, ValueError, KeyError, TypeError) as error:
        # It stays where it is, and whoever asks is told its place.
        log.warning("what a command left is held in %s: %s", place, error)
        return None
    shutil.rmtree(place, ignore_errors=True)
    return record
