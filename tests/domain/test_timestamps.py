"""The base of all domain models."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from atelier_desk.domain.base_model import Model, Timestamp
from atelier_desk.storage.row_mapping import plain_time


class _At(Model):
    at: Timestamp


@pytest.mark.parametrize(
    "given", ["0001-01-01T00:00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.999999-12:00"]
)
def test_a_time_at_the_ends_of_the_calendar_is_moved_to_where_every_time_zone_can_show_it(given: str) -> None:
    """An import with one used to break every list that showed it, in some time zones."""
    at = _At.model_validate_json(f'{{"at": "{given}"}}').at
    for hours in (-12, 14):
        assert at.astimezone(timezone(timedelta(hours=hours))).year in (1, 9999)


def test_other_times_are_converted_to_utc() -> None:
    assert _At.model_validate_json('{"at": "2026-01-01T00:00:00+14:00"}').at.isoformat() == "2025-12-31T10:00:00+00:00"


@pytest.mark.parametrize("stored", [datetime.min, datetime.max])
def test_stored_times_are_moved_too(stored: datetime) -> None:
    for hours in (-12, 14):
        assert plain_time(stored.replace(tzinfo=UTC)).astimezone(timezone(timedelta(hours=hours)))
