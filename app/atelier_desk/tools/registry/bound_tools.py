"""Tools bound to a run: registered tools with a fixed workflow and agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from atelier_desk.domain.base_model import new_id
from atelier_desk.domain.errors import NotFoundError
from atelier_desk.support.i18n import N_
from atelier_desk.tools.base import Outcome, Tool, ToolContext, ToolResult
from atelier_desk.tools.registry.registry import ToolRegistry


@dataclass(frozen=True, slots=True)
class BoundTool:
    """A tool with its context. ``state`` is the state left by its last call."""

    tool: Tool
    registry: ToolRegistry
    context: ToolContext
    state: dict[str, object] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.tool.name

    async def execute(self, arguments: Mapping[str, object], *, call_id: str | None = None) -> Outcome:
        """Run through the registry; ``call_id`` None creates a new one, so that each call is distinct."""
        context = replace(self.context, call_id=call_id or new_id(), state=dict(self.state))
        outcome = await self.registry.execute(self.tool.name, arguments, context)
        if isinstance(outcome, ToolResult) and outcome.state is not None:
            self.state.clear()
            self.state.update(outcome.state)
        return outcome


class ToolFactory:
    """Creates bound tools. ``context`` provides the shared facts of their calls; its ids are replaced."""

    def __init__(self, registry: ToolRegistry, context: ToolContext) -> None:
        self._registry = registry
        self._context = context

    def create(self, name: str, workflow_id: str, agent_id: str, *, run_id: str | None = None) -> BoundTool:
        """Return the tool ``name`` bound to one run of an agent in a workflow.

        Raises:
            NotFoundError: no such tool; the message names the closest ones.
        """
        tool = self._registry.get_tool(name)
        if tool is None:
            near = ", ".join(self._registry.closest(name) or self._registry.get_all_tool_names())
            raise NotFoundError(N_("There is no tool named {name}. Closest: {closest}."), name=name, closest=near)
        context = replace(self._context, workflow_id=workflow_id, agent_id=agent_id)
        if run_id is not None:
            context = replace(context, run_id=run_id)
        return BoundTool(tool, self._registry, context)
