"""Interface of the planning tools to the engine: requests for sub-agents, and their state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from atelier_desk.domain.agent import AgentConfig, Budget
from atelier_desk.domain.sub_agent import ChildPlan, ChildState


@dataclass(frozen=True, slots=True)
class ChildRequest:
    """A requested sub-agent, before the engine applies its parent's rights.

    Attributes:
        agent_id: a stored permanent agent, by id or name; empty derives one from the parent's configuration and the
            fields below, where None means the parent's.
        tools: names; ``sections`` adds every tool of those sections, and the two planners if the parent has them. Both
            None: the parent's own, without planning tools if the child may not start agents.
        call: a tool and its arguments: the sub-agent only makes this call and reports its result, without a model.
        stage: sub-agents of a stage run concurrently, stages one after the other.
        max_tokens: maximum tokens of one reply, limited to the parent's.
    """

    name: str
    prompt: str
    agent_id: str = ""
    system_prompt: str | None = None
    tools: tuple[str, ...] | None = None
    sections: tuple[str, ...] | None = None
    mcp_servers: tuple[str, ...] | None = None
    provider: str | None = None
    model: str | None = None
    budget: Budget | None = None
    max_tokens: int | None = None
    call: tuple[str, dict[str, object]] | None = None
    stage: int = 0
    title: str = ""


@dataclass(frozen=True, slots=True)
class Colleague:
    """A permanent agent to which work can be delegated."""

    id: str
    config: AgentConfig


class Team(Protocol):
    """Operations of the planning tools, implemented by the engine for one run."""

    depth: int
    max_depth: int

    async def plan(self, call_id: str, requests: Sequence[ChildRequest]) -> tuple[ChildPlan, ...]:
        """Return sub-agents with the rights that their parent may grant.

        Raises:
            ToolError: with the code ``depth``, ``too_many_children``, ``unknown_agent``, ``self``, ``not_permanent``,
                ``unknown_tool``, ``unknown_section``, ``unknown_mcp_server``, ``unknown_model``, ``budget`` or
                ``circuit_open``; the text says what is valid.
        """
        ...

    async def children(self) -> list[ChildState]:
        """Return this run's sub-agents with their present state, oldest first."""
        ...

    async def colleagues(self) -> list[Colleague]:
        """Return permanent agents, except the asking one."""
        ...

    async def terminate(self, child_id: str) -> ChildState:
        """Stop a sub-agent and everything below it; return it with its partial report.

        Raises:
            ToolError: ``unknown_child``, or ``not_running`` if it has ended.
        """
        ...

    def free_slots(self) -> int:
        """Return how many more sub-agents may now be alive under the root run."""
        ...
