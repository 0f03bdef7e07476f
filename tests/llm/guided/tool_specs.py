"""Definitions of Atelier's own tools, as they are sent in requests."""

from __future__ import annotations

from functools import cache

from atelier_desk.domain.model_messages import ToolSpec
from atelier_desk.tools.registry.default_registry import create_default_tool_registry


@cache
def specs(*names: str) -> tuple[ToolSpec, ...]:
    return tuple(create_default_tool_registry().get_definitions_by_names(names))
