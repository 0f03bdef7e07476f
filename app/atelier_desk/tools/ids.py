"""Record ids that follow from the call that makes the record, so that a call run again after a kill finds what it made the first time."""

from __future__ import annotations

import hashlib


def stable_id(idempotency_key: str, kind: str) -> str:
    """32 hexadecimal digits, the same for the same call and kind of record (the first 128 bits of a SHA-256)."""
    return hashlib.sha256(f"{kind}\x00{idempotency_key}".encode()).hexdigest()[:32]
