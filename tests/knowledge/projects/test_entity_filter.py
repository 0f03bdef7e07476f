"""Entities by filters that are data."""

from __future__ import annotations

from typing import Any

import pytest

from atelier_desk.domain.errors import UsageError
from atelier_desk.knowledge.projects.entity_filter import OPERATORS, filtered


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ({"name": {}}, r"name cannot be compared with \{\} \(operator eq\)"),
        (
            {name: dict.fromkeys(OPERATORS, "x") for name in ("name", "path", "type")},
            "There are 30 conditions; at most 20",
        ),
    ],
)
def test_an_unsupported_condition_is_reported_and_not_ignored(where: dict[str, Any], said: str) -> None:
    """When it was ignored, everything matched."""
    with pytest.raises(UsageError, match=said):
        filtered([], where, "")
