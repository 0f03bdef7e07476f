"""Record ids derived from a call, so that a repetition after a kill finds the records of the first attempt."""

from __future__ import annotations

import hashlib


def stable_id(idempotency_key: str, kind: str) -> str:
    """Return 32 hexadecimal digits, equal for the same call and kind of record (the first 128 bits of a SHA-256)."""
    return hashlib.sha256(f"{kind}\x00{idempotency_key}".encode()).hexdigest()[:32]
