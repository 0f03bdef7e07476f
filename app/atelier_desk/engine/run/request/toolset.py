"""Tools that a run may call, and those its model sees, by the present state and registry."""

from __future__ import annotations

from atelier_desk.engine.gateways.direct_tool_call import PROVIDER as DIRECT_CALL
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.tools.base import Effect
from atelier_desk.tools.registry.registry import ToolRegistry
from atelier_desk.tools.registry.sections import FILES
from atelier_desk.tools.registry.tool_modes import Search, Toolset
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
