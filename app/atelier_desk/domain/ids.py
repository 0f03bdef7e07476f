"""Identifiers; a separate module, so that programs that need only one load nothing else."""

from __future__ import annotations

import os
import time

_DIGITS = frozenset("0123456789abcdef")


def new_id() -> str:
    """Return a new identifier: 24 hexadecimal digits, ordered by time (48-bit milliseconds, as in UUID version 7, then
    48 random bits).

    A run writes some hundred identifiers in keys, links and indexes, so short ones matter. Among 1 000 created in the
    same millisecond, the chance of a collision is 1 in 500 million.
    """
    return f"{time.time_ns() // 1_000_000:012x}{os.urandom(6).hex()}"


def is_id(text: str) -> bool:
    """Whether a text has the form of an identifier: 24 lower-case hexadecimal digits, or 32 from ``stable_id`` and
    earlier versions.

    It is then also a plain file name.
    """
    return len(text) in (24, 32) and set(text) <= _DIGITS


def made_at(id: str) -> int:
    """Return when an identifier was created, in milliseconds since 1970."""
    return int(id[:12], 16)
