"""Tools that a run may call, those its model sees, and their definitions as sent, with JSON and estimated tokens."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from atelier_desk.domain.model_messages import ToolSpec
from atelier_desk.domain.system_prompt_and_tools import PromptFrame
from atelier_desk.engine.gateways.direct_tool_call import PROVIDER as DIRECT_CALL
from atelier_desk.engine.run.lone_surrogates import sanitized
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.llm.model_assumptions import profile
from atelier_desk.llm.token_and_cost_estimates import definition_tokens
from atelier_desk.tools.base import Effect
from atelier_desk.tools.registry.registry import ToolRegistry
from atelier_desk.tools.registry.sections import FILES
from atelier_desk.tools.registry.tool_modes import Search, Toolset
from atelier_desk.tools.skills import activate
from atelier_desk.tools.skills.activate import ActivateSkillTool


def toolset(registry: ToolRegistry, state: RunState) -> Toolset:
    """Return the agent's tools, including those of its sections, limited by depth, tool mode and requirements.

    Every agent may use skills if there are any; files of a used one can be read even without a folder, given the tools
    for it.
    """
    agent, workspace = state.agent, bool(state.workspace)
    found = registry.configured(agent.tools, agent.sections, servers=agent.mcp_servers, workspace=workspace)
    names = [name for name in found if name != ActivateSkillTool.name]
    if not workspace and any(each.folder for each in state.skills_used):
        names += [
            name
            for name in registry.configured(agent.tools, agent.sections)
            if name not in names and _reads_files(registry, name)
        ]
    if (
        any(each.by_model for each in state.skills)
        and registry.has(ActivateSkillTool.name)
        and agent.provider != DIRECT_CALL
    ):
        names.append(ActivateSkillTool.name)
    return Toolset.of(registry, names, mode=agent.tool_mode, depth=state.depth, max_depth=state.max_depth)


def visible(tools: Toolset, state: RunState, search: Search | None) -> list[str]:
    """Return the tools that the model may call directly, given this search."""
    return tools.visible(
        search,
        has_parent=state.parent_run_id is not None,
        child_asks=any(child.question for child in state.children),
        attached=state.has_more_to_read,
    )


def _reads_files(registry: ToolRegistry, name: str) -> bool:
    tool = registry.get_tool(name)
    return tool is not None and tool.section == FILES and tool.effect is Effect.READ


def offered_tools(tools: Toolset, state: RunState, *, guided: bool, search: Search | None) -> tuple[ToolSpec, ...]:
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
