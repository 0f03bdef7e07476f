"""The schema version of a database, noted in its directory: asking the engine for it changes the engine's files.

The note comes after the version in the database and before its first use, so it is never ahead. Folders made before there were
notes have none, and nothing is known of them without opening a copy.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from atelier_desk.storage.folder.files import write_atomic

FILE = "atelier-schema"
UpgradeStep = Literal["copy", "read", "migrate", "back_up", "verify"]
"""What takes its time when a database is brought up to date: each reads or writes all of it."""
UPGRADE_STEPS: tuple[UpgradeStep, ...] = get_args(UpgradeStep)


def noted(directory: Path) -> int | None:
    """The version in the note; None without a readable one."""
    try:
        return int((directory / FILE).read_text("ascii"))
    except (OSError, ValueError):
        return None


def note(directory: Path, version: int) -> None:
    """Write the note.

    Raises:
        OSError: it cannot be written.
    """
    write_atomic(directory / FILE, f"{version}\n".encode("ascii"))
