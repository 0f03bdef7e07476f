"""Identifiers; apart from the models, so that a program that only needs one loads nothing else."""

from __future__ import annotations

import os
import time

_DIGITS = frozenset("0123456789abcdef")


def new_id() -> str:
    """A new identifier: 32 hexadecimal digits, ordered by time (48-bit milliseconds, then 80 random bits, as in UUID version 7)."""
    return f"{time.time_ns() // 1_000_000:012x}{os.urandom(10).hex()}"


def is_id(text: str) -> bool:
    """Whether a text has the shape of an identifier: 32 hexadecimal digits in lower case. It is then a plain file name too."""
    return len(text) == 32 and set(text) <= _DIGITS


def made_at(id: str) -> int:
    """When an identifier was made, in milliseconds since 1970."""
    return int(id[:12], 16)
