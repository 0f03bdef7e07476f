"""The files of checkpoints in the data folder: contents by their hash, a record for each change, and the trash.

objects/ab/cdef…      a content, named by its SHA-256
pending/<id>.json     a change that began; it is moved below when it is done, so after a kill it tells what has to be looked at
changes/<workflow>/<id>.json
trash/<id>/content    a file or folder that was deleted
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from atelier_desk.domain.change import Change
from atelier_desk.domain.errors import NotFoundError, ToolError
from atelier_desk.i18n import N_
from atelier_desk.storage.folder.files import holds, plain_name, private_folder, sync_folder, write_atomic
from atelier_desk.workspace.diffs import digest


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
        write_atomic(self.folder / "pending" / f"{change.id}.json", change.model_dump_json().encode())

    def finish(self, change: Change) -> None:
        """The change is done: its record is among the others from now on. That of an undo waits, too, until all of the undo is done."""
        self.save(change)
        if not change.undoes:
            self.drop(change)

    def drop(self, change: Change) -> None:
        """The change was not made, or nothing of it is left to do."""
        (self.folder / "pending" / f"{change.id}.json").unlink(missing_ok=True)

    def save(self, change: Change) -> None:
        write_atomic(self._record(change), change.model_dump_json().encode())

    def recorded(self, change: Change) -> bool:
        """Whether its record is among those of the changes that were made."""
        return self._record(change).exists()

    def remove(self, change: Change) -> None:
        """Forget a change and what is in the trash for it."""
        self.empty_trash(change)
        self._record(change).unlink(missing_ok=True)

    def empty_trash(self, change: Change) -> None:
        """Delete what is in the trash for a change."""
        shutil.rmtree(self.trash(change.id), ignore_errors=True)

    def pending(self) -> list[Change]:
        return list(self._read(self.folder / "pending"))

    def of(self, workflow_id: str) -> list[Change]:
        """The changes of a workflow, the oldest first."""
        return sorted(self._read(self.folder / "changes" / plain_name(workflow_id)), key=lambda each: each.id)

    def workflows(self) -> list[str]:
        with contextlib.suppress(FileNotFoundError):
            return sorted(each.name for each in (self.folder / "changes").iterdir())
        return []

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
        held = self.folder / "held"  # waits for a person, and is given up by nobody else
        kept = (each for each in self.folder.rglob("*") if not each.is_relative_to(held))
        return sum(each.stat().st_size for each in kept if each.is_file() and not each.is_symlink())

    def size_of(self, name: str) -> int:
        """Bytes of a stored content, 0 when it is not kept."""
        with contextlib.suppress(OSError):
            return self._object(name).stat().st_size
        return 0

    def drop_unused(self) -> None:
        """Delete contents that no change names, and what is in the trash for none."""
        used: set[str] = set()
        ids: set[str] = set()
        for workflow in self.workflows():
            for change in self.of(workflow):
                if not change.cleaned:
                    used |= {change.before, change.after}
                    ids.add(change.id)
        for change in self.pending():
            used |= {change.before, change.after}
            ids.add(change.id)
        for path in (self.folder / "objects").glob("*/*"):
            if path.parent.name + path.name not in used:
                path.unlink(missing_ok=True)
        for path in (self.folder / "trash").glob("*"):
            if path.name not in ids:
                shutil.rmtree(path, ignore_errors=True)

    def _object(self, name: str) -> Path:
        return self.folder / "objects" / name[:2] / name[2:]

    def _record(self, change: Change) -> Path:
        return self.folder / "changes" / plain_name(change.workflow_id) / f"{plain_name(change.id)}.json"

    def _read(self, folder: Path) -> Iterator[Change]:
        for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
            with contextlib.suppress(OSError, ValidationError):
                yield Change.model_validate_json(path.read_bytes())
