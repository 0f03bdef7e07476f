"""The planning tools in a complete engine: the results that the leading model reads."""

from __future__ import annotations

import json
from typing import Any

from atelier_desk.domain.agent import ToolMode
from atelier_desk.domain.model_messages import Role, ToolCall
from tests.engine.conftest import Opener
from tests.engine.team.conftest import Cast, begin, call

PLANNERS = ["list_tool_sections", "plan_actions"]


async def led(open_atelier: Opener, cast: Cast, **changes: Any) -> list[dict[str, Any]]:
    """The results of the leading agent's calls."""
    async with open_atelier(cast) as atelier:
        _, run_id = await begin(atelier, **changes)
        await atelier.runs.wait(run_id)
    cast.complete()
    return cast.results()


async def test_a_plan_of_calls_and_agents(open_atelier: Opener) -> None:
    actions = [
        {"description": "Sum", "tool": "CalculatorTool", "arguments": {"operation": "eval", "expression": "6*7"}},
        {"description": "Say it", "complexity": "simple", "depends_on": [0]},
    ]
    cast = Cast(Lead=[[call("plan_actions", goal="Know", actions=actions)], "done"], Action_2=["It is 42."])
    (result,) = await led(open_atelier, cast)
    assert result["success"]
    first, second = result["results"]
    assert (first["action"], first["result"]["result"]) == ("Sum", 42)
    assert (second["action"], second["result"]) == ("Say it", "It is 42.")
    assert result["summary"] == "Executed 2/2 actions successfully."
    (told,) = [message.content for message in cast.models["Action_2"].requests[0].messages if message.role is Role.USER]
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
    cast = Cast(Lead=[*([call("plan_actions", f"p{number}", **plan)] for number in range(4)), "done"])
    for result in await led(open_atelier, cast):
        first, second = result["results"]
        assert (first["success"], first["code"], first["result"]["code"]) == (False, "call_failed", "division_by_zero")
        assert second["code"] == "not_run"


async def test_sections_mode_reaches_its_tools_by_planning(open_atelier: Opener) -> None:
    plan = call("plan_actions", "p", goal="Know", sections=["core_ops"], actions=[{"description": "Sum six and seven"}])
    cast = Cast(
        Lead=[[call("list_tool_sections")], [plan], "done"],
        Action_1=[[call("CalculatorTool", operation="eval", expression="6+7")], "13"],
    )
    sections, planned = await led(open_atelier, cast, tool_mode=ToolMode.SECTIONS, tools=("CalculatorTool", "TodoTool"))
    assert [section["id"] for section in sections["sections"]] == ["core_ops"]
    assert planned["results"][0]["result"] == "13"
    sent = [tool.name for tool in cast.models["Lead"].requests[0].tools]
    control = ["wait_user_response", "output", "task_complete", "task_abandon"]
    assert sent == ["list_tool_sections", "plan_actions", *control]
    below = [tool.name for tool in cast.models["Action_1"].requests[0].tools]
    assert below == ["CalculatorTool", "TodoTool", "list_tool_sections", "plan_actions", *control, "wait_parent"]


async def test_planned_sub_agents_plan_down_to_the_maximum_depth(
    open_atelier: Opener,
) -> None:
    def planned(sections: list[str]) -> list[ToolCall]:
        return [call("plan_actions", goal="Know", sections=sections, actions=[{"description": "Go deeper"}])]

    # The same name at every depth: the sub-agents follow one script, one after another.
    cast = Cast(
        Lead=[planned(["core_ops", "planning_ops"]), "done"],
        Action_1=[
            [call("list_tool_sections")],
            planned(["planning_ops", "core_ops"]),
            planned(["core_ops"]),
            planned(["core_ops"]),
            "Done by myself.",
            "told above",
            "told to the lead",
        ],
    )
    (result,) = await led(open_atelier, cast, tool_mode=ToolMode.SECTIONS, tools=("CalculatorTool",))
    assert result["results"][0]["result"] == "told to the lead"
    requests = cast.models["Action_1"].requests
    planners = [[tool.name for tool in each.tools if tool.name in PLANNERS] for each in requests]
    assert planners == [list(PLANNERS)] * 3 + [[]] * 2 + [list(PLANNERS)] * 2
    listed = json.loads(requests[1].messages[-1].content)
    assert [section["id"] for section in listed["sections"]] == ["core_ops"]
    assert listed["always_available"] == list(PLANNERS)
    refused = json.loads(requests[4].messages[-1].content)
    assert refused["code"] == "depth"
    assert "at depth 3 of at most 3" in refused["error"]
    assert "Do the work yourself" in refused["error"]
