"""Sizes as people write them."""

from __future__ import annotations

import pytest

from atelier_desk import i18n
from atelier_desk.desktop.widgets.format import size


@pytest.mark.parametrize(("language", "one", "two"), [("en", "1 byte", "2 bytes"), ("fr", "1 octet", "2 octets")])
def test_one_byte_is_one(language: str, one: str, two: str) -> None:
    i18n.set_language(language)
    try:
        assert [size(count).replace("\u202f", " ").replace("\xa0", " ") for count in (1, 2)] == [one, two]
    finally:
        i18n.set_language("en")
