"""The planning tools: sub-agents spawned, delegated to, run side by side, and plans with tool sections."""

from __future__ import annotations

from app.tools.base import Tool


def planning_tools() -> list[Tool]:
    """One of each planning tool."""
    from app.tools.teams.delegate import DelegateTaskTool
    from app.tools.teams.list_sections import ListToolSections
    from app.tools.teams.parallel import ParallelTasksTool
    from app.tools.teams.plan import PlanActions
    from app.tools.teams.spawn import SpawnAgentTool

    return [SpawnAgentTool(), DelegateTaskTool(), ParallelTasksTool(), ListToolSections(), PlanActions()]
