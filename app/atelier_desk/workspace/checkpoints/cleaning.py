"""Which checkpoints are given up, by age and by size: first what no offered undo needs, then the oldest changes.

A change whose content was given up stays in the list and says that it cannot be undone any more.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from atelier_desk.domain.change import Change
from atelier_desk.workspace.checkpoints.files import WorkspaceFiles
from atelier_desk.workspace.checkpoints.store import CheckpointFiles


@dataclass(frozen=True, slots=True)
class Kept:
    """What checkpoints take: bytes of all files, changes that can be undone, and the time of the oldest of them."""

    size: int = 0
    changes: int = 0
    oldest: datetime | None = None


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What a cleaning did: bytes it freed, and how many changes that could be undone no longer can."""

    freed: int = 0
    given_up: int = 0


def kept(files: WorkspaceFiles) -> Kept:
    """Look how much is kept; blocks."""
    undoable = [change for change in _all(files.kept) if change.undoable]
    return Kept(files.kept.size(), len(undoable), min((change.at for change in undoable), default=None))


def clean(files: WorkspaceFiles, *, before: datetime | None, most: int, workflows: Container[str]) -> Cleaned:
    """Give checkpoints up; blocks, and holds up changes meanwhile.

    Args:
        before: changes from before this time are given up; None keeps them for ever.
        most: bytes of all that is kept at the end, as long as giving changes up can reach it.
        workflows: the ids of those that exist; what belongs to another is forgotten with its records.
    """
    with files.lock:
        size = files.kept.size()
        files.recover()
        given_up = 0
        files.held.drop_all_but(workflows)
        for change in _all(files.kept):
            if change.workflow_id not in workflows:
                files.kept.remove(change)
            elif before is not None and change.at < before:
                given_up += change.undoable
                _give_up(files.kept, change)
        files.kept.drop_unused()
        held = files.kept.size()
        if held > most:
            given_up += _down_to(files.kept, held, most)
            files.kept.drop_unused()
        return Cleaned(max(0, size - files.kept.size()), given_up)


def _down_to(store: CheckpointFiles, held: int, most: int) -> int:
    """Give up what no offered undo needs, the oldest first, then the oldest changes; gives how many could still be undone."""
    changes = [change for change in _all(store) if not change.cleaned]
    uses = Counter(name for change in changes for name in _contents(change))
    given_up = 0
    for change in sorted(changes, key=lambda each: (each.undoable, each.id)):
        if held <= most:
            break
        held -= _size(store.trash(change.id))
        for name in _contents(change):
            uses[name] -= 1
            if not uses[name]:
                held -= store.size_of(name)
        given_up += change.undoable
        _give_up(store, change)
    return given_up


def _give_up(store: CheckpointFiles, change: Change) -> None:
    if change.undoes:
        # It only took another change back and stands in no list: nobody misses its record.
        store.remove(change)
    elif not change.cleaned:
        store.save(change.model_copy(update={"cleaned": True}))
        shutil.rmtree(store.trash(change.id), ignore_errors=True)


def _contents(change: Change) -> set[str]:
    return {name for name in (change.before, change.after) if name}


def _all(store: CheckpointFiles) -> list[Change]:
    return sorted((change for workflow in store.workflows() for change in store.of(workflow)), key=lambda each: each.id)


def _size(folder: Path) -> int:
    return sum(each.lstat().st_size for each in folder.rglob("*") if not each.is_dir()) if folder.is_dir() else 0
