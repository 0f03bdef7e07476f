"""The token cost of a prompt before the first message."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from atelier_desk.domain.agent import AgentConfig, ToolMode
from atelier_desk.engine.services.request.prompt_size import PromptCost, prompt_cost
from atelier_desk.tools.base import ToolCategory
from atelier_desk.tools.registry.default_registry import create_default_tool_registry
from atelier_desk.tools.registry.registry import ToolRegistry
from tests.bench.bench_tool_mode_tokens import measure


@pytest.fixture
def registry() -> ToolRegistry:
    return create_default_tool_registry()


def cost(registry: ToolRegistry, mode: ToolMode, **changes: object) -> PromptCost:
    config = AgentConfig(name="A", provider="p", model="m", system_prompt="Help.").model_copy(update=changes)
    return prompt_cost(registry, config, mode, language="en", now=datetime(2026, 1, 5, tzinfo=UTC), window=128_000)


def test_an_agent_without_tools_costs_its_text_and_the_control_tools(registry: ToolRegistry) -> None:
    bare = cost(registry, ToolMode.DIRECT)
    assert bare.tools == 4
    assert 0 < bare.definitions <= 400
    assert bare.system < 60


def test_each_tool_loading_mode_sends_its_own_definitions(registry: ToolRegistry) -> None:
    tools = ("TodoTool", "CalculatorTool", "a_tool_file_that_is_gone")
    direct, sections, invoke = (
        cost(registry, mode, tools=tools) for mode in (ToolMode.DIRECT, ToolMode.SECTIONS, ToolMode.INVOKE)
    )
    assert (direct.tools, sections.tools, invoke.tools) == (6, 6, 5)
    assert direct.system < sections.system < invoke.system
    assert cost(registry, ToolMode.DIRECT, sections=("core_ops", "section_that_is_gone")).tools == 9


def test_the_bench_covers_every_tool_and_sections_save_most(registry: ToolRegistry) -> None:
    figures = measure(registry)
    others = [
        tool
        for category in ToolCategory
        if category is not ToolCategory.CONTROL
        for tool in registry.get_tools_by_category(category)
    ]
    assert figures["tools"] == len(others) == sum(section["tools"] for section in figures["sections"].values())
    saved = {mode: cost["saved"] for mode, cost in figures["modes"].items()}
    assert saved["direct"] == 0
    assert saved["sections"] > 0.7
    assert saved["invoke"] > 0.2
