"""What the database remembers of its housekeeping, in a row among the settings that settings leave alone."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.repositories.housekeeping import Housekeeping
from atelier_desk.storage.rows import record
from atelier_desk.storage.store import Statement

WHEN = datetime(2026, 11, 23, tzinfo=UTC)
STATE = Housekeeping(token="t", first_missed={"w": WHEN, "trash/1": WHEN}, cleaned_at=WHEN)


async def test_it_comes_back_and_settings_do_not_touch_it(repos: Repositories) -> None:
    assert await repos.housekeeping.load() == Housekeeping()
    await repos.housekeeping.save(STATE)
    await repos.settings.save((await repos.settings.load()).model_copy(update={"checkpoint_days": 7}))
    assert await repos.housekeeping.load() == STATE
    assert (await repos.settings.load()).checkpoint_days == 7


@pytest.mark.parametrize("damage", ["?", "[]", '{"token": 1}', '{"of_a_newer_atelier": 1}'])
async def test_a_row_that_cannot_be_read_only_makes_the_days_begin_again(repos: Repositories, damage: str) -> None:
    await repos.store.write(
        Statement(
            "UPSERT $row CONTENT $content RETURN NONE",
            {"row": record("setting", "housekeeping"), "content": {"value": damage}},
        )
    )
    assert await repos.housekeeping.load() == Housekeeping()
