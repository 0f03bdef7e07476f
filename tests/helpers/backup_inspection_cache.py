"""Cache inspections of backups: each starts a program, and most tests are about something else."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.storage.copies import backup_file
from atelier_desk.storage.copies.database_inspection import Inspection, inspect

_seen: dict[str, Inspection] = {}


@pytest.fixture
def inspected_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inspect identical bytes once for all tests that use this."""

    async def remembered(directory: Path, **more: Any) -> Inspection:
        digest = hashlib.sha256()
        # An inspection covers the database and the reports next to it.
        for path in sorted((*directory.rglob("*"), *(directory.parent / "reports").rglob("*"))):
            if path.is_file():
                digest.update(
                    f"{path.relative_to(directory.parent)}\0".encode() + hashlib.sha256(path.read_bytes()).digest()
                )
        key = digest.hexdigest()
        if key not in _seen:
            _seen[key] = await inspect(directory, **more)
        return _seen[key]

    monkeypatch.setattr(backup_file, "inspect", remembered)
