"""search_tools: find tools when there are too many to send all definitions."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from pydantic import Field

from atelier_desk.support.i18n import N_, in_every_language
from atelier_desk.support.visible_and_shortened_text import shorten
from atelier_desk.tools.base import Input, Tool, ToolContext, ToolResult
from atelier_desk.tools.control.control_tool_base import ControlTool, OfferedTool
from atelier_desk.tools.definition.tool_description import NOT_WHEN
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.tools.registry.sections import SERVERS
from atelier_desk.tools.registry.tool_modes import searched_names

NAME = "search_tools"
MOST_FOUND = 8
"""Maximum results of a search."""
MOST_NAMED = 100
"""Maximum names listed when nothing matches."""
_NAME_WEIGHT = 3
"""Weight of words in a tool's name relative to its description."""
_K1, _B = 1.2, 0.5
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_]+")
_WEAK = 0.3
"""Fraction of the best score below which results are dropped: they share only a common word with the query."""
_MAX_DESCRIPTION = 300
_PARAMETERS = 20
"""Characters of the description and number of parameter names shown for each result."""


class SearchToolsInput(Input):
    query: str = Field(min_length=1, max_length=300)


@builtin(order=9)
class SearchTools(ControlTool):
    """Return the tools that match a query best, by words of names, descriptions and parameters.

    Depends only on the registry, so equal calls give equal results; the results are stored in the run, and their
    definitions accompany the next request.
    """

    name = NAME
    title = N_("Search tools")
    purpose = N_("Finds tools when there are too many to list")
    icon = "search"
    summaries = {"": N_("Look for tools: {query}")}
    done = {"": N_("Looked for tools: {query}")}
    awaits_external_response = False
    state_of = NAME
    input = SearchToolsInput
    what = (
        "Find tools of yours that are not listed, by words of what they do or by name. What is found can be called "
        "from your next reply on."
    )

    def offered(self, offer: OfferedTool) -> bool:
        return offer.searching

    async def run(self, input: SearchToolsInput, context: ToolContext) -> ToolResult:
        registry = self.services.registry
        enabled = context.enabled_tools
        known = registry.get_all_tool_names() if registry is not None and enabled is None else enabled or ()
        names = searched_names(registry, known, context.search_scope) if registry is not None else []
        tools = [tool for name in names if registry is not None and (tool := registry.get_tool(name))]
        found = best(tools, input.query)
        if not found:
            more = {"more": len(names) - MOST_NAMED} if len(names) > MOST_NAMED else {}
            return ToolResult.ok(
                found=[],
                names=names[:MOST_NAMED],
                hint="Nothing fits. Search with other words, or for one of these names.",
                **more,
            )
        told = [_tool_summary(tool) for tool in found[:MOST_FOUND]]
        more = {"more": len(found) - MOST_FOUND} if len(found) > MOST_FOUND else {}
        # The best one counts as the newest: if there is no room for all, it stays.
        newest = max(context.state.values(), default=0)
        state = {tool.name: newest + number for number, tool in enumerate(reversed(found[:MOST_FOUND]), 1)}
        return ToolResult({"success": True, "found": told, **more}, state=state)


def best(tools: Sequence[Tool], query: str) -> list[Tool]:
    """Return tools that share words with the query, best first; ties in their own order.

    The exact name of a tool or section gives only that; weak matches are dropped.
    """
    wanted = query.strip()
    named = [tool for tool in tools if wanted in (tool.name, getattr(tool, "own_name", ""))] or [
        tool for tool in tools if wanted in (tool.section, tool.section.removeprefix(SERVERS))
    ]
    if named:
        return named
    asked = set(words(query))
    counts = [_counts(tool) for tool in tools]
    average = sum(each.total() for each in counts) / len(counts) if counts else 0.0
    holding = {word: sum(1 for each in counts if _times(each, word)) for word in asked}
    scores = []
    for place, each in enumerate(counts):
        score = 0.0
        for word in asked:
            times = _times(each, word)
            if times:
                rare = math.log(1 + (len(counts) - holding[word] + 0.5) / (holding[word] + 0.5))
                score += rare * times * (_K1 + 1) / (times + _K1 * (1 - _B + _B * each.total() / average))
        if score:
            scores.append((-score, place))
    least = _WEAK * min(scores, default=(0.0, 0))[0]
    return [tools[place] for score, place in sorted(scores) if score <= least]


def words(text: str) -> list[str]:
    """Return the words of a text, splitting ``getPage`` and ``get_page``, without plural endings."""
    found = (each.casefold() for each in _WORD.findall(text))
    return [each[:-1] if len(each) > 3 and each.endswith("s") else each for each in found]


def _counts(tool: Tool) -> Counter[str]:
    definition = tool.definition()
    properties = definition.parameters.get("properties")
    # "Do not use it when" lines describe what other tools do.
    told = [line for line in definition.description.splitlines() if not line.startswith(NOT_WHEN)]
    names = properties if isinstance(properties, dict) else ()
    counted = Counter(words(" ".join((in_every_language(tool.title), in_every_language(tool.purpose), *told, *names))))
    for word in words(getattr(tool, "own_name", tool.name)):
        counted[word] += _NAME_WEIGHT
    return counted


def _times(counted: Counter[str], word: str) -> float:
    """Count a word; words with only a common beginning ("create", "created") count half."""
    if word in counted:
        return float(counted[word])
    if len(word) < 4:
        return 0.0
    return 0.5 * sum(
        times
        for other, times in counted.items()
        if len(other) > 3 and (other.startswith(word) or word.startswith(other))
    )


def _tool_summary(tool: Tool) -> dict[str, object]:
    parameters = tool.definition().parameters
    required = parameters.get("required") or ()
    names = [name if name in required else f"{name}?" for name in parameters.get("properties") or {}]
    where = (
        ("server", tool.section.removeprefix(SERVERS))
        if tool.section.startswith(SERVERS)
        else ("section", tool.section)
    )
    # The first line of our own descriptions says what they do; the definition also says when to use them.
    text = tool.description if where[0] == "server" else tool.description.partition("\n")[0]
    return {
        "name": tool.name,
        where[0]: where[1],
        "description": shorten(" ".join(text.split()), _MAX_DESCRIPTION),
        "takes": ", ".join([*names[:_PARAMETERS], "…"] if len(names) > _PARAMETERS else names),
    }
