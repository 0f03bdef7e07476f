"""Delete checkpoints by age and size: first data that no offered undo needs, then the oldest changes.

A change whose content was deleted stays listed as no longer undoable. Content that an unreadable record may name stays,
and so does data of workflows unknown to the database, until it expires (``leftover_undo_data``): neither counts towards
the size limit.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Container
from dataclasses import dataclass
from datetime import datetime

from atelier_desk.domain.file_change import Change
from atelier_desk.workspace.checkpoints.leftover_undo_data import TRASH
from atelier_desk.workspace.checkpoints.records import References, Stopped, delete_tree, size_below
from atelier_desk.workspace.checkpoints.undoable_file_operations import WorkspaceFiles


@dataclass(frozen=True, slots=True)
class KeptRecord:
    """Size of the checkpoints in bytes, number of undoable changes, and time of the oldest."""

    size: int = 0
    changes: int = 0
    oldest: datetime | None = None


@dataclass(frozen=True, slots=True)
class Cleaned:
    """Result of a cleaning: freed bytes, number of changes no longer undoable, and whether it completed."""

    freed: int = 0
    given_up: int = 0
    finished: bool = True


def stored_size(files: WorkspaceFiles) -> KeptRecord:
    """Measure the checkpoints; blocks."""
    undoable = [change for change in files.store.references().changes.values() if change.undoable]
    return KeptRecord(files.store.size(), len(undoable), min((change.at for change in undoable), default=None))


def clean(
    files: WorkspaceFiles,
    *,
    before: datetime | None,
    most: int | None,
    known: Container[str],
    expired: Container[str] = (),
    stop: Callable[[], bool] = lambda: False,
) -> Cleaned:
    """Delete checkpoints; blocks, and delays changes meanwhile. It may be interrupted at any time.

    Args:
        before: changes of known workflows made before this time are deleted; None keeps them.
        most: maximum bytes for known workflows, as far as deleting changes can achieve it; None keeps all.
        known: ids of the workflows in the database.
        expired: keys of expired leftovers, which are deleted. Data in neither set stays.
        stop: called often; once it returns True, nothing more is deleted.
    """
    with files.lock:
        cleaning = _Cleaning(files, known, expired, stop)
        size = files.store.size()
        finished = True
        try:
            cleaning.delete_expired()
            if before is not None:
                cleaning.give_up_before(before)
            if most is not None and size > most:
                cleaning.give_up_down_to(most)
            cleaning.drop_unused()
        except Stopped:
            finished = False
        return Cleaned(max(0, size - files.store.size()), cleaning.given_up, finished)


class _Cleaning:
    """One cleaning. ``records`` mirrors the files while it runs."""

    def __init__(
        self, files: WorkspaceFiles, known: Container[str], expired: Container[str], stop: Callable[[], bool]
    ) -> None:
        self._files, self._store = files, files.store
        self._known, self._expired, self._stop = known, expired, stop
        self._records = References()
        self.given_up = 0

    def _check_stop(self) -> None:
        if self._stop():
            raise Stopped

    def delete_expired(self) -> None:
        """Delete the data of expired workflows, except unreadable records."""
        self._check_stop()
        self._files.recover()
        self._records = self._store.references(self._stop)
        self._files.held.delete_workflows([each for each in self._files.held.workflows() if each in self._expired])
        for change in self._of_expired(self._records.changes):
            self._check_stop()
            self._store.remove(change)
            del self._records.changes[change.id]
            with contextlib.suppress(OSError):
                self._store.record(change).parent.rmdir()  # only succeeds if it was the last one
        for change in self._of_expired(self._records.pending):
            self._store.drop(change)
            self._drop_trash(change.id)
            del self._records.pending[change.id]
        for id in self._records.unnamed_trash(self._store.trashed()):
            if TRASH + id in self._expired:
                self._drop_trash(id)

    def _of_expired(self, changes: dict[str, Change]) -> list[Change]:
        return [
            change
            for change in changes.values()
            if change.workflow_id in self._expired and change.workflow_id not in self._known
        ]

    def give_up_before(self, before: datetime) -> None:
        for change in self._candidates():
            if change.at < before and self._frees(change):
                self._give_up(change)

    def give_up_down_to(self, most: int) -> None:
        """Delete data that no offered undo needs, oldest first, then the oldest changes."""
        every = [*self._records.changes.values(), *self._records.pending.values()]
        uses = Counter(name for change in every if not change.cleaned for name in self._contents(change))
        candidates = self._candidates()
        own = Counter(name for change in candidates for name in self._contents(change))
        held = sum(self._store.size_of(name) for name, count in own.items() if uses[name] == count)
        held += sum(size_below(self._store.trash(change.id)) for change in candidates)
        known = (change for change in self._records.changes.values() if change.workflow_id in self._known)
        held += sum(size_below(self._store.record(change)) for change in known)
        for change in sorted(candidates, key=lambda each: (each.undoable, each.id)):
            if held <= most:
                return
            if not self._frees(change):
                continue
            held -= size_below(self._store.trash(change.id))
            for name in self._contents(change):
                uses[name] -= 1
                if not uses[name]:
                    held -= self._store.size_of(name)
            self._give_up(change)

    def _candidates(self) -> list[Change]:
        found = [
            change
            for change in self._records.changes.values()
            if change.workflow_id in self._known and not change.cleaned
        ]
        return sorted(found, key=lambda each: each.id)

    def _frees(self, change: Change) -> bool:
        """Whether deleting it can free anything: while a record is unreadable, no contents are deleted."""
        return not self._records.unread or self._store.trash(change.id).exists()

    def _contents(self, change: Change) -> set[str]:
        """Return those of its contents that may be deleted."""
        return set() if self._records.unread else {name for name in (change.before, change.after) if name}

    def _give_up(self, change: Change) -> None:
        self._check_stop()
        self.given_up += change.undoable
        if change.undoes:
            # It only undid another change and is listed nowhere, so nobody misses its record.
            self._store.remove(change)
            del self._records.changes[change.id]
            return
        self._records.changes[change.id] = cleaned = change.model_copy(update={"cleaned": True})
        self._store.save(cleaned)
        self._drop_trash(change.id)

    def drop_unused(self) -> None:
        """Delete contents that no record names, and trash of deleted changes."""
        for id in sorted(self._records.unused_trash(self._store.trashed())):
            self._check_stop()
            self._drop_trash(id)
        for name in sorted(self._records.unused_contents(self._store.stored())):
            self._check_stop()
            self._store.drop_content(name)

    def _drop_trash(self, id: str) -> None:
        with contextlib.suppress(OSError):
            delete_tree(self._store.trash(id))
