"""Agent files as they are documented."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from atelier_desk.domain.agent import AgentConfig, ToolMode

DOCUMENTED: dict[str, Any] = {
    "name": "Researcher",
    "lifecycle": "permanent",
    "provider": "ollama",
    "model": "qwen3:4b",
    "temperature": 0.2,
    "max_tokens": 4096,
    "system_prompt": "…",
    "tools": ["TodoTool", "MemoryTool", "read_file"],
    "sections": ["web_ops"],
    "mcp_servers": [],
    "tool_mode": "direct",
    "tool_dialect": "auto",
    "max_tool_iterations": 50,
    "effort": "medium",
    "description": "Finds and compares sources",
    "skills": [],
    "question_timeout_s": 300,
    "approval": "selective",
    "budget": {"max_cost": 1.0, "max_tokens": 200000, "max_seconds": 900, "max_tool_calls": 100},
}


def test_a_documented_agent_file_is_read_and_its_copy_too() -> None:
    agent = AgentConfig.model_validate_json(json.dumps(DOCUMENTED))
    assert (agent.purpose, agent.tool_mode) == ("Finds and compares sources", ToolMode.DIRECT)
    assert AgentConfig.model_validate_json(agent.model_dump_json()) == agent


@pytest.mark.parametrize(
    "more", [{"purpose": "Another"}, {"skills": ["pdf"]}, {"unknown": 1}], ids=["two purposes", "skills", "unknown"]
)
def test_what_an_agent_file_cannot_say_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        AgentConfig.model_validate(DOCUMENTED | more)
