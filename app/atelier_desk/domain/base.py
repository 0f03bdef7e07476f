"""What all domain models share: identifiers, time and strict pydantic settings."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from atelier_desk.domain.ids import new_id

__all__ = ["Model", "Timestamp", "new_id", "utc_now"]


def utc_now() -> datetime:
    """The current time in UTC; the default of the injectable clocks."""
    return datetime.now(UTC)


def _aware(value: datetime) -> datetime:
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError as error:  # in the year 1 or 9999, moved out of the years there are
        raise ValueError(str(error)) from error


Timestamp = Annotated[datetime, AfterValidator(_aware)]
"""A UTC time; a naive value is taken as UTC."""


class Model(BaseModel):
    """Immutable value: unknown fields are refused, assignments fail, ``model_copy(update=…)`` makes a changed one.

    A class's validator is built when it is first used: no command needs them all, and together they took a third of a listing's time.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_enum_values=False, ser_json_inf_nan="constants", defer_build=True)
