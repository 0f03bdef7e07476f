"""Tool definitions as a request sends them, with their JSON and estimated tokens."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from atelier_desk.domain.model_messages import ToolSpec
from atelier_desk.domain.system_prompt_and_tools import PromptFrame
from atelier_desk.engine.run.lone_surrogates import sanitized
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.engine.run.request.toolset import visible
from atelier_desk.llm.model_assumptions import profile
from atelier_desk.llm.token_and_cost_estimates import definition_tokens
from atelier_desk.tools.registry.tool_modes import Search, Toolset
from atelier_desk.tools.skills import activate
from atelier_desk.tools.skills.activate import ActivateSkillTool


def offered_tools(
    tools: Toolset, state: RunState, *, guided: bool = False, search: Search | None = None
) -> tuple[ToolSpec, ...]:
    """Return the definitions sent to the model in this agent's ``tool_mode``.

    A ``guided`` one, too small to call tools itself, gets only those of its own tools. ``search``: how tools are
    searched for, None if all are listed.
    """
    registry = tools.registry
    names = [name for name in visible(tools, state, search) if not guided or not registry.is_control_tool(name)]
    if guided:
        names = [name for name in names if name != ActivateSkillTool.name]
    return with_skill_names(registry.get_definitions_by_names(names, profile("", state.agent.model).edit_forms), state)


def with_skill_names(tools: Sequence[ToolSpec], state: RunState) -> tuple[ToolSpec, ...]:
    """Return the definitions with the run's skill names in that of the skill tool."""
    names = tuple(each.name for each in state.skills if each.by_model)
    return tuple(activate.with_names(tool, names) if tool.name == ActivateSkillTool.name else tool for tool in tools)


class _Described(NamedTuple):
    """Definitions of tools with cached derived data: their JSON and estimated tokens."""

    tools: tuple[ToolSpec, ...]
    json: str
    tokens: int


_described: OrderedDict[tuple[int, ...], _Described] = OrderedDict()
"""By identities of the definitions, which the registry keeps; references here keep the identities valid."""
MOST_DESCRIBED = 64


def _describe(tools: tuple[ToolSpec, ...]) -> _Described:
    key = tuple(map(id, tools))
    known = _described.get(key)
    if known is None:
        text = json.dumps([tool.model_dump() for tool in tools], ensure_ascii=False)
        known = _described[key] = _Described(tools, text, definition_tokens(tools))
        if len(_described) > MOST_DESCRIBED:
            _described.popitem(last=False)
    return known


def make_frame(workflow_id: str, system: str, tools: tuple[ToolSpec, ...]) -> PromptFrame:
    """Return what a request sends besides the conversation, named by its hash."""
    content = f"[{json.dumps(workflow_id)}, {json.dumps(system, ensure_ascii=False)}, {_describe(tools).json}]"
    name = hashlib.blake2s(content.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return PromptFrame(id=name, workflow_id=workflow_id, system=sanitized(system), tools=tools)


def tools_tokens(tools: tuple[ToolSpec, ...]) -> int:
    """Return the estimated tokens of the definitions as sent."""
    return _describe(tools).tokens
