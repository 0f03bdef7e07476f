"""The state of housekeeping: a row in the settings table that the settings do not touch."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.repositories.housekeeping_state import Housekeeping
from atelier_desk.storage.row_mapping import record
from atelier_desk.storage.store import Statement

WHEN = datetime(2026, 11, 23, tzinfo=UTC)
STATE = Housekeeping(token="t", first_missed={"w": WHEN, "trash/1": WHEN}, cleaned_at=WHEN)


async def test_the_row_is_stored_and_settings_do_not_touch_it(repos: Repositories) -> None:
    assert await repos.housekeeping.load() == Housekeeping()
    await repos.housekeeping.save(STATE)
    await repos.settings.save((await repos.settings.load()).model_copy(update={"checkpoint_days": 7}))
    assert await repos.housekeeping.load() == STATE
    assert (await repos.settings.load()).checkpoint_days == 7


@pytest.mark.parametrize("damage", ["?", "[]", '{"token": 1}', '{"of_a_newer_atelier": 1}'])
async def test_an_unreadable_row_only_restarts_the_periods(repos: Repositories, damage: str) -> None:
    await repos.store.write(
        Statement(
            "UPSERT $row CONTENT $content RETURN NONE",
            {"row": record("setting", "housekeeping"), "content": {"value": damage}},
        )
    )
    assert await repos.housekeeping.load() == Housekeeping()
