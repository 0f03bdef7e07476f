"""Acknowledged commits that could not be put into the tables after all: a file beside the database keeps them.

Only a mistake in this program, or a log that another version left, leads here. One such commit must not keep all others out of the
tables, and must not be lost either: the file has all of it, and ``atelier doctor`` says that it is there.
"""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path

from atelier_desk.storage import errors

FILE = "atelier-refused.jsonl"


def keep(directory: Path, content: bytes, reason: str, now: datetime) -> None:
    """Append a commit, as the log had it, as a line of JSON with ``time``, ``reason`` and ``commit``; returns when the disk has it.

    Raises:
        StorageError: it was not kept (``disk_full``, ``read_only`` …).
    """
    line = json.dumps({"time": now.isoformat(), "reason": reason, "commit": content.decode(errors="replace")}) + "\n"
    try:
        with (directory / FILE).open("a", encoding="utf-8") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise errors.from_text(f"{error.strerror} (os error {error.errno})", directory, opening=True) from error


def count(directory: Path) -> int:
    """How many there are."""
    try:
        with (directory / FILE).open("rb") as file:
            return sum(1 for _ in file)
    except FileNotFoundError:
        return 0
