"""The hash of a file. A leaf module: it imports nothing of Atelier."""

from __future__ import annotations

import hashlib
from pathlib import Path


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file of any size, in hexadecimal digits; about half a second for 200 MB."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
