"""Translate database failures into errors that say what to do.

The engine reports most failures as text; this is the only module that interprets it.
"""

from __future__ import annotations

import errno
import re
from pathlib import Path

from atelier_desk.domain.errors import AtelierError, ConflictError, NotFoundError, StorageError
from atelier_desk.storage.data_folder.free_space import MIN_FREE_BYTES, free_bytes, free_files, no_files_left
from atelier_desk.support.i18n import N_

LOCKED = N_("Another program is using the data in {path}. Close it, or choose another folder with --data-dir.")
NEWER_SCHEMA = N_(
    "The data in {path} was written by a newer version of Atelier (its format is {found}; this program "
    "knows formats up to {known}). Update Atelier, or choose another folder with --data-dir."
)
OLDER_SCHEMA = N_(
    "The data in {path} was written by an early version of Atelier (its format is {found}; this version reads only "
    "format {oldest} and later). Nothing was changed. Open it with the version of Atelier that wrote it and export "
    "it there (Settings → Data → Export everything). Then start this version with a new folder (--data-dir) and "
    "import the export (Settings → Data and diagnostics → Import exported data)."
)
CANNOT_MIGRATE = N_(
    "The data in {path} (format {found}) could not be converted to format {known} ({detail}). Nothing was changed. "
    "Open the data with the version of Atelier that wrote it, or choose another folder with --data-dir."
)
MISSING_MANIFEST = N_(
    "The database in {path} has lost its manifest file, so its content cannot be read. Restore a backup with: "
    "atelier backup restore FILE"
)
DAMAGED = N_("The database in {path} is damaged ({detail}). Restore a backup with: atelier backup restore FILE")
UNREADABLE_ROW = N_(
    "An entry in the database in {path} is damaged and cannot be read ({detail}). To find out which one, run: "
    "atelier doctor --deep. Everything else can be read and exported: atelier workflows export WORKFLOW. To recover"
    " everything, restore a backup: atelier backup restore FILE"
)
LOST_WRITES = N_(
    "Part of the database in {path} was damaged, and the last saved changes ({count}) are lost. "
    "Restore a backup with: atelier backup restore FILE, or use --accept-loss to continue with what is left."
)
DISK_FULL = N_(
    "The disk that holds {path} is full ({free_mb} MB free, {needed_mb} MB needed). Nothing that was saved is lost. "
    "Free up some space, for example by moving old backups to another disk, then try again."
)
NO_FILES_LEFT = N_(
    "The disk that holds {path} has no room for more files (its inodes are used up: {free_files} left), although "
    "{free_mb} MB is free. Delete files you no longer need, even small ones, and try again."
)
MEMORY_LIMIT = N_(
    "The address space limit (ulimit -v) is {limit_mb} MB here, but the database reserves up to {needed_mb} MB, "
    "although it uses only a small part. Raise the limit (ulimit -v unlimited), then start Atelier again."
)
CLOCK = N_("The clock of this computer shows a time before 1970. Set the correct time, then start Atelier again.")
FILE_TOO_LARGE = N_(
    "A database file in {path} cannot grow any further: it has reached the size limit for this user (ulimit -f) or "
    "for the file system. Nothing that was saved is lost. Raise the limit, or choose a folder on another disk with "
    "--data-dir."
)
READ_ONLY = N_(
    "Atelier is not allowed to write to {path}. Make the folder writable, or choose another with --data-dir."
)
BAD_PATH = N_(
    "The database cannot be stored in {path}: the path contains a question mark. Choose another folder with --data-dir."
)
TOO_MANY_FILES = N_(
    "Too many files are open, so the database in {path} stopped working. Nothing that was saved is "
    "lost. Close other programs or raise the limit of open files (ulimit -n), then try again."
)
INPUT_OUTPUT = N_(
    "The disk that holds {path} could not be read or written ({detail}). Nothing that was saved is lost. Check the "
    "disk, then try again; if the error persists, restore a backup to another disk with: atelier backup restore "
    "FILE"
)
UNSETTLED = N_(
    "The last change may not have been saved: the database in {path} failed during the write and could not be "
    "reopened ({problem}). Fix the cause, then try again; Atelier will first read what was saved."
)
BUSY = N_(
    "The database in {path} is busy compacting its tables, which can take minutes when it is large. "
    "Nothing that was saved is lost. Wait, then try again."
)
START_AGAIN = N_(
    "The database in {path} could not be reopened after an error. Nothing that was saved is lost. Start Atelier again."
)
MOVED = N_(
    "The data folder {path} was renamed, replaced or deleted while Atelier was using it. Atelier has stopped "
    "writing to it and to anything in its place. Close Atelier, put the folder back, then start Atelier again."
)
RESULT_LOST = N_("The change is saved, but the database failed before it could confirm this. Do not repeat the change.")
RECORD_EXISTS = N_(
    "The file contains an entry with the identifier {id} ({what}), which already belongs to another "
    "workflow. Nothing was changed. Import the file as a copy, with: --on-conflict rename"
)
QUERY = N_("The database refused a request: {detail}")
CLOSED = N_("The database is closed.")
NOT_THERE = N_("There is no {what} {id}.")
NOT_THERE_OF: dict[str, str] = {}
"""Complete sentences for things identified by id, from their repositories: a translation cannot be assembled from
parts.
"""

_PATTERNS: tuple[tuple[str, str, str], ...] = (
    ("locked", LOCKED, r"already locked|lock is held|LOCK is already"),
    (
        "disk_full",
        DISK_FULL,
        r"No space left|os error 28\b|disk full|StorageFull|Disk quota exceeded|os error 122\b|os error 112\b",
    ),
    ("file_too_large", FILE_TOO_LARGE, r"File too large|os error 27\b"),
    (
        "read_only",
        READ_ONLY,
        r"Permission denied|Access is denied|os error 13\b|Read-only file system|os error 30\b|os error 1\b",
    ),
    ("too_many_files", TOO_MANY_FILES, r"Too many open files|os error 2[34]\b"),
    (
        "io",
        INPUT_OUTPUT,
        r"Input/output error|os error 5\b|I/O device error|os error 1117\b|Stale file handle|os error 116\b",
    ),
    ("busy", BUSY, r"^(Cannot COMMIT: )?timed out|transaction timed out|exceeded the timeout"),
    ("damaged_row", UNREADABLE_ROW, r"Failed to (deserialize|fetch) records?$"),
    (
        "damaged",
        DAMAGED,
        r"corrupt|checksum|CRC|manifest|invalid magic|bad magic|SSTable|Sst|decod|deseriali[sz]|unexpected end of "
        r"file|panick|"
        r"os error 2\b|block|footer|Invalid revision|out of range",
    ),
)
_TRANSIENT = frozenset({"busy", "locked", "disk_full", "file_too_large", "too_many_files", "io"})
"""Failures that pass without a change to the data: a retry may succeed."""
_EXISTS_ERROR = re.compile(r"atelier:taken:(?P<table>[a-z_]+):(?P<id>.*)$")
_THROWN = re.compile(r"atelier:not_found:(?P<what>[a-z ]+):(?P<id>.*)$")


def not_there(what: str, id: object) -> NotFoundError:
    """Return the error for a missing row; ``what`` is one of our words for its kind."""
    return NotFoundError(NOT_THERE_OF.get(what, NOT_THERE), what=what, id=id)


def disk_full(path: object, free: int, needed: int = MIN_FREE_BYTES) -> StorageError:
    """Return the error for a full disk, naming what ran out.

    Space (``free`` and ``needed`` in bytes) or the number of files.
    """
    facts = {"path": path, "free_mb": free // 1_000_000}
    if path is not None and no_files_left(path):
        return StorageError(NO_FILES_LEFT, code="disk_full", recoverable=True, free_files=free_files(path), **facts)
    return StorageError(DISK_FULL, code="disk_full", recoverable=True, needed_mb=needed // 1_000_000, **facts)


def from_os_error(error: OSError, path: object, *, written: int = 0, size: int = 0) -> AtelierError:
    """Return the error for a data file or folder that could not be used.

    ``size`` is what the whole work writes on the disk, and ``written`` what is there of it and deleted, both in bytes.
    """
    # Copying a folder raises an error without a number, whose text has those of its files.
    text = f"{error.strerror} (os error {error.errno})" if error.errno else str(error)
    found = from_text(text, path, opening=True)
    if found.code == "disk_full":
        return disk_full(path, free_bytes(path) + written, size + MIN_FREE_BYTES)
    if found.code == "damaged" and error.errno != errno.ENOENT:
        # Unrelated to the file's content: a move across file systems, a folder in use.
        return StorageError(INPUT_OUTPUT, code="io", recoverable=True, path=path, detail=text)
    return found


def about(error: StorageError, copy: Path, path: Path) -> StorageError:
    """Return an error about a temporary copy, or a file in it, as one about what it is a copy of; others unchanged."""
    if not Path(str(error.params.get("path", ""))).is_relative_to(copy):
        return error
    return StorageError(
        error.template, code=error.code, recoverable=error.recoverable, **{**error.params, "path": path}
    )


def is_of_the_engine(error: BaseException) -> bool:
    """Whether the database as a whole failed, rather than a single statement."""
    return isinstance(error, StorageError) and error.code not in {"query", "damaged_row"}


def leaves_open(text: str) -> bool:
    """Whether a failed commit may still be on disk: it failed while being written, and not because of another one."""
    return "Cannot COMMIT" in text and not is_retryable(text)


def is_retryable(text: str) -> bool:
    """Whether the engine says that retrying the same transaction may succeed."""
    return "can be retried" in text


def throw_not_found(what: str) -> str:
    """Return SurrealQL that aborts a transaction with ``NotFoundError`` for the record in ``$guarded``."""
    return f"IF !record::exists($guarded) {{ THROW 'atelier:not_found:{what}:' + <string> record::id($guarded) }}"


def throw_exists() -> str:
    """Return SurrealQL that aborts a transaction with ``ConflictError`` when a record in ``$claimed`` exists and does
    not belong to the workflow ``$home``.
    """
    other = "(SELECT VALUE id FROM $claimed WHERE workflow != $home LIMIT 1)[0]"
    return f"IF {other} != NONE {{ THROW 'atelier:taken:' + record::tb({other}) + ':' + <string> record::id({other}) }}"


def from_text(text: str, path: object, *, opening: bool = False) -> AtelierError:
    """Return the error for an engine message.

    Damage is recognised in a query by its storage wording, and more broadly while opening; a timeout is never damage.
    """
    thrown = _THROWN.search(text)
    if thrown:
        return not_there(thrown["what"], thrown["id"])
    taken = _EXISTS_ERROR.search(text)
    if taken:
        return ConflictError(RECORD_EXISTS, code="taken", what=taken["table"], id=taken["id"])
    if (opening or _is_storage_failure(text)) and re.search(
        r"timed out|time-?out\b|os error 110\b", text, re.IGNORECASE
    ):
        return StorageError(BUSY, code="busy", recoverable=True, path=path)
    for code, template, pattern in _PATTERNS:
        if code == "damaged" and not opening and not _is_storage_failure(text):
            continue
        if re.search(pattern, text, re.IGNORECASE):
            if code == "disk_full":
                return disk_full(path, free_bytes(path) if path is not None else 0)
            return StorageError(template, code=code, recoverable=code in _TRANSIENT, **_params(code, path, text))
    if opening:
        return StorageError(DAMAGED, code="damaged", path=path, detail=text)
    return StorageError(QUERY, code="query", recoverable=is_retryable(text), detail=text)


def _is_storage_failure(text: str) -> bool:
    return bool(re.search(r"key-value store|datastore|storage engine|IO error|panick", text, re.IGNORECASE))


def _params(code: str, path: object, text: str) -> dict[str, object]:
    if code in {"damaged", "damaged_row", "io"}:
        return {"path": path, "detail": text}
    return {"path": path}
