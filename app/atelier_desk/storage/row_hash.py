"""The hash of a row: a bit that changed on the disk is noticed when the row is read.

The engine checks its log and its small rows, and none of the values that it keeps apart because they are large (``vlog``).

What is hashed are the values that a row stands for, not the bytes that keep them: whether a text is compressed does not matter. A column
without a value counts like one that is not there, so that a new column leaves older rows as they are. A migration that changes a hashed
value has to write the hash anew, or take it away: a row without one is of an earlier version, and nothing is known about it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

BYTES = 8
"""Enough for damage, which does not aim: one change in 2^64 would be missed."""


def row_hash(row: Mapping[str, Any], columns: Iterable[str]) -> bytes:
    """The hash of the values of some columns, ``BYTES`` long."""
    parts: list[str] = []
    for name in columns:
        value = row.get(name)
        if value is not None:
            text = value if type(value) is str else _text(value)
            parts.append(f"{name} {type(value) is str} {len(text)} {text}")
    return hashlib.blake2b("".join(parts).encode("utf-8", "surrogatepass"), digest_size=BYTES).digest()


def _text(value: Any) -> str:
    """What stands for a value that is no text."""
    if type(value) is int or isinstance(value, bool | float):
        return repr(value)
    if isinstance(value, datetime):
        # The driver gives a class of its own, with its own words, for the same time; both are in UTC.
        return datetime.isoformat(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list | tuple):
        return json.dumps(value)
    return f"{value.table_name}:{value.id}"
