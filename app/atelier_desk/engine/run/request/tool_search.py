"""Decide when tools are searched for instead of listed, which ones, and which were found.

Decided for each request and stored with its reply: the journal's value applies when a run is folded again later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from atelier_desk.domain.agent import SearchScope, ToolMode
from atelier_desk.engine.run.reducer.conversation_entries import EntryKind
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.llm.token_and_cost_estimates import definition_tokens, estimate
from atelier_desk.tools.base import ToolResult
from atelier_desk.tools.control.invoke_tool import InvokeTool
from atelier_desk.tools.control.search_tools import NAME
from atelier_desk.tools.registry.registry import ToolRegistry
from atelier_desk.tools.registry.tool_modes import Search, Toolset, searched_names, server_tools

SHARE = 0.05
"""Fraction of the model's context; MCP tools whose definitions take more are searched for."""
DEFINITIONS_SHARE = 0.5
"""Fraction of the context for all definitions except control tools, including found ones.

If listing takes more, specialised tools are searched for, then all non-basic ones, then the basic ones too. A reply
takes up to a quarter of the context and 5 % is reserved: with half for tools, a fifth (about 1,600 tokens of 8,192)
remains for instructions and the newest messages.
"""
FOUND_SHARE = 0.15
"""Fraction of the context for definitions of found tools; the oldest are dropped, and can be found again."""
FOUND_SPECIALISED_SHARE = 0.1
"""The same where only specialised tools are searched for: most work needs none, and files and teams stay listed."""


class ToolSearchState(NamedTuple):
    """How the next request includes searched tools.

    Attributes:
        search: which tools, and which were found.
        tools, tokens: their number, and the tokens that listing all would take.
    """

    search: Search
    tools: int
    tokens: int


def current(state: RunState) -> Search | None:
    """Return how tools were searched for in the newest request, with everything callable since; None if all are listed.

    Tools called before count as found: the model sees its calls of them.
    """
    return Search(state.searched, _found(state)) if state.searched is not None else None


def searched(tools: Toolset, state: RunState, window: int) -> ToolSearchState | None:
    """Return how the next request searches for tools; None lists all. ``window``: the model's context in tokens.

    A run that began to search continues with at least the same scope: a slightly smaller list must not change
    everything sent before.
    """
    registry, mode, usable = tools
    if mode is ToolMode.SECTIONS:
        return None
    scope = _scope(registry, state.searched, usable, window, mode)
    names = searched_names(registry, usable, scope) if scope is not None else []
    if scope is None or not names:
        return None
    there, room, kept = set(names), _found_share(scope) * window, list[str]()
    for name in reversed(_found(state)):
        if name not in there:
            continue
        room -= _tokens(registry, [name], mode)
        if kept and room < 0:
            break
        kept.append(name)
    return ToolSearchState(Search(scope, tuple(reversed(kept))), len(names), _tokens(registry, names, mode))


def not_found(tools: Toolset, state: RunState, name: str) -> ToolResult | None:
    """Return the error for an available tool that was not found yet; None for any other."""
    search = current(state)
    if search is None or name in search.found or name not in searched_names(tools.registry, tools.usable, search.scope):
        return None
    return ToolResult.failure(
        f"{name} is not loaded. Call {NAME} with query {name!r}, or with words of what you need: what it finds can "
        f"be called from your "
        "next reply on.",
        "not_loaded",
    )


def _scope(
    registry: ToolRegistry, before: SearchScope | None, usable: Sequence[str], window: int, mode: ToolMode
) -> SearchScope | None:
    """Return the narrowest scope, at least ``before``, for which the listed tools fit."""
    scope = before
    if scope is None and _tokens(registry, server_tools(registry, usable), mode) > SHARE * window:
        scope = SearchScope.SERVERS
    steps = list(SearchScope)
    for wider in steps[1:]:
        if scope is not None and steps.index(scope) >= steps.index(wider):
            continue
        searched = set(searched_names(registry, usable, scope)) if scope is not None else set()
        room = DEFINITIONS_SHARE - (_found_share(scope) if searched else 0.0)
        if _tokens(registry, [name for name in usable if name not in searched], mode) > room * window:
            scope = wider
    return scope


def _found_share(scope: SearchScope | None) -> float:
    return FOUND_SPECIALISED_SHARE if scope is SearchScope.SPECIALISED else FOUND_SHARE


def _found(state: RunState) -> tuple[str, ...]:
    done = {entry.call_id for entry in state.entries if entry.kind is EntryKind.RESULT and entry.success}
    calls = [call for entry in state.history for call in entry.calls]
    calls += [call for entry in state.entries for call in entry.calls if call.id in done]
    earlier = (
        str(call.arguments.get("tool_name") or "") if call.name == InvokeTool.name else call.name for call in calls
    )
    stored = state.tool_state.get(NAME, {})
    newest = sorted(stored, key=lambda name: stored[name])
    return (*(name for name in dict.fromkeys(earlier) if name and name not in stored), *newest)


def _tokens(registry: ToolRegistry, names: Sequence[str], mode: ToolMode) -> int:
    if not names:
        return 0
    if mode is ToolMode.INVOKE:
        return estimate(registry.format_tool_list_for_context(names))
    return definition_tokens(registry.get_definitions_by_names(names))
