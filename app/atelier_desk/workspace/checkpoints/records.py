"""Checkpoint records: JSON with its SHA-256 on the next line, so that damage is detected.

What is in use is known only if every record was read. ``References`` is consulted before anything is deleted as unused:
an unreadable record (damaged, incomplete, from a newer version, or inaccessible) keeps everything it may name.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from atelier_desk.domain.base_model import Model
from atelier_desk.domain.file_change import Change
from atelier_desk.storage.data_folder.atomic_files import sha256, write_atomic
from atelier_desk.support.i18n import N_

M = TypeVar("M", bound=Model)
DAMAGED = N_("it is damaged, incomplete, or written by a newer version of Atelier")
ENDING = ".json"


@dataclass(frozen=True, slots=True)
class UnreadRecord:
    """A record, or a folder of records, that could not be read. ``reason``: a system message or a translatable text."""

    path: Path
    reason: str
    folder: bool = False


class UnreadableRecord(Exception):
    """A record that cannot be read; ``args[0]`` is the reason."""


def write_record(path: Path, record: Model) -> None:
    """Atomically write a record with its hash."""
    body = record.model_dump_json().encode()
    write_atomic(path, body + b"\n" + sha256(body).encode() + b"\n")


def read_record(path: Path, kind: type[M]) -> M:
    """Read a record. One without a hash is from an earlier version.

    Raises:
        FileNotFoundError: there is none.
        UnreadableRecord: it cannot be read or is damaged.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UnreadableRecord(error.strerror or str(error)) from error
    body, line, digest = data.partition(b"\n")
    if line and digest != sha256(body).encode() + b"\n":
        raise UnreadableRecord(DAMAGED)
    try:
        record = kind.model_validate_json(body)
    except ValueError as error:
        raise UnreadableRecord(DAMAGED) from error
    if getattr(record, "id", path.stem) != path.stem:
        raise UnreadableRecord(DAMAGED)  # stored under another record's name
    return record


def read_folder(
    folder: Path, kind: type[M], stop: Callable[[], bool] = lambda: False
) -> tuple[list[M], list[UnreadRecord]]:
    """Return the records of a folder by name, and the unreadable ones.

    Raises:
        Stopped: ``stop`` returned True.
    """
    found: list[M] = []
    unread: list[UnreadRecord] = []
    names, problem = listed(folder)
    unread += problem
    for name in names:
        if stop():
            raise Stopped
        if not name.endswith(ENDING) or name.startswith("."):
            continue
        path = folder / name
        try:
            found.append(read_record(path, kind))
        except FileNotFoundError:
            continue
        except UnreadableRecord as error:
            unread.append(UnreadRecord(path, error.args[0]))
    return found, unread


def listed(folder: Path) -> tuple[list[str], list[UnreadRecord]]:
    """Return the names in a folder; empty if it does not exist. The second list reports an unreadable folder."""
    try:
        return sorted(os.listdir(folder)), []  # noqa: PTH208 - iterdir may fail in its middle
    except (FileNotFoundError, NotADirectoryError):
        return [], []
    except OSError as error:
        return [], [UnreadRecord(folder, error.strerror or str(error), folder=True)]


class Stopped(Exception):
    """Reading or cleaning was stopped early; what was done stays done."""


@dataclass(frozen=True, slots=True)
class References:
    """Everything that the records of changes name.

    Attributes:
        changes: readable ones by id; ``pending``: those begun and not completed.
        unread: unreadable records.
    """

    changes: dict[str, Change] = field(default_factory=dict)
    pending: dict[str, Change] = field(default_factory=dict)
    unread: tuple[UnreadRecord, ...] = ()

    def contents(self, changes: Iterable[Change] | None = None) -> set[str]:
        """Return the content hashes that these changes (None: all) need."""
        every = [*self.changes.values(), *self.pending.values()] if changes is None else changes
        return {name for change in every if not change.cleaned for name in (change.before, change.after) if name}

    def unused_contents(self, names: Collection[str]) -> set[str]:
        """Return the stored contents that no record can name, not even an unreadable one."""
        return set(names) - self.contents() if not self.unread else set()

    def unused_trash(self, ids: Collection[str]) -> set[str]:
        """Return the trash ids whose change was deleted."""
        return {id for id in ids if id in self.changes and self.changes[id].cleaned}

    def unnamed_trash(self, ids: Collection[str]) -> set[str]:
        """Return the trash ids without a record, readable or not."""
        if any(each.folder for each in self.unread):
            return set()
        return set(ids) - set(self.changes) - set(self.pending) - {each.path.stem for each in self.unread}


def delete_tree(path: Path) -> None:
    """Delete a file or a folder tree, even if it contains read-only folders; a missing one is no error.

    Raises:
        OSError: something remains.
    """

    def allow(_call: object, name: str, error: tuple[type[BaseException], BaseException, object]) -> None:
        if isinstance(error[1], FileNotFoundError):
            return
        if not isinstance(error[1], PermissionError):
            raise error[1]
        for each in (Path(name).parent, Path(name)):
            with contextlib.suppress(OSError):
                if stat.S_ISDIR(each.lstat().st_mode):
                    each.chmod(0o700)
        if not Path(name).is_dir() or Path(name).is_symlink():
            Path(name).unlink(missing_ok=True)
        else:
            shutil.rmtree(name)

    try:
        is_folder = stat.S_ISDIR(path.lstat().st_mode)
    except FileNotFoundError:
        return
    if is_folder:
        shutil.rmtree(path, onerror=allow)
    else:
        path.unlink(missing_ok=True)


def size_below(path: Path) -> int:
    """Return the bytes of a file, or of all files in a folder; inaccessible ones count as 0."""
    return sum(_sizes(path))


def _sizes(path: Path) -> Iterator[int]:
    try:
        info = path.lstat()
    except OSError:
        return
    if not stat.S_ISDIR(info.st_mode):
        yield info.st_size
        return
    for folder, _folders, names in os.walk(path):
        for name in names:
            with contextlib.suppress(OSError):
                yield os.lstat(os.path.join(folder, name)).st_size  # noqa: PTH118 - a hundred thousand of them
