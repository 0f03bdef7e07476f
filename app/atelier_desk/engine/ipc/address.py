"""Address of the process that holds a data folder, and the note in the folder that contains it.

The note (``holder.json``, readable only by its owner) contains the address and a random token, so that a client must be
able to read the user's folder, whatever the platform's rules for sockets and pipes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from atelier_desk.domain.errors import StorageError
from atelier_desk.support.i18n import N_

NOTE = "holder.json"
SOCKET_PATH_BYTES = 100
"""Maximum bytes of a Unix socket path on all platforms (``sun_path`` has 108 bytes on Linux, 104 on macOS and the
BSDs).
"""


class HolderNote(NamedTuple):
    """The holder: address, token, process id and version."""

    address: str
    token: str
    pid: int
    version: str


def socket_address(root: Path, wanted: Path) -> str:
    """Return the address for the data folder ``root``: the socket ``wanted`` in it, or a short one elsewhere if the
    path is too long.

    On Windows the name of a pipe.
    """
    digest = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:24]
    if sys.platform == "win32":
        return rf"\\.\pipe\atelier-{digest}"
    if len(os.fsencode(wanted)) <= SOCKET_PATH_BYTES:
        return str(wanted)
    return str(_runtime_dir() / f"{digest}.sock")


def _runtime_dir() -> Path:
    """Return a short private folder: in ``XDG_RUNTIME_DIR``, else in the temporary folder, after checking its owner."""
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    candidates = [Path(base) / "atelier"] if base and Path(base).is_dir() else []
    candidates += [Path(parent) / f"atelier-{os.getuid()}" for parent in dict.fromkeys((tempfile.gettempdir(), "/tmp"))]  # noqa: S108
    for folder in candidates:
        if len(os.fsencode(folder)) + 32 > SOCKET_PATH_BYTES:
            continue
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            found = folder.lstat()
        except OSError:
            continue
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid():
            folder.chmod(0o700)
            return folder
    raise StorageError(
        N_(
            "The data folder's path is too long for a local socket, and no private folder with a shorter path "
            "was found. Set XDG_RUNTIME_DIR."
        ),
        code="socket_path",
    )


def write_note(root: Path, note: HolderNote) -> None:
    """Atomically write the note, readable only by its owner."""
    temporary = root / f"{NOTE}.{os.getpid()}.tmp"
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(note._asdict(), file)
    temporary.replace(root / NOTE)


def read_note(root: Path) -> HolderNote | None:
    """Return the note of the folder, None if missing or incomplete."""
    try:
        value = json.loads((root / NOTE).read_text("utf-8"))
        return HolderNote(str(value["address"]), str(value["token"]), int(value["pid"]), str(value["version"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remove_note(root: Path, note: HolderNote) -> None:
    """Remove the note and the socket, if they are still those of ``note``."""
    if read_note(root) != note:
        return
    with contextlib.suppress(OSError):
        (root / NOTE).unlink()
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            Path(note.address).unlink()
