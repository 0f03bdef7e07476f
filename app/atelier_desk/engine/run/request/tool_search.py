"""When tools are searched for instead of being listed, which those are, and which of them were found.

It is decided for each request and kept with its reply: what the journal says holds, also when a run is folded again years later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from atelier_desk.domain.agent import SearchScope, ToolMode
from atelier_desk.engine.run.reducer.state import EntryKind, RunState
from atelier_desk.llm.tokens import definition_tokens, estimate
from atelier_desk.tools.base import ToolResult
from atelier_desk.tools.control.invoke import InvokeTool
from atelier_desk.tools.control.search_tools import NAME
from atelier_desk.tools.modes import Search, Toolset, searched_names, server_tools
from atelier_desk.tools.registry import ToolRegistry

SHARE = 0.05
"""Of the model's window; servers' tools that take more are searched for."""
DEFINITIONS_SHARE = 0.5
"""Of the window, for the definitions of all tools besides the control tools, those that were found counted. Where listing takes more, tools
that are not basic are searched for, and where the basic ones still take more, they too. A reply takes up to a quarter of the window and
5 % is kept free: with a half for the tools a fifth of it, some 1,600 tokens of 8,192, is left for the instructions and newest messages."""
FOUND_SHARE = 0.15
"""Of the window, for the definitions of those that were found; the oldest are left out, and can be found again."""


class ToolSearchState(NamedTuple):
    """How the next request has the tools that are searched for.

    Attributes:
        search: which they are, and which were found.
        tools, tokens: how many there are, and what listing them all would take.
    """

    search: Search
    tools: int
    tokens: int


def current(state: RunState) -> Search | None:
    """How tools were searched for in the newest request, with all that may be called since they were found; None while all are listed.
    Those that were called before count as found: the model sees its calls of them."""
    return Search(state.searched, _found(state)) if state.searched is not None else None


def searched(tools: Toolset, state: RunState, window: int) -> ToolSearchState | None:
    """How the next request has them; None lists all. ``window`` is the model's in tokens.

    A run that began to search goes on, for as many at least: a list that shrinks a little must not change all that was sent before.
    """
    registry, mode, usable = tools
    if mode is ToolMode.SECTIONS:
        return None
    scope = _scope(registry, state.searched, usable, window, mode)
    names = searched_names(registry, usable, scope) if scope is not None else []
    if scope is None or not names:
        return None
    there, room, kept = set(names), FOUND_SHARE * window, list[str]()
    for name in reversed(_found(state)):
        if name not in there:
            continue
        room -= _tokens(registry, [name], mode)
        if kept and room < 0:
            break
        kept.append(name)
    return ToolSearchState(Search(scope, tuple(reversed(kept))), len(names), _tokens(registry, names, mode))


def not_found(tools: Toolset, state: RunState, name: str) -> ToolResult | None:
    """The error for a tool that the run may have and that was not found yet; None for any other."""
    search = current(state)
    if search is None or name in search.found or name not in searched_names(tools.registry, tools.usable, search.scope):
        return None
    return ToolResult.failure(
        f"{name} is not loaded. Call {NAME} with query {name!r}, or with words of what you need: what it finds can be called from your "
        "next reply on.",
        "not_loaded",
    )


def _scope(registry: ToolRegistry, before: SearchScope | None, usable: Sequence[str], window: int, mode: ToolMode) -> SearchScope | None:
    """The narrowest scope, none narrower than ``before``, that leaves no more to list than there is room for."""
    scope = before
    if scope is None and _tokens(registry, server_tools(registry, usable), mode) > SHARE * window:
        scope = SearchScope.SERVERS
    steps = list(SearchScope)
    for wider in (SearchScope.OUTSIDE_CORE, SearchScope.ALL):
        if scope is not None and steps.index(scope) >= steps.index(wider):
            continue
        searched = set(searched_names(registry, usable, scope)) if scope is not None else set()
        room = DEFINITIONS_SHARE - (FOUND_SHARE if searched else 0.0)
        if _tokens(registry, [name for name in usable if name not in searched], mode) > room * window:
            scope = wider
    return scope


def _found(state: RunState) -> tuple[str, ...]:
    done = {entry.call_id for entry in state.entries if entry.kind is EntryKind.RESULT and entry.success}
    calls = [call for entry in state.history for call in entry.calls]
    calls += [call for entry in state.entries for call in entry.calls if call.id in done]
    earlier = (str(call.arguments.get("tool_name") or "") if call.name == InvokeTool.name else call.name for call in calls)
    kept = state.tool_state.get(NAME, {})
    newest = sorted(kept, key=lambda name: kept[name])
    return (*(name for name in dict.fromkeys(earlier) if name and name not in kept), *newest)


def _tokens(registry: ToolRegistry, names: Sequence[str], mode: ToolMode) -> int:
    if not names:
        return 0
    if mode is ToolMode.INVOKE:
        return estimate(registry.format_tool_list_for_context(names))
    return definition_tokens(registry.get_definitions_by_names(names))
