"""Undo data that no workflow shows: unreadable records with everything they may name, and data of unknown workflows.

Unknown data stays for ``DAYS`` from the day on which this database first missed it, because another database, restored
from a newer backup, may know it. Unreadable records stay until a person deletes them.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

from atelier_desk.domain.errors import NotFoundError, StorageError, UsageError
from atelier_desk.domain.file_change import Change
from atelier_desk.storage.data_folder.atomic_files import plain_name
from atelier_desk.support.i18n import N_
from atelier_desk.workspace.checkpoints.records import ENDING, References, UnreadRecord, delete_tree, size_below
from atelier_desk.workspace.checkpoints.undoable_file_operations import WorkspaceFiles

DAYS = 30
"""Days for which unknown data stays."""
TRASH = "trash/"
"""Prefix of the key of trash without a record."""
CONTENTS = "objects"
"""Key of contents that an unreadable record may name."""
Kind = Literal["unreadable", "cut_off", "contents", "unknown", "unnamed"]


@dataclass(frozen=True, slots=True)
class Leftover:
    """Stored data that no workflow shows.

    Attributes:
        key: identifies it for deletion: a path below the checkpoints, or the id of a workflow.
        kind: ``unreadable``: a record with the data of its name; ``cut_off``: an interrupted change in a folder that
            cannot be checked; ``contents``: contents that unreadable records may name; ``unknown``: all data of a
            workflow unknown to the database; ``unnamed``: trash without a record.
        size: bytes.
        changes: number of changes of an unknown workflow; 1 for a record, otherwise 0.
        reason: why it is unreadable: a system message or a translatable text.
        until: when cleaning deletes it; None if only a person does.
    """

    key: str
    kind: Kind
    size: int
    changes: int = 0
    reason: str = ""
    until: datetime | None = None


def unclaimed(files: WorkspaceFiles, known: Container[str]) -> set[str]:
    """Return the keys of data unknown to this database: workflows, and trash without a record.

    Determined from file names only, so it is fast at any size. Blocks.
    """
    with files.lock:
        names, complete = files.store.record_names()
        pending = {change.workflow_id for change in files.store.pending()}
        owners = {workflow for workflow, ids in names.items() if ids} | pending | files.held.workflows()
        unnamed = files.store.trashed().difference(*names.values()) if complete else set()
        return _unknown(owners, known) | {TRASH + id for id in unnamed if _is_plain(id)}


def survey(files: WorkspaceFiles, known: Container[str], first_missed: Mapping[str, datetime]) -> list[Leftover]:
    """Return all leftovers: unreadable ones first, then unknown ones. Blocks.

    Args:
        first_missed: by key, when this database first missed it.
    """
    with files.lock:
        files.recover()
        records = files.store.references()
        checkpoints = files.store.folder
        found = [_unread(files, each) for each in (*records.unread, *files.held.unread())]
        for change in records.pending.values():
            if change.workflow_id in known:
                path = checkpoints / "pending" / f"{change.id}.json"
                size = size_below(path) + size_below(files.store.trash(change.id))
                found.append(Leftover(_key(checkpoints, path), "cut_off", size, 1, N_("its folder cannot be accessed")))
        if records.unread:
            size = sum(map(files.store.size_of, _unnamed_contents(files, records)))
            found += [Leftover(CONTENTS, "contents", size)] if size else []
        for key in sorted(_unclaimed(files, records, known)):
            until = first_missed[key] + timedelta(days=DAYS) if key in first_missed else None
            if key.startswith(TRASH):
                found.append(Leftover(key, "unnamed", size_below(checkpoints / key), until=until))
            else:
                own = _of(records, key)
                found.append(
                    Leftover(key, "unknown", _size_of_workflow(files, records, key, own), len(own), until=until)
                )
        return found


def delete(files: WorkspaceFiles, keys: Collection[str], known: Container[str]) -> int:
    """Delete leftovers chosen by a person; return the freed bytes. Blocks.

    Raises:
        NotFoundError: a key does not exist; then nothing is deleted.
        StorageError: ``read_only``: one of them cannot be deleted.
    """
    with files.lock:
        there = {each.key: each for each in survey(files, known, {})}
        if unknown := [key for key in keys if key not in there]:
            raise NotFoundError(
                N_(
                    "There is no leftover undo data with the id {key}. To list all leftover data: atelier files "
                    "leftovers"
                ),
                key=unknown[0],
            )
        size = _size(files)
        for key in keys:
            try:
                _delete(files, there[key])
            except OSError as error:
                raise StorageError(
                    N_("{path} cannot be deleted: {reason}"),
                    code="read_only",
                    path=files.store.folder / key,
                    reason=error.strerror or str(error),
                ) from error
        records = files.store.references()
        for name in records.unused_contents(files.store.stored()):
            files.store.drop_content(name)
        return max(0, size - _size(files))


def _delete(files: WorkspaceFiles, leftover: Leftover) -> None:
    records = files.store.references()
    path = files.store.folder / leftover.key
    if leftover.kind == "contents":
        for name in _unnamed_contents(files, records):
            files.store.drop_content(name)
    elif leftover.kind == "unknown":
        _delete_undo_data(files, records, leftover.key)
    elif leftover.kind == "unnamed":
        delete_tree(path)
    elif not os.path.lexists(path):
        path.mkdir(mode=0o700, parents=True)  # an empty folder of records from now on
    else:
        # Its data first: after a kill in between, the record still shows it.
        delete_tree(path.with_suffix("") if path.is_relative_to(files.held.folder) else files.store.trash(path.stem))
        delete_tree(path)


def delete_undo_data(files: WorkspaceFiles, workflow_id: str) -> None:
    """Delete the undo data of a permanently deleted workflow, except unreadable records. Blocks.

    Raises:
        OSError: something remains; cleaning deletes it later.
    """
    with files.lock:
        _delete_undo_data(files, files.store.references(), workflow_id)


def _delete_undo_data(files: WorkspaceFiles, records: References, workflow_id: str) -> None:
    for change in _of(records, workflow_id):
        delete_tree(files.store.trash(change.id))
        files.store.drop(change)
    for above in ("changes", "held"):
        _delete_records(files, files.store.folder / above / plain_name(workflow_id))


def _delete_records(files: WorkspaceFiles, folder: Path) -> None:
    """Delete all data of an unknown workflow, except unreadable records, which are leftovers of their own."""
    protected = {
        each.path.stem
        for each in (*files.store.references().unread, *files.held.unread())
        if each.path.parent == folder
    }
    if not protected:
        delete_tree(folder)
        return
    for each in list(folder.iterdir()):
        if each.name.removesuffix(ENDING) not in protected:
            delete_tree(each)


def _unread(files: WorkspaceFiles, unread: UnreadRecord) -> Leftover:
    size = size_below(unread.path)
    if not unread.folder:
        held = unread.path.is_relative_to(files.held.folder)
        size += size_below(unread.path.with_suffix("") if held else files.store.trash(unread.path.stem))
    return Leftover(_key(files.store.folder, unread.path), "unreadable", size, int(not unread.folder), unread.reason)


def _key(checkpoints: Path, path: Path) -> str:
    return path.relative_to(checkpoints).as_posix()


def _unclaimed(files: WorkspaceFiles, records: References, known: Container[str]) -> set[str]:
    owners = {
        change.workflow_id for change in (*records.changes.values(), *records.pending.values())
    } | files.held.workflows()
    return _unknown(owners, known) | {
        TRASH + id for id in records.unnamed_trash(files.store.trashed()) if _is_plain(id)
    }


def _unknown(owners: Iterable[str], known: Container[str]) -> set[str]:
    return {each for each in owners if each and each not in known and _is_plain(each)}


def _is_plain(name: str) -> bool:
    try:
        return plain_name(name) == name
    except UsageError:
        return False


def _of(records: References, workflow_id: str) -> list[Change]:
    every = (*records.changes.values(), *records.pending.values())
    return [change for change in every if change.workflow_id == workflow_id]


def _size_of_workflow(files: WorkspaceFiles, records: References, workflow_id: str, own: Iterable[Change]) -> int:
    """Return the size of its records, trash, held files and exclusive contents in bytes."""
    mine = {change.id for change in own}
    others = (change for change in (*records.changes.values(), *records.pending.values()) if change.id not in mine)
    alone = records.contents(own) - records.contents(others)
    size = sum(files.store.size_of(name) for name in alone) + sum(size_below(files.store.trash(id)) for id in mine)
    size += sum(size_below(files.store.folder / "pending" / f"{id}.json") for id in mine)
    return size + sum(size_below(files.store.folder / above / workflow_id) for above in ("changes", "held"))


def _unnamed_contents(files: WorkspaceFiles, records: References) -> set[str]:
    return files.store.stored() - records.contents()


def _size(files: WorkspaceFiles) -> int:
    return files.store.size() + size_below(files.held.folder)
