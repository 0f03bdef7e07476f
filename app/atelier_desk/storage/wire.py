"""Requests in the engine's binary form (CBOR, RFC 8949), written several times faster than the driver's general encoder does.

Only the types that rows are made of are written here; any other value is left to the driver, whose bytes fit in as they are.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INT64 = 2**63
_NONE = b"\xc6\xf6"
"""Tag 6, the engine's NONE."""
_RECORD = b"\xc8\x82"
"""Tag 8 over a table and a key."""
_TIME = b"\xcc\x82"
"""Tag 12 over seconds since 1970 and nanoseconds."""
_SHORT = 24

_Parts = list[bytes]


def query(sql: str, params: Mapping[str, Any]) -> bytes:
    """A request to run statements."""
    parts: _Parts = [b"\xa3\x62id\x60\x66method\x65query\x66params\x82"]
    _text(sql, parts)
    _map(params, parts)
    return b"".join(parts)


def _head(major: int, size: int) -> bytes:
    if size < _SHORT:
        return _HEADS[major + size]
    if size < 0x100:
        return bytes((major | 24, size))
    if size < 0x10000:
        return struct.pack(">BH", major | 25, size)
    if size < 0x100000000:
        return struct.pack(">BI", major | 26, size)
    return struct.pack(">BQ", major | 27, size)


_HEADS = [bytes((first,)) for first in range(256)]


def _text(value: str, parts: _Parts) -> None:
    data = value.encode()
    parts.append(_head(0x60, len(data)))
    parts.append(data)


def _bytes(value: bytes, parts: _Parts) -> None:
    parts.append(_head(0x40, len(value)))
    parts.append(value)


def _integer(value: int, parts: _Parts) -> None:
    if not -_INT64 <= value < _INT64:
        raise ValueError(f"integer {value} is outside the database's 64 bits")
    parts.append(_head(0, value) if value >= 0 else _head(0x20, -1 - value))


def _float(value: float, parts: _Parts) -> None:
    parts.append(struct.pack(">Bd", 0xFB, value))


def _bool(value: bool, parts: _Parts) -> None:
    parts.append(b"\xf5" if value else b"\xf4")


def _none(value: None, parts: _Parts) -> None:
    parts.append(_NONE)


def _list(value: list[Any], parts: _Parts) -> None:
    parts.append(_head(0x80, len(value)))
    for each in value:
        _WRITERS.get(type(each), _other)(each, parts)


def _map(value: Mapping[str, Any], parts: _Parts) -> None:
    parts.append(_head(0xA0, len(value)))
    for name, each in value.items():
        known = _NAMES.get(name)
        if known is None:
            _WRITERS.get(type(name), _other)(name, parts)
        else:
            parts.append(known)
        _WRITERS.get(type(each), _other)(each, parts)


def _time(value: datetime, parts: _Parts) -> None:
    if value.tzinfo is None:
        _other(value, parts)
        return
    since = value - EPOCH
    parts.append(_TIME)
    _integer(since.days * 86_400 + since.seconds, parts)
    _integer(since.microseconds * 1000, parts)


def _other(value: Any, parts: _Parts) -> None:
    from surrealdb import RecordID
    from surrealdb.data.cbor import encode

    if type(value) is RecordID:
        _WRITERS[RecordID] = _record
        _record(value, parts)
    else:
        parts.append(encode(value))


def _record(value: Any, parts: _Parts) -> None:
    parts.append(_RECORD)
    _text(value.table_name, parts)
    key = value.id
    _WRITERS.get(type(key), _other)(key, parts)


_WRITERS: dict[type, Callable[[Any, _Parts], None]] = {
    str: _text,
    bytes: _bytes,
    int: _integer,
    float: _float,
    bool: _bool,
    type(None): _none,
    list: _list,
    dict: _map,
    datetime: _time,
}
_NAMES: dict[str, bytes] = {}
"""Encoded names of columns, which every row repeats."""


def learn(*names: str) -> None:
    """Keep the encoded form of names that many rows have."""
    for name in names:
        parts: _Parts = []
        _text(name, parts)
        _NAMES[name] = b"".join(parts)
