"""The file of a backup until it is verified: beside its target, under another name, and noted in the data folder."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from pathlib import Path

from atelier_desk.domain.errors import StorageError
from atelier_desk.storage import database_errors
from atelier_desk.storage.copies.backup_file import stamp_of
from atelier_desk.storage.data_folder.atomic_files import sync_folder
from atelier_desk.storage.data_folder.lock import shielded

NOTE = "backing-up-"
"""Beginning of the names of files in a data folder that name the file of a backup under way."""
SUFFIX = ".tmp"


@asynccontextmanager
async def until_verified(target: Path, root: Path, now: datetime) -> AsyncIterator[Path]:
    """Give the path of a file in which the block makes and verifies a backup; then the file gets its name, ``target``.

    If that fails or is cancelled, even at its end, no file is left. After a kill, the next start of the data folder
    ``root`` deletes it.

    Raises:
        StorageError: as in the block, about ``target``; or a file cannot be written or renamed.
    """
    unique = f"{stamp_of(now)}-{secrets.token_hex(4)}"  # two backups with one target must not write into one file
    file = target.with_name(f".{target.name}.{unique}{SUFFIX}")
    note = root / f"{NOTE}{unique}"
    named = False
    try:
        await shielded(_note, note, file)
        yield file
        named = True
        await shielded(_name, file, target)
    except BaseException as error:
        await shielded(_delete, file, target if named else None)
        if isinstance(error, OSError):
            raise database_errors.from_os_error(error, target) from error
        if isinstance(error, StorageError):
            raise database_errors.about(error, file, target) from error
        raise
    finally:
        await shielded(note.unlink, missing_ok=True)


def _note(note: Path, file: Path) -> None:
    note.write_bytes(os.fsencode(file.absolute()))


def _name(file: Path, target: Path) -> None:
    file.replace(target)
    sync_folder(target.parent)


def _delete(file: Path, target: Path | None) -> None:
    """Delete the file, also if it just got its name."""
    if target is not None and not file.exists():
        target.unlink(missing_ok=True)
    file.unlink(missing_ok=True)


def delete_left(root: Path) -> None:
    """Delete what killed processes left of backups of a data folder, whose lock the caller holds."""
    for note in root.glob(f"{NOTE}*"):
        with suppress(OSError, ValueError):
            file = Path(os.fsdecode(note.read_bytes()))
            if file.name.startswith(".") and file.name.endswith(SUFFIX):  # never another file, whatever is noted
                file.unlink(missing_ok=True)
        with suppress(OSError):
            note.unlink()
