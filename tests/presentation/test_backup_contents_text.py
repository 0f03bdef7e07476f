"""The contents of a backup, in words."""

from __future__ import annotations

import pytest

from atelier_desk.presentation.backup_contents_text import rows_text
from atelier_desk.support.i18n import set_language


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", ["1 workflow", "120 messages", "7 other records"]),
        ("fr", ["1 workflow", "120 messages", "7 autres enregistrements"]),
    ],
)
def test_the_main_kinds_are_named_and_the_rest_is_one_number(language: str, expected: list[str]) -> None:
    set_language(language)
    try:
        assert rows_text({"workflow": 1, "message": 120, "task": 0, "run": 3, "run_event": 4}) == expected
    finally:
        set_language("en")
    assert not rows_text({"task": 0})
