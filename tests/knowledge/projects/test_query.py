"""Entities by filters that are data."""

from __future__ import annotations

from typing import Any

import pytest

from atelier_desk.domain.errors import UsageError
from atelier_desk.knowledge.projects.query import OPERATORS, filtered


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ({"name": {}}, "name eq cannot be compared with {}"),
        (
            {name: dict.fromkeys(OPERATORS, "x") for name in ("name", "path", "type")},
            "There are 30 conditions; at most 20",
        ),
    ],
)
def test_a_condition_that_is_not_compared_is_reported_and_not_left_out(where: dict[str, Any], said: str) -> None:
    """Without it everything was found, as if it were met."""
    with pytest.raises(UsageError, match=said):
        filtered([], where, "")
