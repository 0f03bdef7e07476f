"""The files of checkpoints in the data folder: contents by their hash, a record for each change, and the trash.

objects/ab/cdef…      a content, named by its SHA-256
pending/<id>.json     a change that began; it is moved below when it is done, so after a kill it tells what has to be
looked at changes/<workflow>/<id>.json
trash/<id>/content    a file or folder that was deleted
cleaned-by            which state of which database cleaned here last
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from atelier_desk.domain.errors import NotFoundError, ToolError
from atelier_desk.domain.file_change import Change
from atelier_desk.storage.data_folder.atomic_files import holds, plain_name, private_folder, sync_folder, write_atomic
from atelier_desk.support.i18n import N_
from atelier_desk.workspace.checkpoints.records import (
    ENDING,
    References,
    UnreadRecord,
    delete_tree,
    listed,
    read_folder,
    size_below,
    write_record,
)
from atelier_desk.workspace.diffs import digest

MISSING = N_("it is missing")


class CheckpointFiles:
    """Access to these files; all calls block. ``folder`` is created when something is first stored."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def store(self, data: bytes) -> str:
        """Store a content; return its hash. A stored copy that is damaged is replaced."""
        name = digest(data)
        path = self._object(name)
        if not holds(path, data):
            write_atomic(path, data)
        return name

    def content(self, name: str) -> bytes:
        """Return a stored content.

        Raises:
            NotFoundError: it was deleted by cleaning; ``damaged``: it does not match its hash.
        """
        try:
            data = self._object(name).read_bytes()
        except OSError as error:
            raise NotFoundError(N_("The previous content of the file is no longer stored.")) from error
        if digest(data) != name:
            raise NotFoundError(
                N_("The stored copy of the file is damaged ({path}): nothing was changed."),
                code="damaged",
                path=self._object(name),
            )
        return data

    def has(self, name: str) -> bool:
        return self._object(name).exists()

    def begin(self, change: Change) -> None:
        write_record(self.folder / "pending" / f"{change.id}.json", change)

    def finish(self, change: Change) -> None:
        """Complete a change.

        Move its record to the others. The record of an undo waits until all of the undo is done.
        """
        self.save(change)
        if not change.undoes:
            self.drop(change)

    def drop(self, change: Change) -> None:
        """Delete the record of a change that was not made or needs no more work."""
        (self.folder / "pending" / f"{change.id}.json").unlink(missing_ok=True)

    def save(self, change: Change) -> None:
        write_record(self.record(change), change)

    def recorded(self, change: Change) -> bool:
        """Whether its record is among those of completed changes."""
        return self.record(change).exists()

    def remove(self, change: Change) -> None:
        """Delete a change and its trash."""
        self.empty_trash(change)
        self.record(change).unlink(missing_ok=True)

    def empty_trash(self, change: Change) -> None:
        """Delete the trash of a change."""
        with contextlib.suppress(OSError):
            delete_tree(self.trash(change.id))

    def pending(self) -> list[Change]:
        return read_folder(self.folder / "pending", Change)[0]

    def of(self, workflow_id: str) -> list[Change]:
        """Return the readable changes of a workflow, oldest first."""
        return self.read(workflow_id)[0]

    def read(self, workflow_id: str) -> tuple[list[Change], list[UnreadRecord]]:
        """Return the changes of a workflow, oldest first, and the unreadable records."""
        changes, unread = read_folder(self.folder / "changes" / plain_name(workflow_id), Change)
        return sorted(changes, key=lambda each: each.id), unread

    def references(self, stop: Callable[[], bool] = lambda: False) -> References:
        """Return everything that records name.

        Raises:
            Stopped: ``stop`` returned True.
        """
        workflows, unread = listed(self.folder / "changes")
        if not unread and not os.path.isdir(self.folder / "changes") and (self.stored() or self.trashed()):  # noqa: PTH112
            unread.append(UnreadRecord(self.folder / "changes", MISSING, folder=True))
        changes: dict[str, Change] = {}
        for workflow in workflows:
            found, problems = read_folder(self.folder / "changes" / workflow, Change, stop)
            changes |= {change.id: change for change in found}
            unread += problems
        pending, problems = read_folder(self.folder / "pending", Change, stop)
        return References(changes, {change.id: change for change in pending}, (*unread, *problems))

    def record_names(self) -> tuple[dict[str, set[str]], bool]:
        """Return the record ids by workflow, readable or not (pending ones under an empty id), and whether they are
        complete.
        """
        folder = self.folder / "changes"
        workflows, problems = listed(folder)
        found = {"": self._ids(self.folder / "pending", problems)}
        found |= {workflow: self._ids(folder / workflow, problems) for workflow in workflows}
        return found, not problems and folder.is_dir()

    @staticmethod
    def _ids(folder: Path, problems: list[UnreadRecord]) -> set[str]:
        names, problem = listed(folder)
        problems += problem
        return {name.removesuffix(ENDING) for name in names if name.endswith(ENDING) and not name.startswith(".")}

    def with_records(self, workflow_id: str = "") -> set[str] | None:
        """Return the ids of workflows with records (only this one, if given); None if that cannot be determined."""
        problems: list[UnreadRecord] = []
        if workflow_id:
            found = {workflow_id} if self._ids(self.folder / "changes" / plain_name(workflow_id), problems) else set()
        else:
            workflows, problems = listed(self.folder / "changes")
            found = {name for name in workflows if self._ids(self.folder / "changes" / name, problems)}
        return None if problems else found

    def stored(self) -> set[str]:
        """Return the hashes of the stored contents."""
        folders = listed(self.folder / "objects")[0]
        return {first + rest for first in folders for rest in listed(self.folder / "objects" / first)[0]}

    def trashed(self) -> set[str]:
        """Return the ids of changes with something in the trash."""
        return set(listed(self.folder / "trash")[0])

    def cleaned_by(self) -> str:
        """Return the last value of ``set_cleaned_by``; empty if unset or unreadable."""
        try:
            return (self.folder / "cleaned-by").read_text("ascii")
        except (OSError, ValueError):
            return ""

    def set_cleaned_by(self, token: str) -> None:
        write_atomic(self.folder / "cleaned-by", token.encode("ascii"))

    def get(self, workflow_id: str, id: str) -> Change:
        """A change.

        Raises:
            NotFoundError: there is none.
        """
        for each in self.of(workflow_id):
            if each.id == id:
                return each
        raise NotFoundError(N_("Change {id} not found: it may be too old and no longer stored."), id=id)

    def trash(self, id: str) -> Path:
        return self.folder / "trash" / plain_name(id)

    @contextlib.contextmanager
    def trash_folder(self, id: str, *, make: bool = False) -> Iterator[int]:
        """Yield a descriptor of a change's trash folder.

        Raises:
            ToolError: it does not exist.
        """
        path = self.trash(id)
        if make:
            private_folder(path)
        try:
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError as error:
            raise ToolError(N_("The deleted data is no longer stored."), code="not_found") from error
        try:
            yield handle
            if make:
                os.fsync(handle)
                sync_folder(path.parent)
        finally:
            os.close(handle)

    def size(self) -> int:
        """Return the total bytes of stored data."""
        # Held files wait for a person and are not cleaned.
        return sum(size_below(self.folder / name) for name in ("changes", "objects", "pending", "trash"))

    def size_of(self, name: str) -> int:
        """Return the bytes of a stored content, 0 if missing."""
        with contextlib.suppress(OSError):
            return self._object(name).stat().st_size
        return 0

    def drop_content(self, name: str) -> None:
        """Delete a stored content."""
        self._object(name).unlink(missing_ok=True)

    def _object(self, name: str) -> Path:
        return self.folder / "objects" / name[:2] / name[2:]

    def record(self, change: Change) -> Path:
        return self.folder / "changes" / plain_name(change.workflow_id) / f"{plain_name(change.id)}.json"
