"""plan_actions: actions become sub-agents and calls, in stages."""

from __future__ import annotations

from typing import Any

import pytest

from atelier_desk.domain import limits
from atelier_desk.domain.sub_agent import TeamCall
from atelier_desk.tools.base import Effect, Risk, StartChildren
from atelier_desk.tools.registry.registry import ToolRegistry
from atelier_desk.tools.teams.plan_actions import SYSTEM_PROMPT, PlanActions
from tests.tools.conftest import Calls, MakeCalls
from tests.tools.teams.conftest import FakeTeam

LIST = {"description": "List the tasks", "tool": "TodoTool", "arguments": {"operation": "list"}}
CREATE = {"description": "Make a task", "tool": "TodoTool", "arguments": {"operation": "create", "name": "x"}}
THINK = {"description": "Think about it", "complexity": "complex"}


def plan(*actions: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"goal": "Know what is late", "actions": list(actions), **more}


async def test_a_tool_with_arguments_is_one_call_and_anything_else_a_sub_agent(
    team_calls: Calls, team: FakeTeam
) -> None:
    outcome = await team_calls.outcome("plan_actions", **plan(LIST, THINK, sections=["core_ops"]))
    assert isinstance(outcome, StartChildren)
    assert (outcome.kind, outcome.background, outcome.stop_on_error) == (TeamCall.PLAN, False, False)
    call, thinker = team.requests
    assert (call.call, call.tools, call.title) == (("TodoTool", {"operation": "list"}), ("TodoTool",), "List the tasks")
    assert thinker.call is None
    assert (thinker.sections, thinker.max_tokens, thinker.system_prompt) == (
        ("core_ops", "context_ops"),
        8_096,
        SYSTEM_PROMPT,
    )
    assert "GOAL: Know what is late" in thinker.prompt
    assert "YOUR ACTION (2 of 2): Think about it" in thinker.prompt
    assert "[ ] 1. List the tasks\n[>] 2. Think about it" in thinker.prompt
    assert [request.stage for request in team.requests] == [0, 0]


async def test_without_sections_the_sub_agents_get_their_parents_tools(team_calls: Calls, team: FakeTeam) -> None:
    await team_calls.outcome("plan_actions", **plan(THINK))
    had = "core_ops planning_ops file_ops shell_ops web_ops media_ops context_ops project_ops rag_ops"
    assert team.requests[0].sections == tuple(had.split())
    assert "ALL ACTIONS" not in team.requests[0].prompt


@pytest.mark.parametrize(("complexity", "tokens"), [("simple", 5_096), ("moderate", 6_096), ("complex", 8_096)])
async def test_the_reply_limit_grows_with_the_complexity(
    team_calls: Calls, team: FakeTeam, complexity: str, tokens: int
) -> None:
    await team_calls.outcome("plan_actions", **plan({"description": "Do it", "complexity": complexity}))
    assert team.requests[0].max_tokens == tokens


async def test_sequential_stops_at_the_first_failure(team_calls: Calls, team: FakeTeam) -> None:
    outcome = await team_calls.outcome("plan_actions", **plan(THINK, THINK, LIST, strategy="sequential"))
    assert isinstance(outcome, StartChildren)
    assert outcome.stop_on_error
    assert [child.stage for child in outcome.children] == [0, 1, 2]


async def test_writing_calls_run_between_the_stages_and_reading_calls_in_them(team_calls: Calls) -> None:
    outcome = await team_calls.outcome("plan_actions", **plan(LIST, LIST, CREATE, LIST))
    assert isinstance(outcome, StartChildren)
    assert [child.stage for child in outcome.children] == [0, 0, 1, 2]


async def test_dependencies_order_the_batch(team_calls: Calls) -> None:
    outcome = await team_calls.outcome("plan_actions", **plan(THINK, {**THINK, "depends_on": [0]}, THINK))
    assert isinstance(outcome, StartChildren)
    assert [child.stage for child in outcome.children] == [0, 1, 0]


async def test_a_stage_is_as_wide_as_there_are_free_slots(team_calls: Calls, team: FakeTeam) -> None:
    team.free = 2
    outcome = await team_calls.outcome("plan_actions", **plan(*[THINK] * 5, strategy="all_at_once"))
    assert isinstance(outcome, StartChildren)
    assert [child.stage for child in outcome.children] == [0, 0, 1, 1, 2]
    team.free = 15
    outcome = await team_calls.outcome("plan_actions", **plan(*[THINK] * 30, strategy="all_at_once"))
    assert isinstance(outcome, StartChildren)
    assert [child.stage for child in outcome.children] == [0] * 15 + [1] * 15


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (plan(), "actions has 0 items; at least 1 needed"),
        (plan(*[THINK] * 31), f"actions has 31 items; the limit is {limits.PLAN_ACTIONS}"),
        (plan(THINK, goal=" "), "goal: must not be blank"),
        (plan({"description": "\t"}), "actions[0].description: must not be blank"),
        (plan({**THINK, "complexity": "hard"}), "'simple', 'moderate' or 'complex'"),
        (plan(THINK, strategy="somehow"), "'sequential', 'batch_when_possible' or 'all_at_once'"),
        (plan({"description": "x", "arguments": {}}), "arguments need the name of a tool"),
        (
            plan(THINK, {**THINK, "depends_on": [1]}),
            "actions[1].depends_on names [1]; allowed are earlier actions: 0 to 0",
        ),
        (plan({**THINK, "depends_on": [-1]}), "none, it is the first"),
        (plan(THINK, {**THINK, "depends_on": [0]}, strategy="all_at_once"), "cannot hold with all_at_once"),
        (
            plan({"description": "x", "tool": "TodoTool", "arguments": {"operation": "fly"}}),
            "actions[0]: Invalid arguments for TodoTool",
        ),
        (plan({"description": "x", "tool": "TodoTool"}), "operation is required"),
        (
            plan({"description": "x", "tool": "plan_actions", "arguments": {}}),
            "plan_actions cannot be an action of a plan",
        ),
        (
            plan({"description": "x", "tool": "task_complete", "arguments": {}}),
            "task_complete cannot be an action of a plan",
        ),
    ],
)
async def test_bad_plans_are_refused_before_anything_starts(
    team_calls: Calls, team: FakeTeam, arguments: dict[str, Any], told: str
) -> None:
    data = await team_calls("plan_actions", **arguments)
    assert data["code"] == "invalid_arguments"
    assert told in data["error"]
    assert team.requests == []


async def test_unknown_tools_and_sections_list_the_available_ones(calls_with: MakeCalls, team: FakeTeam) -> None:
    calls = calls_with(team=team, enabled_tools=("TodoTool", "plan_actions"))
    near = await calls("plan_actions", **plan({"description": "x", "tool": "TodoToll"}))
    assert near["code"] == "unknown_tool"
    assert "actions[0]: there is no tool TodoToll for you. Closest: TodoTool." in near["error"]
    hidden = await calls("plan_actions", **plan({"description": "x", "tool": "CalculatorTool", "arguments": {}}))
    assert hidden["code"] == "unknown_tool"
    assert "TodoTool" in hidden["error"]
    section = await calls("plan_actions", **plan(THINK, sections=["magic_ops"]))
    assert section["code"] == "unknown_section"
    assert section["error"] == "Unknown section magic_ops. Sections of your tools: core_ops."
    empty = await calls("plan_actions", **plan(THINK, sections=["web_ops", "core_ops"]))
    assert "Unknown section web_ops" in empty["error"]
    assert team.requests == []


async def test_the_context_section_can_always_be_named(team_calls: Calls, team: FakeTeam) -> None:
    await team_calls.outcome("plan_actions", **plan(THINK, sections=["context_ops"]))
    assert team.requests[0].sections == ("context_ops",)


async def test_without_a_team_or_at_the_maximum_depth_the_agent_is_told_to_do_the_work_itself(
    calls: Calls, calls_with: MakeCalls
) -> None:
    assert (await calls("plan_actions", **plan(THINK)))["code"] == "no_team"
    data = await calls_with(team=FakeTeam(depth=3))("plan_actions", **plan(THINK))
    assert data["code"] == "depth"
    assert "Do the work yourself" in data["error"]


def test_the_longest_plan_fits_a_prompt(team: FakeTeam) -> None:
    from atelier_desk.tools.teams.plan_actions import PlanActionsInput, request_for

    action = {"description": "d" * limits.PLAN_DESCRIPTION}
    longest = PlanActionsInput.model_validate(
        {"goal": "g" * limits.PLAN_GOAL, "actions": [action] * limits.PLAN_ACTIONS}
    )
    request = request_for(longest, 29, 0, ())
    assert len(request.prompt) < limits.MESSAGE // 2
    assert len(request.title) <= limits.CHILD_TITLE
    assert len(request.name) <= limits.AGENT_NAME


def test_risk_by_size_and_the_card(registry: ToolRegistry) -> None:
    tool = PlanActions()
    five, six = (
        registry.prepare(tool, plan(*[THINK] * 5)).described,
        registry.prepare(tool, plan(*[THINK] * 6)).described,
    )
    assert (five.effect, five.risk, six.risk) == (Effect.SPAWN, Risk.MEDIUM, Risk.HIGH)
    assert registry.prepare(tool, plan(LIST, {"description": "d" * 200}, strategy="sequential")).described.details == {
        "goal": "Know what is late",
        "strategy": "sequential",
        "action_count": 2,
        "actions": [{"description": "List the tasks", "tool": "TodoTool"}, {"description": "d" * 99 + "…", "tool": ""}],
    }
