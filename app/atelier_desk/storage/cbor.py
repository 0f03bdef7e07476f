"""Encode database requests and decode answers with ``cbor2`` instead of the driver's own code.

The driver bundles a copy of cbor2's pure Python code, which took more time than the database itself: 0.2 s on the event
loop for 2 000 rows of a project graph. ``cbor2`` is compiled and produces the same bytes. Types it does not know and
values the driver refuses (sets, decimals, integers beyond 64 bits, everything that cannot be sent) still go through the
driver.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC
from decimal import Decimal
from typing import Any, NoReturn

import cbor2
from surrealdb import RecordID
from surrealdb.connections import async_embedded
from surrealdb.data import cbor as drivers
from surrealdb.data.types.constants import TAG_NONE, TAG_RECORD_ID, TAG_SET
from surrealdb.data.types.set import SurrealSet
from surrealdb.request_message.descriptors import cbor_ws

from atelier_desk.domain.errors import UsageError
from atelier_desk.support.i18n import N_

NOT_STORABLE = N_(
    "A value cannot be stored ({detail}): integers can have at most 64 bits, and text cannot contain half "
    "of a surrogate pair."
)
_INTEGERS = range(-(2**63), 2**63)
_SEMANTIC, _SIMPLE, _NULL = 6, 7, 22
"""CBOR major types of tags and of simple values, and the simple value null."""


def encode(value: object) -> bytes:
    """Encode a request for the database.

    Raises:
        UsageError: ``invalid``: an integer or a text cannot be stored; files, servers and models may have any.
        TypeError: a value is of a type that cannot be sent; the message is the driver's.
    """
    try:
        return cbor2.dumps(value, encoders=_ENCODERS, timezone=UTC)
    except Exception:
        try:
            return drivers.encode(value)
        except ValueError as error:
            raise UsageError(NOT_STORABLE, code="invalid", detail=str(error).partition(";")[0]) from error


def decode(data: bytes) -> object:
    """Decode an answer of the database. Both CBOR null and SurrealDB's NONE become None."""
    try:
        return cbor2.loads(data, tag_hook=_tagged, semantic_decoders=_DECODERS)
    except Exception:
        return drivers.decode(data)


def install_codec() -> None:
    """Make the driver's embedded connection use ``encode`` and ``decode``."""
    vars(cbor_ws)["encode"] = encode
    vars(async_embedded)["decode"] = decode


def _record(encoder: cbor2.CBOREncoder, value: RecordID) -> None:
    encoder.encode_semantic(TAG_RECORD_ID, [value.table_name, value.id])


def _none(encoder: cbor2.CBOREncoder, _value: None) -> None:
    encoder.encode_length(_SEMANTIC, TAG_NONE)
    encoder.encode_length(_SIMPLE, _NULL)


def _integer(encoder: cbor2.CBOREncoder, value: int) -> None:
    if value not in _INTEGERS:
        _leave(encoder, value)
    encoder.encode_int(value)


def _leave(_encoder: cbor2.CBOREncoder, value: object) -> NoReturn:
    raise TypeError(type(value).__name__)


def _tagged(tag: cbor2.CBORTag, _immutable: bool) -> object:
    return drivers.tag_decoder(None, tag)  # type: ignore[arg-type]  # the driver reads nothing but the tag


_ENCODERS: dict[type, Callable[[cbor2.CBOREncoder, Any], Any]] = {
    RecordID: _record,
    type(None): _none,
    int: _integer,
    **dict.fromkeys((set, frozenset, SurrealSet, Decimal, memoryview), _leave),  # cbor2 would encode them differently
}
_DECODERS = {
    TAG_NONE: lambda _found, _immutable: None,
    TAG_RECORD_ID: lambda found, _immutable: RecordID._unchecked(found[0], found[1]),
    TAG_SET: lambda found, _immutable: SurrealSet(found),
}
