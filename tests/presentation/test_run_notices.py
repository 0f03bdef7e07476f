"""Stored notices of any shape have a text, and their texts ask for nothing."""

from __future__ import annotations

from typing import Any

import pytest

from atelier_desk.presentation.run_notices import notice_kind, retry_text
from atelier_desk.presentation.unreadable_values import unreadable
from tests.helpers.malformed_messages import FORMATS, NOTICES, POISON


@pytest.mark.parametrize("kind", NOTICES)
def test_every_notice_has_a_text(kind: str) -> None:
    for details in POISON:
        if (known := notice_kind(kind, details)) is not None:
            assert isinstance(known.line(details), str)
        assert all(isinstance(each, str) for each in retry_text(str(details.get("reason", "")), details))


def test_an_unreadable_notice_says_so() -> None:
    details: dict[str, Any] = {"title": "T", "text": "t", "values": 3}
    known = notice_kind("notice", details)
    assert known is not None
    assert known.text(details) == (unreadable(), "")
    assert known.line(details) == unreadable()


@pytest.mark.parametrize("text", FORMATS)
def test_a_stored_text_is_no_format(text: str) -> None:
    details = {"title": text, "text": "{n} done", "values": {"n": 3}}
    known = notice_kind("notice", details)
    assert known is not None
    title, said = known.text(details)
    assert title in (text, "{n}")
    assert said == "3 done"
