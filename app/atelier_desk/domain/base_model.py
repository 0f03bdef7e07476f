"""Shared by all domain models: identifiers, time and strict pydantic settings."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from atelier_desk.domain.ids import new_id

__all__ = ["Model", "Timestamp", "new_id", "utc_now", "within_calendar"]

_EARLIEST, _LATEST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)


def utc_now() -> datetime:
    """Return the current time in UTC; the default of injectable clocks."""
    return datetime.now(UTC)


def within_calendar(value: datetime) -> datetime:
    """Return the time in UTC, at least a day from the ends of the calendar: it has a year from 1 to 9999 in every time
    zone, which whatever shows it needs. Naive values are taken as UTC.
    """
    aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value
    return min(max(aware, _EARLIEST), _LATEST).astimezone(UTC)


Timestamp = Annotated[datetime, AfterValidator(within_calendar)]
"""A UTC time, as ``within_calendar`` returns it."""


class Model(BaseModel):
    """Immutable value: unknown fields are refused, assignments fail, ``model_copy(update=…)`` makes a changed copy.

    Validators are built on first use: no command needs them all, and together they took a third of a listing's time.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_enum_values=False, ser_json_inf_nan="constants", defer_build=True
    )
