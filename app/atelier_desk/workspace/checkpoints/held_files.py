"""Files that wait for a person: moved out of the workspace, kept beside the checkpoints, put in place by "Keep",
deleted by "Discard".

held/<workflow>/<id>.json      the record
held/<workflow>/<id>/content   the file, link or folder
held/-launcher/<any>/          what launchers took away (``processes.held_git_files``), until it is handed over
held/-open/<id>.json           what was there before a program that runs: after a kill, all else is new

Nothing is given up by age or size: without an answer they stay. They go with their workflow.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from atelier_desk.domain.errors import ConflictError, NotFoundError
from atelier_desk.domain.held_file import HeldFile
from atelier_desk.storage.data_folder.atomic_files import plain_name, private_folder, sync_folder
from atelier_desk.support.i18n import N_
from atelier_desk.workspace import file_copying
from atelier_desk.workspace.atomic_rename import rename_new
from atelier_desk.workspace.checkpoints.records import UnreadRecord, delete_tree, listed, read_folder, write_record
from atelier_desk.workspace.confined_root import ConfinedRoot, temporary_name
from atelier_desk.workspace.diffs import digest

_CONTENT = "content"
_NOBODY = "-"
"""Folder of data that belongs to no workflow."""
_OPEN = "-open"
LAUNCHER = "-launcher"
"""Folder where launchers put files that git would execute, until ``adopt_launcher_held_files`` takes them over."""


class HeldFiles:
    """Held files; all calls block. ``folder`` is created when something is first held."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def of(self, workflow_id: str) -> list[HeldFile]:
        """Return the pending files of a workflow, oldest first; those of no workflow are included everywhere."""
        names = dict.fromkeys((plain_name(workflow_id or _NOBODY), _NOBODY))
        return sorted(
            (held for name in names for held in read_folder(self.folder / name, HeldFile)[0]), key=lambda held: held.id
        )

    def get(self, workflow_id: str, id: str) -> HeldFile:
        """Return one held file. Raises ``NotFoundError``: it was kept or discarded already."""
        for held in self.of(workflow_id):
            if held.id == id:
                return held
        raise NotFoundError(N_("There is no held file {id}. It may already have been kept or discarded."), id=id)

    def move_out(self, held: HeldFile, source: int, name: str) -> HeldFile:
        """Move something out of an open folder and hold it; returns the completed record.

        A file is copied, never renamed: another hard link left in the workspace could change the held content. The
        record comes first, so after a kill the file is either in its place or listed. A folder of any size is renamed
        if both are on one disk.
        """
        place = self._place(held)
        private_folder(place)
        handle = os.open(place, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        moved = False
        try:
            moved = stat.S_ISDIR(os.stat(name, dir_fd=source, follow_symlinks=False).st_mode)
            if moved:
                write_record(place.with_suffix(".json"), held.model_copy(update={"folder": True}))
                moved = _renamed(source, name, handle)
            if not moved:
                file_copying.copy(source, name, handle, _CONTENT, whole=True)
            held = held.model_copy(
                update={
                    "content": "" if moved else file_copying.digest_of(handle, _CONTENT),
                    "folder": _is_folder(handle),
                }
            )
            os.fsync(handle)
        except BaseException:
            if not moved:
                self.delete(held)
            raise
        finally:
            os.close(handle)
        write_record(place.with_suffix(".json"), held)
        sync_folder(place.parent)
        if not moved:
            file_copying.delete(source, name)
        return held

    def read(self, held: HeldFile, most: int) -> bytes | None:
        """Return the bytes of a held file; None for a link, a folder, and more than ``most`` bytes.

        Raises:
            ConflictError: ``damaged``: they are not those that were held.
        """
        path = self._place(held) / _CONTENT
        if path.is_symlink() or not path.is_file() or path.stat().st_size > most:
            return None
        data = path.read_bytes()
        if held.content and digest(data) != held.content:
            raise self._damaged(held)
        return data

    def mode(self, held: HeldFile) -> int:
        return (self._place(held) / _CONTENT).lstat().st_mode & 0o777

    def put(self, held: HeldFile, root: ConfinedRoot) -> None:
        """Put a link, a folder or a large file in its place. Nothing is replaced.

        Raises:
            ConflictError: ``changed``: the place is taken; ``damaged``: it is not what was held.
        """
        root.make_folder(held.on_disk.rpartition("/")[0])
        source = os.open(self._place(held), os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            with root.located(held.on_disk, follow=False) as (folder, name):
                temporary = temporary_name()
                try:
                    file_copying.copy(source, _CONTENT, folder, temporary, whole=True)
                    if held.content and file_copying.digest_of(folder, temporary) != held.content:
                        raise self._damaged(held)
                    rename_new(folder, temporary, folder, name)
                except FileExistsError as error:
                    raise in_the_way(held) from error
                finally:
                    file_copying.delete(folder, temporary)
                os.fsync(folder)
        finally:
            os.close(source)

    def delete(self, held: HeldFile) -> None:
        """Delete a held file and its record."""
        stored = self._place(held)
        stored.with_suffix(".json").unlink(missing_ok=True)
        shutil.rmtree(stored, ignore_errors=True)

    def workflows(self) -> set[str]:
        """Return the ids of workflows with held files."""
        # Workflow ids never begin with a dash.
        return {name for name in listed(self.folder)[0] if not name.startswith("-")}

    def unread(self) -> list[UnreadRecord]:
        """Return unreadable records: their files are held but not listed."""
        folders, problem = listed(self.folder)
        names = [name for name in folders if name == _NOBODY or not name.startswith("-")]
        return [*problem, *(each for name in names for each in read_folder(self.folder / name, HeldFile)[1])]

    def delete_workflows(self, ids: Iterable[str]) -> None:
        """Delete everything held for these workflows, except files of unreadable records."""
        for workflow_id in ids:
            records, unread = read_folder(self.folder / plain_name(workflow_id), HeldFile)
            for held in records:
                self.delete(held)
            if not unread:
                with contextlib.suppress(OSError):
                    delete_tree(self.folder / plain_name(workflow_id))

    def begin(self, id: str, about: Mapping[str, object]) -> None:
        """Remember a program that starts, in case Atelier is killed. Not synced: a kill does not lose written data."""
        private_folder(self.folder / _OPEN)
        (self.folder / _OPEN / f"{plain_name(id)}.json").write_text(json.dumps(about))

    def end(self, id: str) -> None:
        """The program has ended and its changes are processed."""
        (self.folder / _OPEN / f"{plain_name(id)}.json").unlink(missing_ok=True)

    def begun(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield programs whose changes are not processed."""
        for path in sorted((self.folder / _OPEN).glob("*.json")):
            with contextlib.suppress(OSError, ValueError):
                yield path.stem, json.loads(path.read_text())

    def _damaged(self, held: HeldFile) -> ConflictError:
        return ConflictError(
            N_(
                "{path}: the held file in {folder} has changed. The disk is damaged, or a program wrote to the file. "
                "Nothing was done."
            ),
            code="damaged",
            path=held.path,
            folder=self._place(held),
        )

    def _place(self, held: HeldFile) -> Path:
        return self.folder / plain_name(held.workflow_id or _NOBODY) / plain_name(held.id)


def _renamed(source: int, name: str, target: int) -> bool:
    try:
        os.rename(name, _CONTENT, src_dir_fd=source, dst_dir_fd=target)
    except OSError:
        return False
    return True


def _is_folder(handle: int) -> bool:
    return stat.S_ISDIR(os.stat(_CONTENT, dir_fd=handle, follow_symlinks=False).st_mode)


def in_the_way(held: HeldFile, path: str = "") -> ConflictError:
    """Return the error for a held file whose place is taken, or that has something in the way at ``path``."""
    return ConflictError(
        N_("Something else is now at {path}; it was not overwritten. Move it elsewhere, then keep the held file."),
        code="changed",
        path=path or held.path,
    )
