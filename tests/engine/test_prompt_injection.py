"""A fully obedient model reaches nothing without a person's approval; ``tests/chaos/test_prompt_injection`` has all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.prompt_injection.attack import PROFILES, attacked
from tests.helpers.prompt_injection.injected_contents import WAYS, contents


async def test_a_sample_of_goals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with attacked(tmp_path, monkeypatch) as attack:
        every = list(contents(attack.world))
        goals = list(dict.fromkeys(content.goal for content in every))[::5]
        wrong = []
        for number, goal in enumerate(goals):
            way = WAYS[number % len(WAYS)]
            content = next(each for each in every if (each.goal, each.way) == (goal, way))
            mode = PROFILES[number % len(PROFILES)]
            found = await attack.reached(content, mode, by_helper=number % 2 == 1)
            wrong += [f"{goal} by {way} under {mode.value}: {each}" for each in found]
        assert len(goals) >= 7
        assert wrong == []
        assert attack.asked
