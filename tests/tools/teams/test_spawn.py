"""SpawnAgentTool: its requests to the team, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from atelier_desk.domain import limits
from atelier_desk.domain.agent import Budget
from atelier_desk.domain.approval import ApprovalKind
from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.sub_agent import ChildStatus, TeamCall
from atelier_desk.tools.base import Effect, JoinChildren, Risk, StartChildren
from atelier_desk.tools.registry.registry import ToolRegistry
from atelier_desk.tools.teams.spawn import SpawnAgentTool
from tests.tools.conftest import Calls, MakeCalls
from tests.tools.teams.conftest import FakeTeam, child

SPAWN = {"operation": "spawn", "name": "Reader", "prompt": "Read it.\nThen report."}


async def test_a_sub_agent_is_spawned_with_its_prompt_and_the_parents_settings(
    team_calls: Calls, team: FakeTeam
) -> None:
    outcome = await team_calls.outcome("SpawnAgentTool", "call-7", **SPAWN)
    assert isinstance(outcome, StartChildren)
    assert (outcome.kind, outcome.background, outcome.stop_on_error) == (TeamCall.SPAWN, False, False)
    assert [plan.id for plan in outcome.children] == ["call-7-0"]
    (request,) = team.requests
    assert (request.name, request.prompt, request.title) == ("Reader", "Read it.\nThen report.", "Read it.")
    assert request.agent_id == ""
    settings = (
        request.system_prompt,
        request.tools,
        request.sections,
        request.mcp_servers,
        request.provider,
        request.model,
        request.budget,
    )
    assert settings == (None,) * 7


async def test_all_chosen_options_are_passed_on(team_calls: Calls, team: FakeTeam) -> None:
    outcome = await team_calls.outcome(
        "SpawnAgentTool",
        **SPAWN,
        system_prompt="You read.",
        tools=["ReportTool"],
        mcp_servers=[],
        provider="openai",
        model="gpt",
        budget={"max_cost": 0.5, "max_tool_calls": 3},
        wait=False,
    )
    assert isinstance(outcome, StartChildren)
    assert outcome.background
    (request,) = team.requests
    assert (request.system_prompt, request.tools, request.mcp_servers) == ("You read.", ("ReportTool",), ())
    assert (request.provider, request.model, request.budget) == (
        "openai",
        "gpt",
        Budget(max_cost=0.5, max_tool_calls=3),
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"prompt": "  \n"}, "prompt: must not be blank"),
        ({"prompt": ""}, "prompt has 0 characters"),
        ({"prompt": "x" * (limits.MESSAGE + 1)}, f"the limit is {limits.MESSAGE}"),
        ({"name": " "}, "name: must not be blank"),
        ({"name": "x" * 65}, "name has 65 characters; the limit is 64"),
        ({"system_prompt": " "}, "system_prompt: must not be blank"),
        ({"budget": {"max_cost": -1}}, "budget.max_cost is -1"),
        ({"budget": {"money": 1}}, "budget.money is not a parameter"),
        ({"wait": "perhaps"}, "wait must be true or false"),
        ({"child_id": "c1"}, "child_id is not a parameter here"),
        ({"operation": "clone"}, "allowed: spawn, join, list_children, terminate"),
    ],
)
async def test_bad_input_names_the_field_and_what_is_allowed(
    team_calls: Calls, team: FakeTeam, change: dict[str, Any], told: str
) -> None:
    data = await team_calls("SpawnAgentTool", **{**SPAWN, **change})
    assert data["code"] == "invalid_arguments"
    assert told in data["error"]
    assert team.requests == []


async def test_a_refusal_of_the_team_reaches_the_model(team_calls: Calls, team: FakeTeam) -> None:
    team.refusal = ToolError("Unknown tool {name}. Tools: ReportTool.", code="unknown_tool", name="Magic")
    data = await team_calls("SpawnAgentTool", **SPAWN)
    assert data == {"success": False, "error": "Unknown tool Magic. Tools: ReportTool.", "code": "unknown_tool"}


async def test_without_a_team_or_at_the_maximum_depth_the_agent_is_told_to_do_the_work_itself(
    calls: Calls, calls_with: MakeCalls
) -> None:
    alone = await calls("SpawnAgentTool", **SPAWN)
    assert alone["code"] == "no_team"
    assert "Do the work yourself" in alone["error"]
    deep = await calls_with(team=FakeTeam(depth=3))("SpawnAgentTool", **SPAWN)
    assert deep["code"] == "depth"
    assert "depth 3" in deep["error"]
    assert "Do the work yourself" in deep["error"]


async def test_by_default_all_unreported_sub_agents_are_joined(team_calls: Calls, team: FakeTeam) -> None:
    team.known = [child("c1", told=True), child("c2"), child("c3", status=ChildStatus.RUNNING, report="")]
    assert await team_calls.outcome("SpawnAgentTool", operation="join") == JoinChildren(("c2", "c3"))
    assert await team_calls.outcome("SpawnAgentTool", operation="join", child_ids=["c1", "c1"]) == JoinChildren(("c1",))


async def test_joining_none_or_an_unknown_one(team_calls: Calls, team: FakeTeam) -> None:
    assert (await team_calls("SpawnAgentTool", operation="join"))["results"] == []
    team.known = [child("c1")]
    data = await team_calls("SpawnAgentTool", operation="join", child_ids=["c1", "c8"])
    assert data["code"] == "unknown_child"
    assert data["error"] == "c8: no such sub-agent of yours. Your sub-agents: c1 (Agent c1)."


async def test_the_sub_agents_and_free_slots_are_listed(team_calls: Calls, team: FakeTeam) -> None:
    team.free = 13
    team.known = [child("c1", title="x" * 120, told=True), child("c2", status=ChildStatus.ASKING, question="Which?")]
    data = await team_calls("SpawnAgentTool", operation="list_children")
    assert (data["count"], data["max_allowed"], data["remaining_slots"]) == (2, limits.CHILDREN, 13)
    first, second = data["children"]
    assert (first["id"], first["name"], first["status"], first["report_read"]) == ("c1", "Agent c1", "completed", True)
    assert len(first["task_description"]) == 100
    assert (second["status"], second["question"]) == ("asking", "Which?")


async def test_terminate_returns_the_partial_work_and_may_be_repeated(team_calls: Calls, team: FakeTeam) -> None:
    team.known = [child("c1", status=ChildStatus.RUNNING, report="Half of it."), child("c2")]
    first = await team_calls("SpawnAgentTool", operation="terminate", child_id="c1")
    assert (first["success"], first["status"], first["report"]) == (True, "cancelled", "Half of it.")
    assert await team_calls("SpawnAgentTool", operation="terminate", child_id="c1") == first
    assert (await team_calls("SpawnAgentTool", operation="terminate", child_id="c2"))["code"] == "not_running"
    assert (await team_calls("SpawnAgentTool", operation="terminate", child_id="c9"))["code"] == "unknown_child"


def test_only_spawning_needs_approval(registry: ToolRegistry) -> None:
    tool = registry.get_tool("SpawnAgentTool")
    assert isinstance(tool, SpawnAgentTool)
    arguments: dict[str, dict[str, Any]] = {
        "spawn": SPAWN,
        "join": {},
        "list_children": {},
        "terminate": {"child_id": "c"},
    }
    assert set(arguments) == set(tool.about.operations)
    found = {name: registry.prepare(tool, {**given, "operation": name}).described for name, given in arguments.items()}
    assert {name: (call.effect, call.risk, call.plans) for name, call in found.items()} == {
        "spawn": (Effect.SPAWN, Risk.MEDIUM, True),
        "join": (Effect.READ, Risk.LOW, False),
        "list_children": (Effect.READ, Risk.LOW, False),
        "terminate": (Effect.WRITE, Risk.LOW, False),
    }
    assert all(call.idempotent and call.kind is ApprovalKind.SUB_AGENT for call in found.values())


def test_the_card_shows_each_agent_and_its_task(registry: ToolRegistry) -> None:
    tool = SpawnAgentTool()
    details = registry.prepare(tool, {**SPAWN, "prompt": "y" * 300, "tools": ["ReportTool"]}).described.details
    assert details == {
        "sub_agent_name": "Reader",
        "prompt_preview": "y" * 199 + "…",
        "prompt_length": 300,
        "tools": ["ReportTool"],
        "mcp_servers": [],
    }
    assert registry.prepare(tool, {"operation": "join"}).described.details == {}
