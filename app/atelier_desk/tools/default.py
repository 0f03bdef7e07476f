"""The registry an open Atelier works with."""

from __future__ import annotations

from atelier_desk.tools.builtin import builtin_tools
from atelier_desk.tools.registry import ToolRegistry
from atelier_desk.tools.services import ToolServices


def create_default_tool_registry(services: ToolServices | None = None) -> ToolRegistry:
    """A new registry with every tool that comes with Atelier. ``services`` are what they work on; its ``registry`` is set to this one."""
    services = services or ToolServices()
    tools = builtin_tools(services)
    services.registry = registry = ToolRegistry()
    registry.register_all(tools)
    return registry
