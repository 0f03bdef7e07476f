"""The hash of a file. Imports nothing of Atelier."""

from __future__ import annotations

import hashlib
from pathlib import Path


def sha256_of(path: Path) -> str:
    """SHA-256 of a file of any size, hexadecimal; 200 MB take about half a second."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
