"""The planning tools in a complete engine: the results that the leading model reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from atelier_desk.domain.agent import AgentConfig, ToolMode
from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import ChatRequest, Role, ToolCall
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from tests.engine.conftest import Opener
from tests.helpers.runs_without_driver import agent

TOOLS = ("CalculatorTool", "TodoTool", "SpawnAgentTool", "DelegateTaskTool", "ParallelTasksTool", "plan_actions")

PLANNERS = ["list_tool_sections", "plan_actions"]


def lead(**changes: Any) -> AgentConfig:
    return agent(**{"name": "Lead", "tools": TOOLS, "approval": "auto", **changes})


def call(tool: str, id: str = "c", **arguments: Any) -> list[ToolCall]:
    return [ToolCall(id=id, name=tool, arguments=arguments)]


def results(model: ScriptedModel) -> list[dict[str, Any]]:
    """Every tool result the model has read, in order."""
    return [json.loads(message.content) for message in model.requests[-1].messages if message.role is Role.TOOL]


class Team:
    """Models by agent name, so that each agent follows its own script."""

    def __init__(self, **scripts: Sequence[Step]) -> None:
        self.models = {name: ScriptedModel(steps) for name, steps in scripts.items()}

    def __call__(self, config: AgentConfig) -> ScriptedModel:
        return self.models[config.name.replace(" ", "_")]


async def led(
    open_atelier: Opener, team: Team, config: AgentConfig | None = None, *others: AgentConfig
) -> list[dict[str, Any]]:
    """The results of the leading agent's calls."""
    async with open_atelier(model_factory=team) as atelier:
        for other in others:
            await atelier.agents.save(other)
        async for _event in atelier.run("go", agent=config or lead()):
            pass
    for model in team.models.values():
        model.assert_complete()
    return results(team.models["Lead"])


async def test_a_spawned_agent_reports(open_atelier: Opener) -> None:
    team = Team(
        Lead=[call("SpawnAgentTool", operation="spawn", name="Poet", prompt="Rhyme."), "done"], Poet=["A rhyme."]
    )
    (result,) = await led(open_atelier, team)
    assert (result["success"], result["name"], result["report"]) == (True, "Poet", "A rhyme.")
    assert result["metrics"]["tokens_output"] == 8
    assert [message.content for message in team.models["Poet"].requests[0].messages if message.role is Role.USER] == [
        "Rhyme."
    ]


async def test_one_in_the_background_is_joined_later(open_atelier: Opener) -> None:
    start = call("SpawnAgentTool", operation="spawn", name="Poet", prompt="Rhyme.", wait=False)
    team = Team(Lead=[start, call("SpawnAgentTool", "j", operation="join"), "done"], Poet=["A rhyme."])
    started, joined = await led(open_atelier, team)
    assert (started["success"], started["status"]) == (True, "running")
    assert [(entry["child_id"], entry["report"]) for entry in joined["results"]] == [(started["child_id"], "A rhyme.")]


async def test_a_batch_gives_its_results_in_order(open_atelier: Opener) -> None:
    tasks = [{"agent_id": "Poet", "prompt": "One."}, {"agent_id": "Painter", "prompt": "Two."}]
    team = Team(
        Lead=[call("ParallelTasksTool", operation="execute_batch", tasks=tasks), "done"], Poet=["1"], Painter=["2"]
    )
    (result,) = await led(open_atelier, team, None, agent(name="Poet", tools=()), agent(name="Painter", tools=()))
    assert (result["success"], result["completed"], result["failed"]) == (True, 2, 0)
    assert [(entry["name"], entry["report"]) for entry in result["results"]] == [("Poet", "1"), ("Painter", "2")]
    assert "**Completed**: 2 / 2" in result["aggregated_report"]


async def test_a_plan_of_calls_and_agents(open_atelier: Opener) -> None:
    actions = [
        {"description": "Sum", "tool": "CalculatorTool", "arguments": {"operation": "eval", "expression": "6*7"}},
        {"description": "Say it", "complexity": "simple", "depends_on": [0]},
    ]
    team = Team(Lead=[call("plan_actions", goal="Know", actions=actions), "done"], Action_2=["It is 42."])
    (result,) = await led(open_atelier, team)
    assert result["success"]
    first, second = result["results"]
    assert (first["action"], first["result"]["result"]) == ("Sum", 42)
    assert (second["action"], second["result"]) == ("Say it", "It is 42.")
    assert result["summary"] == "Executed 2/2 actions successfully."
    (told,) = [message.content for message in team.models["Action_2"].requests[0].messages if message.role is Role.USER]
    assert "YOUR ACTION (2 of 2): Say it" in told
    assert 'RESULTS OF EARLIER ACTIONS:\n\n## Sum\n\n{"success": true, "result": 42' in told


async def test_an_unsuccessful_call_stops_a_sequential_plan_and_is_blamed_on_no_agent(
    open_atelier: Opener,
) -> None:
    divide = {
        "description": "Divide",
        "tool": "CalculatorTool",
        "arguments": {"operation": "eval", "expression": "1/0"},
    }
    plan = {"goal": "Know", "actions": [divide, {"description": "Never"}], "strategy": "sequential"}
    team = Team(Lead=[call("plan_actions", f"p{number}", **plan) for number in range(4)] + ["done"])
    for result in await led(open_atelier, team):
        first, second = result["results"]
        assert (first["success"], first["code"], first["result"]["code"]) == (False, "call_failed", "division_by_zero")
        assert second["code"] == "not_run"


async def test_a_sequential_plan_stops_at_the_first_failure(open_atelier: Opener) -> None:
    actions = [{"description": "Fail"}, {"description": "Never"}]
    team = Team(
        Lead=[call("plan_actions", goal="Know", actions=actions, strategy="sequential"), "done"],
        Action_1=[ProviderError("The key is wrong.", code="auth")],
    )
    (result,) = await led(open_atelier, team)
    assert not result["success"]
    assert [entry.get("code") for entry in result["results"]] == ["child_failed", "not_run"]
    assert result["summary"] == "Executed 0/2 actions successfully. Failed: Fail. Not run: Never."


async def test_sections_mode_reaches_its_tools_by_planning(open_atelier: Opener) -> None:
    plan = call("plan_actions", "p", goal="Know", sections=["core_ops"], actions=[{"description": "Sum six and seven"}])
    team = Team(
        Lead=[call("list_tool_sections"), plan, "done"],
        Action_1=[call("CalculatorTool", operation="eval", expression="6+7"), "13"],
    )
    sections, planned = await led(
        open_atelier, team, lead(tool_mode=ToolMode.SECTIONS, tools=("CalculatorTool", "TodoTool"))
    )
    assert [section["id"] for section in sections["sections"]] == ["core_ops"]
    assert planned["results"][0]["result"] == "13"
    sent = [tool.name for tool in team.models["Lead"].requests[0].tools]
    control = ["wait_user_response", "output", "task_complete", "task_abandon"]
    assert sent == ["list_tool_sections", "plan_actions", *control]
    below = [tool.name for tool in team.models["Action_1"].requests[0].tools]
    assert below == ["CalculatorTool", "TodoTool", "list_tool_sections", "plan_actions", *control, "wait_parent"]


async def test_planned_sub_agents_plan_down_to_the_maximum_depth(
    open_atelier: Opener,
) -> None:
    def planned(sections: list[str]) -> Step:
        return call("plan_actions", goal="Know", sections=sections, actions=[{"description": "Go deeper"}])

    # The same name at every depth: the sub-agents follow one script, one after another.
    team = Team(
        Lead=[planned(["core_ops", "planning_ops"]), "done"],
        Action_1=[
            call("list_tool_sections"),
            planned(["planning_ops", "core_ops"]),
            planned(["core_ops"]),
            planned(["core_ops"]),
            "Done by myself.",
            "told above",
            "told to the lead",
        ],
    )
    (result,) = await led(open_atelier, team, lead(tool_mode=ToolMode.SECTIONS, tools=("CalculatorTool",)))
    assert result["results"][0]["result"] == "told to the lead"
    requests = team.models["Action_1"].requests
    planners = [[tool.name for tool in each.tools if tool.name in PLANNERS] for each in requests]
    assert planners == [list(PLANNERS)] * 3 + [[]] * 2 + [list(PLANNERS)] * 2
    listed = json.loads(requests[1].messages[-1].content)
    assert [section["id"] for section in listed["sections"]] == ["core_ops"]
    assert listed["always_available"] == list(PLANNERS)
    refused = json.loads(requests[4].messages[-1].content)
    assert refused["code"] == "depth"
    assert "at depth 3 of at most 3" in refused["error"]
    assert "Do the work yourself" in refused["error"]


async def test_a_question_to_the_parent_is_answered_in_its_own_turn(open_atelier: Opener) -> None:
    def answer(request: ChatRequest) -> Step:
        asked = json.loads(request.messages[-1].content)["questions"][0]
        return call("answer_child", "a", child_id=asked["child_id"], message=f"Yes: {asked['question']}")

    team = Team(
        Lead=[call("SpawnAgentTool", operation="spawn", name="Poet", prompt="Rhyme."), answer, "done"],
        Poet=[call("wait_parent", message="In French?"), "Une rime."],
    )
    waiting, answered = await led(open_atelier, team)
    assert (waiting["status"], waiting["questions"][0]["question"]) == ("waiting_for_you", "In French?")
    assert (answered["success"], answered["report"]) == (True, "Une rime.")
    assert "answer_child" in [tool.name for tool in team.models["Lead"].requests[1].tools]
    assert "answer_child" not in [tool.name for tool in team.models["Lead"].requests[2].tools]
