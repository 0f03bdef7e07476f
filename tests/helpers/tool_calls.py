"""Calls of tools, as models make them."""

from __future__ import annotations

from typing import Any

from atelier_desk.domain.model_messages import ToolCall


def tool_call(name: str, id: str = "c", /, **arguments: Any) -> ToolCall:
    """A call of the tool ``name``."""
    return ToolCall(id=id, name=name, arguments=arguments)


def tool_calls(*given: tuple[str, dict[str, Any]]) -> list[ToolCall]:
    """The calls of one reply: names of tools, with the arguments."""
    return [tool_call(name, f"c{number}", **arguments) for number, (name, arguments) in enumerate(given)]
