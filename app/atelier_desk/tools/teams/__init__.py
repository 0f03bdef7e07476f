"""The planning tools: sub-agents spawned, delegated to, run side by side, and plans with tool sections."""

from __future__ import annotations

from atelier_desk.tools.base import Tool


def planning_tools() -> list[Tool]:
    """One of each planning tool."""
    from atelier_desk.tools.teams.delegate import DelegateTaskTool
    from atelier_desk.tools.teams.list_sections import ListToolSections
    from atelier_desk.tools.teams.parallel import ParallelTasksTool
    from atelier_desk.tools.teams.plan import PlanActions
    from atelier_desk.tools.teams.spawn import SpawnAgentTool

    return [SpawnAgentTool(), DelegateTaskTool(), ParallelTasksTool(), ListToolSections(), PlanActions()]
