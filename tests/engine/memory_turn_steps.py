"""Turns that remember something, regenerated."""

from __future__ import annotations

from typing import Any

from atelier_desk.domain.model_messages import ToolCall
from atelier_desk.engine import Atelier
from tests.engine.conftest import send_and_wait
from tests.helpers.runs_without_driver import agent
from tests.helpers.tool_calls import tool_call

AGENT = agent(tools=("MemoryTool",))


def remember(content: str, **fields: Any) -> list[ToolCall]:
    arguments = {"operation": "add", "type": "user_pref", "content": content, **fields}
    return [tool_call("MemoryTool", "m", **arguments)]


async def answered(atelier: Atelier, workflow_id: str, text: str = "Remember it") -> str:
    run_id = await send_and_wait(atelier, workflow_id, text, agent=AGENT)
    return run_id


async def regenerate(atelier: Atelier, workflow_id: str, run_id: str) -> str:
    run_id = await atelier.runs.regenerate(workflow_id, run_id)
    await atelier.runs.wait(run_id)
    return run_id
