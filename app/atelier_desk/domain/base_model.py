"""Shared by all domain models: identifiers, time and strict pydantic settings."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from atelier_desk.domain.ids import new_id

__all__ = ["Model", "Timestamp", "new_id", "utc_now"]


def utc_now() -> datetime:
    """Return the current time in UTC; the default of injectable clocks."""
    return datetime.now(UTC)


def _aware(value: datetime) -> datetime:
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError as error:  # in the years 1 or 9999, shifted out of range
        raise ValueError(str(error)) from error


Timestamp = Annotated[datetime, AfterValidator(_aware)]
"""A UTC time; naive values are taken as UTC."""


class Model(BaseModel):
    """Immutable value: unknown fields are refused, assignments fail, ``model_copy(update=…)`` makes a changed copy.

    Validators are built on first use: no command needs them all, and together they took a third of a listing's time.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_enum_values=False, ser_json_inf_nan="constants", defer_build=True
    )
