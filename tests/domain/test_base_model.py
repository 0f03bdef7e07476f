"""The base of all domain models."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from atelier_desk.domain.base_model import Model, Timestamp


class _At(Model):
    at: Timestamp


def test_a_time_outside_of_utcs_range_is_refused_like_any_invalid_value() -> None:
    """An import with one used to end with an unexpected error."""
    assert _At.model_validate_json('{"at": "2026-01-01T00:00:00+14:00"}').at.isoformat() == "2025-12-31T10:00:00+00:00"
    with pytest.raises(ValidationError):
        _At.model_validate_json('{"at": "0001-01-01T00:00:00+14:00"}')
