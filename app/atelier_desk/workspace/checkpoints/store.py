"""The files of checkpoints in the data folder: contents by their hash, a record for each change, and the trash.

objects/ab/cdef…      a content, named by its SHA-256
pending/<id>.json     a change that began; it is moved below when it is done, so after a kill it tells what has to be looked at
changes/<workflow>/<id>.json
trash/<id>/content    a file or folder that was deleted
cleaned-by            which state of which database cleaned here last
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from atelier_desk.domain.change import Change
from atelier_desk.domain.errors import NotFoundError, ToolError
from atelier_desk.storage.folder.files import holds, plain_name, private_folder, sync_folder, write_atomic
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
    """All calls block. ``folder`` is made when something is first kept."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, data: bytes) -> str:
        """Store a content; gives its hash. One that is stored already and was damaged is replaced."""
        name = digest(data)
        path = self._object(name)
        if not holds(path, data):
            write_atomic(path, data)
        return name

    def content(self, name: str) -> bytes:
        """A stored content.

        Raises:
            NotFoundError: it was cleaned away; ``damaged``: it is not as it was kept.
        """
        try:
            data = self._object(name).read_bytes()
        except OSError as error:
            raise NotFoundError(N_("What the file held before is no longer kept.")) from error
        if digest(data) != name:
            raise NotFoundError(
                N_("What is kept of the file is damaged ({path}): nothing was changed."), code="damaged", path=self._object(name)
            )
        return data

    def has(self, name: str) -> bool:
        return self._object(name).exists()

    def begin(self, change: Change) -> None:
        write_record(self.folder / "pending" / f"{change.id}.json", change)

    def finish(self, change: Change) -> None:
        """The change is done: its record is among the others from now on. That of an undo waits, too, until all of the undo is done."""
        self.save(change)
        if not change.undoes:
            self.drop(change)

    def drop(self, change: Change) -> None:
        """The change was not made, or nothing of it is left to do."""
        (self.folder / "pending" / f"{change.id}.json").unlink(missing_ok=True)

    def save(self, change: Change) -> None:
        write_record(self.record(change), change)

    def recorded(self, change: Change) -> bool:
        """Whether its record is among those of the changes that were made."""
        return self.record(change).exists()

    def remove(self, change: Change) -> None:
        """Forget a change and what is in the trash for it."""
        self.empty_trash(change)
        self.record(change).unlink(missing_ok=True)

    def empty_trash(self, change: Change) -> None:
        """Delete what is in the trash for a change."""
        with contextlib.suppress(OSError):
            delete_tree(self.trash(change.id))

    def pending(self) -> list[Change]:
        return read_folder(self.folder / "pending", Change)[0]

    def of(self, workflow_id: str) -> list[Change]:
        """The changes of a workflow that can be read, the oldest first."""
        return self.read(workflow_id)[0]

    def read(self, workflow_id: str) -> tuple[list[Change], list[UnreadRecord]]:
        """The changes of a workflow, the oldest first, and the records that cannot be read."""
        changes, unread = read_folder(self.folder / "changes" / plain_name(workflow_id), Change)
        return sorted(changes, key=lambda each: each.id), unread

    def references(self, stop: Callable[[], bool] = lambda: False) -> References:
        """What the records of all changes name.

        Raises:
            Stopped: ``stop`` said so.
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
        """The ids of all records by workflow, readable or not (pending ones under an empty id), and whether these are all."""
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
        """The ids of the workflows that have records (this one alone, if one is named); None when that cannot be told."""
        problems: list[UnreadRecord] = []
        if workflow_id:
            found = {workflow_id} if self._ids(self.folder / "changes" / plain_name(workflow_id), problems) else set()
        else:
            workflows, problems = listed(self.folder / "changes")
            found = {name for name in workflows if self._ids(self.folder / "changes" / name, problems)}
        return None if problems else found

    def stored(self) -> set[str]:
        """The hashes of the contents that are stored."""
        folders = listed(self.folder / "objects")[0]
        return {first + rest for first in folders for rest in listed(self.folder / "objects" / first)[0]}

    def trashed(self) -> set[str]:
        """The ids of changes that have something in the trash."""
        return set(listed(self.folder / "trash")[0])

    def cleaned_by(self) -> str:
        """What ``set_cleaned_by`` was given last; empty when nothing was, or it cannot be read."""
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
        raise NotFoundError(N_("There is no change {id}: it may be older than what is kept."), id=id)

    def trash(self, id: str) -> Path:
        return self.folder / "trash" / plain_name(id)

    @contextlib.contextmanager
    def trash_folder(self, id: str, *, make: bool = False) -> Iterator[int]:
        """A descriptor of a change's folder in the trash.

        Raises:
            ToolError: nothing is there.
        """
        path = self.trash(id)
        if make:
            private_folder(path)
        try:
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError as error:
            raise ToolError(N_("What was deleted is no longer kept."), code="not_found") from error
        try:
            yield handle
            if make:
                os.fsync(handle)
                sync_folder(path.parent)
        finally:
            os.close(handle)

    def size(self) -> int:
        """Bytes of all that is kept."""
        # What is held waits for a person, and is given up by nobody else.
        return sum(size_below(self.folder / name) for name in ("changes", "objects", "pending", "trash"))

    def size_of(self, name: str) -> int:
        """Bytes of a stored content, 0 when it is not kept."""
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
