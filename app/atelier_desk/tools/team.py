"""What the planning tools ask the engine for: sub-agents, and what is known of those a run has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from atelier_desk.domain.agent import AgentConfig, Budget
from atelier_desk.domain.team import ChildPlan, ChildState


@dataclass(frozen=True, slots=True)
class ChildRequest:
    """A sub-agent as a tool asks for it, before the engine has looked at its parent's rights.

    Attributes:
        agent_id: a stored permanent agent, by id or name; empty makes one up from the parent's configuration and the fields below, where
            None takes the parent's.
        tools: names; ``sections`` adds every tool of those sections, and the two planners where the parent has them. Both None: the
            parent's own, without the planning tools when the child may start no agents.
        call: a tool and its arguments: the sub-agent makes just this call and reports its result; no model is asked.
        stage: sub-agents of a stage run together, stages one after the other.
        max_tokens: most tokens of one reply, cut to the parent's.
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
    call: tuple[str, dict[str, Any]] | None = None
    stage: int = 0
    title: str = ""


@dataclass(frozen=True, slots=True)
class Colleague:
    """A permanent agent that work can be delegated to."""

    id: str
    config: AgentConfig


class Team(Protocol):
    """What the planning tools can do; the engine implements it for one run."""

    depth: int
    max_depth: int

    async def plan(self, call_id: str, requests: Sequence[ChildRequest]) -> tuple[ChildPlan, ...]:
        """Sub-agents with the rights their parent may give.

        Raises:
            ToolError: with the code ``depth``, ``too_many_children``, ``unknown_agent``, ``self``, ``not_permanent``, ``unknown_tool``,
                ``unknown_section``, ``unknown_mcp_server``, ``unknown_model``, ``budget`` or ``circuit_open``; the text says what is
                valid.
        """
        ...

    async def children(self) -> list[ChildState]:
        """The sub-agents this run started, the oldest first, with what is known of them now."""
        ...

    async def colleagues(self) -> list[Colleague]:
        """Permanent agents, without the one that asks."""
        ...

    async def terminate(self, child_id: str) -> ChildState:
        """Stop a sub-agent and everything below it; returns it with its partial report.

        Raises:
            ToolError: ``unknown_child``, or ``not_running`` when it is over.
        """
        ...

    def free_slots(self) -> int:
        """How many more sub-agents may be alive under the root run now."""
        ...
