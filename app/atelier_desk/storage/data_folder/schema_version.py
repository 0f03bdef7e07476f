"""Record the schema version of a database in its directory: asking the engine for it would change the engine's files.

The version is recorded after the database has it and before its first use, so the record is never ahead. Older folders
have no record; their version is unknown until a copy is opened.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from atelier_desk.storage.data_folder.atomic_files import write_atomic

FILE = "atelier-schema"
UpgradeStep = Literal["copy", "read", "migrate", "back_up", "verify"]
"""Steps of a migration that take time: each reads or writes the whole database."""
Upgrading = Callable[[UpgradeStep, int], None]
"""Called when a step of a migration begins, with 0, and then with the percentage of it that is done."""


def noted(directory: Path) -> int | None:
    """Return the recorded version; None if there is no readable record."""
    try:
        return int((directory / FILE).read_text("ascii"))
    except (OSError, ValueError):
        return None


def note(directory: Path, version: int) -> None:
    """Record the version.

    Raises:
        OSError: it cannot be written.
    """
    write_atomic(directory / FILE, f"{version}\n".encode("ascii"))
