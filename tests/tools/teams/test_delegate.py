"""DelegateTaskTool: tasks for stored agents."""

from __future__ import annotations

from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.sub_agent import TeamCall
from atelier_desk.tools.base import Colleague, Effect, Risk, StartChildren
from atelier_desk.tools.registry.registry import ToolRegistry
from atelier_desk.tools.teams.delegate import DelegateTaskTool
from tests.tools.conftest import Calls, MakeCalls
from tests.tools.teams.conftest import FakeTeam, config


async def test_delegates_to_an_agent_by_id_or_name(team_calls: Calls, team: FakeTeam) -> None:
    outcome = await team_calls.outcome(
        "DelegateTaskTool", operation="delegate", agent_id=" Translator ", prompt="Translate it."
    )
    assert isinstance(outcome, StartChildren)
    assert (outcome.kind, outcome.background) == (TeamCall.DELEGATE, False)
    (request,) = team.requests
    assert (request.agent_id, request.prompt, request.title) == ("Translator", "Translate it.", "Translate it.")


async def test_lists_the_other_permanent_agents(team_calls: Calls, team: FakeTeam) -> None:
    team.others = [
        Colleague("a1", config("Translator", system_prompt="You\n translate. " + "x" * 300, tools=("ReportTool",)))
    ]
    data = await team_calls("DelegateTaskTool", operation="list_agents")
    (agent,) = data["agents"]
    assert data["count"] == 1
    assert (agent["id"], agent["name"], agent["model"], agent["tools"]) == (
        "a1",
        "Translator",
        "local/starter",
        ["ReportTool"],
    )
    assert agent["about"].startswith("You translate. xxx")
    assert len(agent["about"]) == 200


async def test_blank_prompts_and_refused_agents_are_reported(team_calls: Calls, team: FakeTeam) -> None:
    blank = await team_calls("DelegateTaskTool", operation="delegate", agent_id="a1", prompt=" ")
    assert "prompt: must not be blank" in blank["error"]
    nobody = await team_calls("DelegateTaskTool", operation="delegate", agent_id=" ", prompt="Go.")
    assert "agent_id: must not be blank" in nobody["error"]
    team.refusal = ToolError("You cannot delegate to yourself. Agents: Translator.", code="self")
    assert (await team_calls("DelegateTaskTool", operation="delegate", agent_id="me", prompt="Go."))["code"] == "self"


async def test_at_the_maximum_depth_only_listing_is_allowed(calls_with: MakeCalls) -> None:
    calls = calls_with(team=FakeTeam(depth=2, max_depth=2))
    assert (await calls("DelegateTaskTool", operation="delegate", agent_id="a1", prompt="Go."))["code"] == "depth"
    assert (await calls("DelegateTaskTool", operation="list_agents"))["success"]


def test_effect_risk_and_card(registry: ToolRegistry) -> None:
    tool = DelegateTaskTool()
    job = registry.prepare(tool, {"operation": "delegate", "agent_id": "a1", "prompt": "Go."}).described
    assert (job.effect, job.risk, job.subjects.agents) == (Effect.SPAWN, Risk.MEDIUM, ("a1",))
    assert job.details == {
        "target_agent_id": "a1",
        "target_agent_name": "a1",
        "prompt_preview": "Go.",
        "prompt_length": 3,
    }
    listing = registry.prepare(tool, {"operation": "list_agents"}).described
    assert (listing.effect, listing.risk, listing.details, listing.subjects.agents) == (Effect.READ, Risk.LOW, {}, ())
