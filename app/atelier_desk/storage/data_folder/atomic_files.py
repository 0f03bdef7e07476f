"""Write files atomically: beside their target, synced, then renamed into place.

The row that a file belongs to contains the file's SHA-256. Both cannot be written in one transaction: the new content
is put beside the file (``stage``), the row is committed with its hash, and the content is renamed into place
(``put_in_place``). A kill before the commit leaves the old file with the old row; after it, the new content waits until
``read_hashed`` puts it in place.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

from atelier_desk.domain.errors import UsageError
from atelier_desk.storage.data_folder.lock import verify_held
from atelier_desk.support.hashing import sha256_of
from atelier_desk.support.i18n import N_

BAD_NAME = N_(
    "{name} is not a plain file name: use letters, digits, spaces, dots, dashes and underscores, without folders."
)
_RESERVED = frozenset(
    {"con", "prn", "aux", "nul", *(f"com{n}" for n in range(1, 10)), *(f"lpt{n}" for n in range(1, 10))}
)
_FORBIDDEN = frozenset('/\\:*?"<>|')
NAME_BYTES = 240
"""Maximum length of a file name in UTF-8 bytes.

Common file systems allow 255, including the extension and a temporary prefix.
"""


def plain_name(name: str) -> str:
    """Return the name if it is a plain file name on every platform.

    Raises:
        UsageError: it is empty, hidden, too long, reserved, or holds a separator, a control character or a wildcard.
    """
    wrong = (
        not name.strip()
        or name != name.strip()
        or name.startswith(".")
        or name.endswith(".")
        or any(letter in _FORBIDDEN or ord(letter) < 32 or ord(letter) == 127 for letter in name)
        or name.split(".")[0].strip().lower() in _RESERVED
        or len(name.encode()) > NAME_BYTES
    )
    if wrong:
        raise UsageError(BAD_NAME, name=name[:80])
    return name


def report_path(folder: Path, workflow_id: str, name: str) -> Path:
    """Return the path of a report's text below the folder of reports.

    Raises:
        UsageError: the name or the id is no plain file name.
    """
    return files_of(folder, workflow_id) / f"{plain_name(name)}.md"


def files_of(folder: Path, workflow_id: str) -> Path:
    """Return the folder of a workflow's own files below ``folder`` (of reports or attachments).

    Everything in it belongs to that workflow only.

    Raises:
        UsageError: the id is not a plain file name, so it could name another folder.
    """
    return folder / plain_name(workflow_id)


def private_folder(folder: Path) -> None:
    """Create a folder, and missing parents, accessible only to the owner.

    Raises:
        StorageError: ``moved``: its data folder is no longer in its place; nothing is created there.
    """
    verify_held(folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def write_atomic(path: Path, data: bytes, prefix: str = ".") -> None:
    """Write a file so that a crash leaves the old content or the new, never a part.

    Creates the folder if it is missing. A kill can leave the file ``<prefix>….tmp`` beside it.

    Raises:
        StorageError: ``moved``, as ``private_folder``.
    """
    private_folder(path.parent)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=prefix, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def holds(path: Path, data: bytes) -> bool:
    """Whether the file already has exactly this content: then nothing has to be written, even on a full disk."""
    try:
        return path.stat().st_size == len(data) and path.read_bytes() == data
    except OSError:
        return False


def sha256(data: bytes) -> str:
    """Return the hash that rows store for a file's bytes, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def stage(path: Path, data: bytes) -> None:
    """Write the next content of ``path`` beside it, synced. Replaces content staged earlier."""
    write_atomic(_staged(path), data)


def unstage(path: Path) -> None:
    """Delete what was staged for ``path``, and its folder if it is then empty."""
    _staged(path).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        path.parent.rmdir()


def put_in_place(path: Path) -> None:
    """Rename staged content to ``path``; does nothing if there is none."""
    try:
        _staged(path).replace(path)
    except FileNotFoundError:
        return
    sync_folder(path.parent)


def read_hashed(path: Path, digest: str) -> bytes | None:
    """Return the bytes of a file if they have this SHA-256, else None.

    Staged content that has it is put in place first.

    Raises:
        OSError: the file is missing or cannot be read, and nothing with that hash is staged.
    """
    try:
        data, problem = path.read_bytes(), None
    except OSError as error:
        data, problem = b"", error
    if problem is None and sha256(data) == digest:
        return data
    try:
        waiting = _staged(path).read_bytes()
    except OSError:
        waiting = None
    if waiting is not None and sha256(waiting) == digest:
        put_in_place(path)
        return waiting
    if problem is not None:
        raise problem
    return None


def remove(path: Path) -> None:
    """Delete a file and what is staged for it; a missing file is no error."""
    path.unlink(missing_ok=True)
    _staged(path).unlink(missing_ok=True)


def _staged(path: Path) -> Path:
    return path.with_name(f".{path.name}.new")


def hashes_in(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file below a folder by its relative path, with slashes."""
    return {
        path.relative_to(folder).as_posix(): sha256_of(path) for path in sorted(folder.rglob("*")) if path.is_file()
    }


def sync_tree(folder: Path) -> None:
    """Sync everything below a folder to disk: file contents and directory entries."""
    for here, _folders, files in os.walk(folder):
        for name in files:
            with (Path(here) / name).open("rb+") as file:
                os.fsync(file.fileno())
        sync_folder(Path(here))


def sync_folder(folder: Path) -> None:
    """Make a rename durable. Does nothing on Windows, which has no handles for folders and needs none."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
