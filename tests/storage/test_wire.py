"""The fast encoder says what the driver's own says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from surrealdb import RecordID
from surrealdb.data.cbor import decode, encode

from atelier_desk.storage import wire

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | TEXT
    | st.binary(max_size=300)
    | st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.sampled_from([UTC, timezone(timedelta(hours=-5))]))
    | st.builds(RecordID, st.sampled_from(["run", "workflow"]), TEXT.filter(bool) | st.lists(TEXT, min_size=1, max_size=3)),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(TEXT, inner, max_size=30),
)


@settings(max_examples=300, deadline=None)
@given(TEXT, st.dictionaries(TEXT, VALUES, max_size=5))
def test_the_driver_reads_the_same(sql: str, params: dict[str, Any]) -> None:
    wire.learn("id", "content")
    request = decode(wire.query(sql, params))
    assert request["method"] == "query"
    assert request["params"] == decode(encode([sql, params]))


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1])
def test_numbers_beyond_64_bits_are_refused(number: int) -> None:
    with pytest.raises(ValueError, match="64 bits"):
        wire.query("", {"n": number})


def test_long_values_have_their_length() -> None:
    params = {"text": "x" * 70_000, "list": list(range(70_000)), "bytes": b"y" * 300}
    assert decode(wire.query("", params))["params"][1] == params
