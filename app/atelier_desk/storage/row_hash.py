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
from datetime import UTC, datetime
from typing import Any

BYTES = 8
"""Enough for damage, which does not aim: one change in 2^64 would be missed."""


def row_hash(row: Mapping[str, Any], columns: Iterable[str]) -> bytes:
    """The hash of the values of some columns, ``BYTES`` long."""
    facts: list[Any] = []
    texts: list[bytes] = []
    for name in columns:
        value = row.get(name)
        if value is None:
            continue
        if type(value) is str:
            text = value.encode("utf-8", "surrogatepass")
            texts.append(text)
            facts.append((name, len(text)))
        else:
            facts.append((name, [_plain(value)]))
    found = hashlib.blake2b(json.dumps(facts).encode(), digest_size=BYTES)
    for text in texts:
        found.update(text)
    return found.digest()


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, datetime):
        # The driver gives a class of its own for the same time, which is always in UTC.
        return datetime(*value.timetuple()[:6], value.microsecond, UTC).isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return [value.table_name, value.id]
