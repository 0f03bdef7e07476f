"""ParallelTasksTool: a batch of tasks."""

from __future__ import annotations

from typing import Any

import pytest

from atelier_desk.domain.sub_agent import TeamCall
from atelier_desk.tools.base import Effect, JoinChildren, Risk, StartChildren
from atelier_desk.tools.registry.registry import ToolRegistry
from atelier_desk.tools.teams.parallel_tasks import ParallelTasksTool
from tests.tools.conftest import Calls, MakeCalls
from tests.tools.teams.conftest import FakeTeam, child


def tasks(count: int) -> list[dict[str, Any]]:
    return [{"agent_id": "Researcher", "prompt": f"Part {number}"} for number in range(count)]


async def test_a_batch_is_one_stage_in_the_order_of_its_tasks(team_calls: Calls, team: FakeTeam) -> None:
    outcome = await team_calls.outcome("ParallelTasksTool", operation="execute_batch", tasks=tasks(15))
    assert isinstance(outcome, StartChildren)
    assert (outcome.kind, outcome.background, outcome.stop_on_error) == (TeamCall.PARALLEL, False, False)
    assert [plan.prompt for plan in outcome.children] == [f"Part {number}" for number in range(15)]
    assert {plan.stage for plan in outcome.children} == {0}
    assert {request.agent_id for request in team.requests} == {"Researcher"}


async def test_in_the_background_and_joined_later(team_calls: Calls, team: FakeTeam) -> None:
    outcome = await team_calls.outcome("ParallelTasksTool", operation="execute_batch", tasks=tasks(2), wait_all=False)
    assert isinstance(outcome, StartChildren)
    assert outcome.background
    team.known = [child("c1"), child("c2", told=True)]
    assert await team_calls.outcome("ParallelTasksTool", operation="join") == JoinChildren(("c1",))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (tasks(16), "tasks has 16 items; the limit is 15"),
        ([], "tasks has 0 items; at least 1 needed"),
        ([{"agent_id": "a", "prompt": " "}], "tasks[0].prompt: must not be blank"),
        ([{"agent_id": "a"}], "tasks[0].prompt is required"),
        ([{"prompt": "x"}], "tasks[0].agent_id is required"),
        ("everything", "tasks must be an array"),
    ],
)
async def test_bad_batches_are_refused(team_calls: Calls, team: FakeTeam, given: Any, told: str) -> None:
    data = await team_calls("ParallelTasksTool", operation="execute_batch", tasks=given)
    assert data["code"] == "invalid_arguments"
    assert told in data["error"]
    assert team.requests == []


async def test_the_maximum_depth(calls_with: MakeCalls) -> None:
    data = await calls_with(team=FakeTeam(depth=3))("ParallelTasksTool", operation="execute_batch", tasks=tasks(1))
    assert data["code"] == "depth"


def test_effect_risk_and_card(registry: ToolRegistry) -> None:
    tool = ParallelTasksTool()
    jobs = [{"agent_id": "a", "prompt": "z" * 150}, {"agent_id": "b", "prompt": "y"}, {"agent_id": "a", "prompt": "x"}]
    batch = registry.prepare(tool, {"operation": "execute_batch", "tasks": jobs}).described
    assert (batch.effect, batch.risk, batch.subjects.agents) == (Effect.SPAWN, Risk.HIGH, ("a", "b"))
    assert batch.details["task_count"] == 3
    assert batch.details["tasks"][0] == {"agent_id": "a", "prompt_preview": "z" * 99 + "…"}
    joining = registry.prepare(tool, {"operation": "join"}).described
    assert (joining.effect, joining.risk, joining.details) == (Effect.READ, Risk.LOW, {})
