"""Files that are whole or not there: written beside, synced, then renamed into place."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from atelier_desk.domain.errors import UsageError
from atelier_desk.i18n import N_

BAD_NAME = N_("{name} is not a plain file name: use letters, digits, blanks, dots, dashes and underscores, without folders.")
_RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"com{n}" for n in range(1, 10)), *(f"lpt{n}" for n in range(1, 10))})
_FORBIDDEN = frozenset('/\\:*?"<>|')
NAME_BYTES = 240
"""Longest file name in UTF-8: common file systems allow 255 with the ending and a temporary prefix."""


def plain_name(name: str) -> str:
    """The name, when it names a file and nothing else on every platform.

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


def write_atomic(path: Path, data: bytes) -> None:
    """Write a file so that a crash leaves the old content or the new, never a part; its folder is made when it is missing."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
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


def sync_folder(folder: Path) -> None:
    """Make a rename durable; Windows keeps no handle to a folder and needs none."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
