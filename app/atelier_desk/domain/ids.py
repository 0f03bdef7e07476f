"""Identifiers; apart from the models, so that a program that only needs one loads nothing else."""

from __future__ import annotations

import os
import time

_DIGITS = frozenset("0123456789abcdef")


def new_id() -> str:
    """A new identifier: 24 hexadecimal digits, ordered by time (48-bit milliseconds, as in UUID version 7, then 48 random bits).

    A run writes some hundred identifiers of rows, in keys, links and indexes, so each digit counts. Of 1 000 that are made in the same
    millisecond, two are the same with a chance of 1 in 500 million.
    """
    return f"{time.time_ns() // 1_000_000:012x}{os.urandom(6).hex()}"


def is_id(text: str) -> bool:
    """Whether a text has the shape of an identifier: 24 hexadecimal digits in lower case, or 32, as ``stable_id`` and earlier versions
    give. It is then a plain file name too."""
    return len(text) in (24, 32) and set(text) <= _DIGITS


def made_at(id: str) -> int:
    """When an identifier was made, in milliseconds since 1970."""
    return int(id[:12], 16)
