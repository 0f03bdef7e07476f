"""When the tools of MCP servers are searched for instead of being listed, and which of them were found.

It is decided for each request and kept with its reply: what the journal says holds, also when a run is folded again years later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from atelier_desk.domain.agent import ToolMode
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.llm.tokens import definition_tokens, estimate
from atelier_desk.tools.base import ToolResult
from atelier_desk.tools.control.invoke import InvokeTool
from atelier_desk.tools.control.search_tools import NAME
from atelier_desk.tools.modes import effective_mode, server_tools
from atelier_desk.tools.registry import ToolRegistry

SHARE = 0.05
"""Of the model's window; servers' tools that take more are searched for. Source: the specification."""
FOUND_SHARE = 0.15
"""Of the window, for the definitions of those that were found; the oldest are left out, and can be found again."""


class Searched(NamedTuple):
    """How the servers' tools are reached by search.

    Attributes:
        found: those whose definitions are sent, the one found last at the end.
        tools, tokens: how many there are, and what listing them all would take.
    """

    found: tuple[str, ...]
    tools: int
    tokens: int


def found(state: RunState) -> tuple[str, ...] | None:
    """The tools that may be called since they were found, as the newest request had it; None while all are listed. Those that were called
    in earlier turns count as found: the model sees its calls of them."""
    return _found(state) if state.searched else None


def searched(registry: ToolRegistry, state: RunState, usable: Sequence[str], window: int) -> Searched | None:
    """How the next request has them; None lists them. ``usable`` are the names the run may call, ``window`` is the model's in tokens.

    A run that began to search goes on: a list that shrinks a little must not change all that was sent before.
    """
    names = server_tools(registry, usable)
    mode = effective_mode(state.agent.tool_mode, depth=state.depth, max_depth=state.max_depth)
    if not names or mode is ToolMode.SECTIONS:
        return None
    tokens = _tokens(registry, names, mode)
    if tokens <= SHARE * window and not state.searched:
        return None
    there, room, kept = set(names), FOUND_SHARE * window, list[str]()
    for name in reversed(_found(state)):
        if name not in there:
            continue
        room -= _tokens(registry, [name], mode)
        if kept and room < 0:
            break
        kept.append(name)
    return Searched(tuple(reversed(kept)), len(names), tokens)


def not_found(registry: ToolRegistry, state: RunState, usable: Sequence[str], name: str) -> ToolResult | None:
    """The error for a tool that the run may have and that was not found yet; None for any other."""
    known = found(state)
    if known is None or name in known or name not in server_tools(registry, usable):
        return None
    return ToolResult.failure(
        f"{name} is not loaded. Call {NAME} with query {name!r}, or with words of what you need: what it finds can be called from your "
        "next reply on.",
        "not_loaded",
    )


def _found(state: RunState) -> tuple[str, ...]:
    calls = (call for entry in state.history for call in entry.calls)
    earlier = (str(call.arguments.get("tool_name") or "") if call.name == InvokeTool.name else call.name for call in calls)
    kept = state.tool_state.get(NAME, {})
    newest = sorted(kept, key=lambda name: kept[name])
    return (*(name for name in dict.fromkeys(earlier) if name and name not in kept), *newest)


def _tokens(registry: ToolRegistry, names: Sequence[str], mode: ToolMode) -> int:
    if mode is ToolMode.INVOKE:
        return estimate(registry.format_tool_list_for_context(names))
    return definition_tokens(registry.get_definitions_by_names(names))
