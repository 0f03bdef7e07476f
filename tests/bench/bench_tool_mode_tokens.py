"""Prompt tokens of the tool modes, over all registered tools: ``python -m tests.bench.bench_tool_mode_tokens``.

Tokens are estimated as for requests (UTF-8 bytes by 3.2), for an agent with every tool but the control tools enabled
and an empty conversation: the system message and the tool definitions of each request. No model is used. Part of what
the sections mode saves is spent on sub-agents, which get the definitions of their sections: those costs are listed
below.
"""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from atelier_desk.domain.agent import AgentConfig, ToolMode
from atelier_desk.engine.services.request.prompt_size import prompt_cost
from atelier_desk.tools.base import ToolCategory
from atelier_desk.tools.registry.default_registry import create_default_tool_registry
from atelier_desk.tools.registry.registry import ToolRegistry

NOW = datetime(2026, 1, 5, tzinfo=UTC)
WINDOW = 128_000
"""Tokens of the model that is asked; only tools of MCP servers, of which there are none here, depend on it."""


def agent(tools: tuple[str, ...]) -> AgentConfig:
    return AgentConfig(name="Bench", provider="none", model="none", tools=tools)


def measure(registry: ToolRegistry) -> dict[str, Any]:
    """Tokens by mode with all tools, and in direct mode with the tools of only one section."""
    tools = tuple(
        name for name in registry.get_all_tool_names() if _category(registry, name) is not ToolCategory.CONTROL
    )
    modes: dict[str, dict[str, float]] = {}
    for mode in ToolMode:
        cost = prompt_cost(registry, agent(tools), mode, language="en", now=NOW, window=WINDOW)
        modes[mode.value] = {
            "definitions": cost.tools,
            "definition_tokens": cost.definitions,
            "system_tokens": cost.system,
            "tokens": cost.total,
        }
    direct = modes[ToolMode.DIRECT.value]["tokens"]
    for figures in modes.values():
        figures["saved"] = round(1 - figures["tokens"] / direct, 3)
    sections = {}
    for section in registry.sections.all():
        names = tuple(tool.name for tool in registry.get_tools_by_section(section.id))
        if names:
            cost = prompt_cost(registry, agent(names), ToolMode.DIRECT, language="en", now=NOW, window=WINDOW)
            sections[section.id] = {"tools": len(names), "tokens": cost.total}
    return {"tools": len(tools), "modes": modes, "sections": sections}


def _category(registry: ToolRegistry, name: str) -> ToolCategory | None:
    tool = registry.get_tool(name)
    return tool.category if tool is not None else None


def show(figures: dict[str, Any]) -> None:
    print(f"prompt tokens of a request before anything is said, {figures['tools']} tools enabled")
    print(f"  {'mode':<10}{'definitions':>12}{'their tokens':>14}{'system':>8}{'together':>10}{'saved':>8}")
    for mode, cost in figures["modes"].items():
        counts = (
            f"{cost['definitions']:>12}{cost['definition_tokens']:>14}{cost['system_tokens']:>8}{cost['tokens']:>10}"
        )
        print(f"  {mode:<10}{counts}{cost['saved']:>8.0%}")
    print("a sub-agent with the tools of one section")
    for section, cost in figures["sections"].items():
        print(f"  {section:<14}{cost['tools']:>3} tools{cost['tokens']:>8} tokens")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the same: it takes no time")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    figures = measure(create_default_tool_registry())
    show(figures)
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1), "utf-8")


if __name__ == "__main__":
    main()
