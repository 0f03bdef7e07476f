"""The hash of a row, which reveals changed bits when the row is read.

The engine checks its log and its small rows, but not the large values that it stores separately (``vlog``).

The hash covers the values of a row, not their stored bytes: compression does not matter. A column without a value
counts as absent, so that new columns leave older rows valid. A migration that changes a hashed value must rewrite or
remove the hash: a row without one is of an earlier version and cannot be checked.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

BYTES = 8
"""Enough for accidental damage: one change in 2^64 would be missed."""


def row_hash(row: Mapping[str, object], columns: Iterable[str]) -> bytes:
    """Return the hash of the values of some columns, ``BYTES`` long."""
    parts: list[str] = []
    for name in columns:
        value = row.get(name)
        if value is not None:
            text = value if type(value) is str else _text(value)
            parts.append(f"{name} {type(value) is str} {len(text)} {text}")
    return hashlib.blake2b("".join(parts).encode("utf-8", "surrogatepass"), digest_size=BYTES).digest()


def _text(value: Any) -> str:
    """Return the text that represents a non-text value."""
    if type(value) is int or isinstance(value, bool | float):
        return repr(value)
    if isinstance(value, datetime):
        # The driver's own class formats the same time differently; both are in UTC.
        return datetime.isoformat(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list | tuple):
        return json.dumps(value)
    return f"{value.table_name}:{value.id}"


def name_of(row: Mapping[str, Any]) -> str:
    """Return the entry of a row in ``wrote``: table, id and hash."""
    return f"{row['id'].table_name}:{row['id'].id}:{row['hash'].hex()}"


def named_in(wrote: Iterable[str] | None) -> Iterator[tuple[str, str, bytes]]:
    """Inverse of ``name_of``: yields tables, ids and hashes."""
    for each in wrote or ():
        table, _colon, rest = each.partition(":")
        key, _colon, digest = rest.rpartition(":")
        yield table, key, bytes.fromhex(digest)
