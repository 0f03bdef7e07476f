"""The examples of the guide work with the real built-in model."""

from __future__ import annotations

from pathlib import Path

import pytest

from atelier_desk.desktop.first_start.welcome_and_examples import GOALS
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.engine.atelier import Atelier
from atelier_desk.support import i18n


@pytest.mark.parametrize("language", ["en", "fr"])
async def test_the_starter_model_reaches_each_goal_with_its_tool(tmp_path: Path, language: str) -> None:
    i18n.set_language(language)
    used: list[str] = []
    ends: list[str] = []
    async with Atelier.open(tmp_path) as atelier:
        await atelier.settings.update(language=language)
        for _title, goal, _icon, _shows in GOALS:
            async for event in atelier.run(i18n._(goal)):
                if event.chunk_type is ChunkType.TOOL_START:
                    used.append(event.data["tool"])
                elif event.chunk_type is ChunkType.WORKFLOW_COMPLETE:
                    ends.append(event.data["status"])
    assert used == ["CalculatorTool", "TodoTool", "UserQuestionTool"]
    assert ends == ["completed", "completed", "waiting"]
