"""Replacing ids inside values."""

from __future__ import annotations

from atelier_desk.engine.journal.id_remap import renamed


def test_ids_are_replaced_wherever_they_are() -> None:
    ids = {"aaaaaaaa": "AAAAAAAA", "bbbb-bbbb_1": "new"}
    value = {"id": "aaaaaaaa", "aaaaaaaa": ["see aaaaaaaa, then (bbbb-bbbb_1).", 7, None, {"deep": "bbbb-bbbb_1"}]}
    assert renamed(value, ids) == {
        "id": "AAAAAAAA",
        "aaaaaaaa": ["see AAAAAAAA, then (new).", 7, None, {"deep": "new"}],
    }


def test_parts_of_words_and_short_words_are_unchanged() -> None:
    assert renamed("xaaaaaaaa aaaaaaaa1 short", {"aaaaaaaa": "NEW", "short": "NEW"}) == "xaaaaaaaa aaaaaaaa1 short"
