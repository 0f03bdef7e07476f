"""The compiled CBOR encoder gives the same bytes as the driver's own code, and decodes them equally."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from surrealdb import Duration, RecordID, Table
from surrealdb.connections import async_embedded
from surrealdb.data import cbor as drivers
from surrealdb.data.types.datetime import PreciseDatetime
from surrealdb.data.types.null import Null
from surrealdb.data.types.set import SurrealSet
from surrealdb.request_message.descriptors import cbor_ws

from atelier_desk.domain.errors import UsageError
from atelier_desk.storage import cbor
from atelier_desk.storage.database_engine import Engine
from atelier_desk.storage.store import Statement, Store
from tests.storage.model_strategies import TEXT, TIMES


class Kind(StrEnum):
    SCOPE = "scope"


class Level(IntEnum):
    HIGH = 3


class Pair(NamedTuple):
    first: int
    second: str


KEYS = TEXT.filter(bool)
IDS = st.builds(RecordID, KEYS, KEYS | st.lists(KEYS | st.integers(0, 2**40), min_size=1, max_size=3))
PLAIN = (
    st.none() | st.booleans() | st.integers(-(2**63),
    2**63 - 1) | st.floats() | TEXT | st.binary(max_size=40) | TIMES | IDS | st.uuids()
    | st.decimals(allow_nan=False, allow_infinity=False)
)  # fmt: skip
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=20
)


def same(value: Any) -> Any:
    """A value with the types of all its parts, so that ``1`` differs from ``True`` and NaN equals itself."""
    if isinstance(value, dict):
        return type(value), [(key, same(each)) for key, each in value.items()]
    if isinstance(value, list):
        return type(value), [same(each) for each in value]
    if isinstance(value, RecordID):
        return RecordID, value.table_name, same(value.id)
    return type(value), repr(value)


@given(VALUES)
def test_bytes_and_values_are_those_of_the_driver(value: Any) -> None:
    data = drivers.encode({"params": ["RETURN $x", {"x": value}]})
    assert cbor.encode({"params": ["RETURN $x", {"x": value}]}) == data
    assert same(cbor.decode(data)) == same(drivers.decode(data))


@pytest.mark.parametrize(
    "value",
    [
        Kind.SCOPE, Level.HIGH, Pair(1, "b"), OrderedDict(a=1), defaultdict(int, a=1), (1, 2), bytearray(b"y"), {1: 2},
        {1},
        frozenset((1,)), SurrealSet([1, "a"]), Null, Table("t"), Duration.parse(5, 7), RecordID("a", {"k": None}),
        RecordID("a", UUID(int=5)), "a" * 300, PreciseDatetime.from_seconds_and_nanos(5, 123456789),
        datetime(2026, 1, 2, 3, 4),
        datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=2))), date(2026, 1, 2),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_rare_types_are_those_of_the_driver_too(value: Any) -> None:
    data = drivers.encode([value])
    assert cbor.encode([value]) == data
    if value is not Null:
        assert same(cbor.decode(data)) == same(drivers.decode(data))


@pytest.mark.parametrize(
    "value",
    [timedelta(1), memoryview(b"z"), object()],
    ids=lambda value: type(value).__name__,
)
def test_an_unsupported_value_is_refused_with_the_drivers_message(value: object) -> None:
    def refused(encode: Any) -> tuple[type[BaseException], str]:
        with pytest.raises(Exception) as raised:
            encode({"x": [value]})
        return raised.type, str(raised.value)

    assert refused(cbor.encode) == refused(drivers.encode)


@pytest.mark.parametrize(
    "value", [2**63, -(2**63) - 1, "\ud800", 10**5000], ids=["large", "small", "half a pair", "very large"]
)
async def test_a_value_that_cannot_be_stored_is_refused_and_the_next_is_stored(store: Store, value: object) -> None:
    for sent in (value, [{"x": value}], {"x": RecordID("a", [value])}):
        with pytest.raises(UsageError, match="cannot be stored"):
            await store.write(Statement("CREATE prompt CONTENT $sent", {"sent": sent}))
        with pytest.raises(UsageError, match="cannot be stored"):
            await store.query("RETURN $sent", sent=sent)
    assert await store.query("RETURN $sent", sent=1) == [1]


@given(st.binary(max_size=60))
def test_damaged_answers_are_refused_where_the_driver_refuses_them(data: bytes) -> None:
    def refused(decode: Any) -> type[BaseException] | None:
        try:
            decode(data)
        except Exception as error:
            return type(error)
        return None

    assert refused(cbor.decode) is refused(drivers.decode)


async def test_the_database_uses_it() -> None:
    engine = await Engine.open(None)
    assert (vars(cbor_ws)["encode"], vars(async_embedded)["decode"]) == (cbor.encode, cbor.decode)
    sent = {
        "id": RecordID("a", "1"),
        "at": datetime(2026, 1, 2, tzinfo=UTC),
        "none": None,
        "price": Decimal("1.50"),
        "data": b"\0\1",
    }
    found = (await engine.run("RETURN $sent", {"sent": sent}))[0].value
    await engine.close()
    assert found == sent
