"""Tools: the registry, the factory and every tool, one folder per section.

Modules are loaded on demand.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["CONTROL_TOOLS", "ToolCategory", "ToolRegistry", "tool"]

_HOMES = {"CONTROL_TOOLS": "control", "ToolCategory": "base", "ToolRegistry": "registry.registry", "tool": "custom"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
