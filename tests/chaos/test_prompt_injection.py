"""Every goal of an attacker by every way a text reaches a fully obedient model, alone and through sub-agents: none
is reached.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.prompt_injection.attack import PROFILES, attacked
from tests.helpers.prompt_injection.injected_contents import contents


async def test_no_goal_is_reached_without_an_approval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with attacked(tmp_path, monkeypatch) as attack:
        wrong, tried, runs = [], 0, 0
        for number, content in enumerate(contents(attack.world)):
            tried += 1
            for by_helper in (False, True):
                mode = PROFILES[(number + by_helper) % len(PROFILES)]
                runs += 1
                found = await attack.reached(content, mode, by_helper=by_helper)
                wrong += [
                    f"{content.goal} by {content.way} under {mode.value}, helper {by_helper}: {each}" for each in found
                ]
        assert tried >= 300
        assert wrong == []
        print(
            f"{tried} contents, {runs} runs, {len(attack.asked)} requests refused or allowed by the person, 0 goals "
            f"reached"
        )
