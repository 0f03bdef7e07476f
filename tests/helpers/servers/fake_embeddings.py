"""Vectors that depend only on the text, so that a test can recognize them."""

from __future__ import annotations

import hashlib


def vector_of(text: str, dimension: int) -> list[float]:
    """Numbers between -1 and 1, not of unit length."""
    stream = b"".join(hashlib.sha256(f"{part}:{text}".encode()).digest() for part in range(dimension // 32 + 1))
    return [byte / 127.5 - 1.0 for byte in stream[:dimension]]
