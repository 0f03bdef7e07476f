"""The default tool registry."""

from __future__ import annotations

from atelier_desk.tools.registry.builtin import builtin_tools
from atelier_desk.tools.registry.registry import ToolRegistry
from atelier_desk.tools.registry.tool_services import ToolServices


def create_default_tool_registry(services: ToolServices | None = None) -> ToolRegistry:
    """Create a registry with all built-in tools.

    ``services`` are the objects they work on; their ``registry`` is set to it.
    """
    services = services or ToolServices()
    tools = builtin_tools(services)
    services.registry = registry = ToolRegistry()
    registry.register_all(tools)
    return registry
