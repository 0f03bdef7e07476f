"""A fake team that plans every request, so that the tools can be tested without an engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.sub_agent import ChildPlan, ChildState, ChildStatus
from atelier_desk.tools.base import ChildRequest, Colleague
from tests.tools.conftest import Calls, MakeCalls


def config(name: str = "Helper", **changes: Any) -> AgentConfig:
    return AgentConfig(name=name, provider="local", model="starter", **changes)


class FakeTeam:
    """Records the requests it planned.

    Attributes:
        known: the sub-agents that ``children`` returns.
        others: the agents that ``colleagues`` returns.
        free: the value of ``free_slots``.
        refusal: raised by ``plan`` when set.
    """

    def __init__(self, depth: int = 0, max_depth: int = 3) -> None:
        self.depth = depth
        self.max_depth = max_depth
        self.known: list[ChildState] = []
        self.others: list[Colleague] = []
        self.free = 15
        self.refusal: ToolError | None = None
        self.requests: list[ChildRequest] = []

    async def plan(self, call_id: str, requests: Sequence[ChildRequest]) -> tuple[ChildPlan, ...]:
        if self.refusal is not None:
            raise self.refusal
        self.requests += requests
        return tuple(
            ChildPlan(
                id=f"{call_id}-{number}",
                name=request.name,
                agent_id=request.agent_id,
                agent=config(request.name),
                prompt=request.prompt,
                stage=request.stage,
                title=request.title,
            )
            for number, request in enumerate(requests)
        )

    async def children(self) -> list[ChildState]:
        return list(self.known)

    async def colleagues(self) -> list[Colleague]:
        return list(self.others)

    async def terminate(self, child_id: str) -> ChildState:
        for index, child in enumerate(self.known):
            if child.id == child_id:
                if child.status.over:
                    raise ToolError("{name} is over already.", code="not_running", name=child.name)
                self.known[index] = child.model_copy(update={"status": ChildStatus.CANCELLED})
                return self.known[index]
        raise ToolError("No sub-agent {id}.", code="unknown_child", id=child_id)

    def free_slots(self) -> int:
        return self.free


MakeChild = Callable[..., ChildState]


def child(id: str = "c1", **changes: Any) -> ChildState:
    """A sub-agent that has ended, with a report."""
    given: dict[str, Any] = {
        "name": f"Agent {id}",
        "agent_id": f"id-{id}",
        "call_id": "call-1",
        "status": ChildStatus.COMPLETED,
        "report": f"Report of {id}",
    }
    return ChildState(id=id, **{**given, **changes})


@pytest.fixture
def team() -> FakeTeam:
    return FakeTeam()


@pytest.fixture
def team_calls(calls_with: MakeCalls, team: FakeTeam) -> Calls:
    return calls_with(team=team)
