"""Teams on the command line: the stream of all agents, questions of sub-agents, exit statuses, replay and fork."""

from __future__ import annotations

import json
import re
from typing import Any

from atelier_desk.domain.approval import ApprovalFlags
from atelier_desk.domain.model_messages import ChatRequest, Role, ToolCall
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from atelier_desk.tools.registry.default_registry import create_default_tool_registry
from tests.cli.conftest import Cli, Configure
from tests.cli.scripted_tool_calls import ask, calculate, call
from tests.helpers.tool_calls import tool_call

TEAM = ("--approval", "free", "--tools", "SpawnAgentTool,CalculatorTool,UserQuestionTool")


def spawn(name: str = "Counter", id: str = "s1", **more: Any) -> list[ToolCall]:
    arguments = {"operation": "spawn", "name": name, "prompt": "Count the beans.", **more}
    return [tool_call("SpawnAgentTool", id, **arguments)]


def test_json_contains_the_events_of_the_team(cli: Cli) -> None:
    steps: list[Step] = [spawn(), calculate("6*7"), "There are 42.", "Your beans: 42."]
    result = cli("run", "go", "--json", *TEAM, steps=steps)
    assert result.status == 0, result.err
    root = result.events[0]["run_id"]
    [start] = result.of("sub_agent_start")
    [complete] = result.of("sub_agent_complete")
    assert (start["run_id"], start["sub_agent_name"], complete["report"]) == (root, "Counter", "There are 42.")
    child = start["sub_agent_id"]
    assert {
        (each["depth"], each["parent_run_id"], each["agent_name"]) for each in result.events if each["run_id"] == child
    } == {(1, root, "Counter")}
    assert {each["correlation_id"] for each in result.events} == {root}
    assert any(each["chunk_type"] == "tool_end" and each["run_id"] == child for each in result.events)
    assert any(each["chunk_type"] == "token" and each["run_id"] == child for each in result.events)
    durable = [event["seq"] for event in result.events if event["durable"]]
    assert durable == list(range(1, len(durable) + 1))
    assert [each["status"] for each in result.of("workflow_complete")] == ["completed"]


def test_the_team_is_indented_and_only_the_answer_is_on_standard_output(cli: Cli) -> None:
    steps: list[Step] = [spawn(), calculate("6*7"), "There are 42.\nAll red.", "Your beans: 42."]
    result = cli("run", "go", *TEAM, steps=steps)
    assert result.out == "Your beans: 42.\n"
    lines = result.err.splitlines()
    assert any(line.startswith("▸ Counter: ") for line in lines)
    assert any(line.startswith("  [Counter] → Calculate ") for line in lines)
    at = lines.index("  [Counter] There are 42.")
    assert lines[at + 1] == " " * len("  [Counter] ") + "All red."
    assert any(
        re.match(r"◂ Counter \((\d+\u202fms|\d+(\.\d)?\u202fs), \d+ tokens in, \d+ out\) There are 42\.", line)
        for line in lines
    )


def test_totals_include_the_team(cli: Cli) -> None:
    result = cli("run", "go", "--json", *TEAM, steps=[spawn(), "42", "done"])
    total = result.of("usage")[-1]["team"]
    assert total["tokens_output"] == 24
    shown = cli("run", "go", *TEAM, steps=[spawn(), "42", "done"])
    assert "24 out" in shown.err


def test_a_sub_agent_at_its_limit_gives_status_4(cli: Cli) -> None:
    result = cli("run", "go", "--json", *TEAM, steps=[spawn(budget={"max_tool_calls": 0}), calculate("1")])
    assert result.status == 4, result.err
    assert (result.events[-1]["status"], result.events[-1]["durable"]) == ("limited", False)
    [limit] = result.of("limit_reached")
    assert limit["agent_name"] == "Counter"
    again = cli("resume", result.events[0]["workflow_id"], "--json")
    assert (again.status, again.events[-1]["status"]) == (4, "limited"), again.err


def test_a_sub_agents_question_shows_its_lineage(cli: Cli) -> None:
    result = cli("run", "go", "--json", *TEAM, steps=[spawn(), ask()])
    assert result.status == 5, result.err
    [asked] = result.of("user_question_start")
    assert [each["agent_name"] for each in asked["user_question"]["lineage"]] == ["Assistant"]
    workflow, question = asked["workflow_id"], asked["user_question"]["question_id"]
    assert question in result.err
    steps = ["Blue beans.", "They are blue."]
    assert cli("questions", "answer", question, "--text", "blue", steps=steps).status == 0
    resumed = cli("resume", workflow, steps=steps)
    assert resumed.status == 0, resumed.err


def test_a_sub_agents_question_is_asked_in_the_terminal(cli: Cli) -> None:
    result = cli("run", "go", *TEAM, steps=[spawn(), ask(), "Blue beans.", "They are blue."], typed="blue\n")
    assert (result.status, result.out) == (0, "They are blue.\n")
    assert "Assistant → Counter asks: Colour?" in result.err


def test_a_sub_agents_call_is_allowed_in_the_terminal(cli: Cli, approvals: Configure) -> None:
    approvals()
    team = ("--approval", "ask", *TEAM[2:])
    steps: list[Step] = [spawn(), calculate("6*7"), "42", "There are 42."]
    result = cli("run", "go", *team, steps=steps, typed="y\ny\n")
    assert (result.status, result.out) == (0, "There are 42.\n")
    assert "Assistant asks for your approval: Start " in result.err
    assert "Assistant → Counter asks for your approval: Calculate " in result.err
    left = cli("run", "go", "--json", *team, steps=steps, typed="y\n")
    assert left.status == 5
    [asked] = cli("approvals", "list", "--json").json
    assert [each["agent_name"] for each in asked["lineage"]] == ["Assistant"]
    assert "Assistant → Counter" in cli("approvals", "list").out


def gardener(request: ChatRequest) -> Step:
    """The replies of all agents in a team of three, distinguished by their tasks."""
    asked = next(message.content for message in request.messages if message.role is Role.USER)
    done = any(message.role is Role.TOOL for message in request.messages)
    if asked == "go":
        return (
            "Counted."
            if done
            else [
                *spawn("Beans", "s1", tools=["CalculatorTool"]),
                *spawn("Peas", "s2", tools=[], prompt="Count the peas."),
            ]
        )
    if "beans" in asked and not done:
        return calculate("6*7")
    return "42 beans" if done else "7 peas"


def test_one_waits_for_an_approval_while_the_others_continue(cli: Cli, approvals: Configure) -> None:
    approvals(flags=ApprovalFlags(tools=True, sub_agents=False))
    team = ("--approval", "ask", *TEAM[2:])
    result = cli("run", "go", "--json", *team, steps=[gardener] * 8)
    assert result.status == 5, result.err
    assert [each["sub_agent_name"] for each in result.of("sub_agent_complete")] == ["Peas"]
    [asked] = cli("approvals", "list", "--json").json
    assert asked["agent_name"] == "Beans"
    assert cli("approvals", "approve", asked["id"], steps=[gardener] * 8).status == 0
    resumed = cli("resume", result.events[0]["workflow_id"], steps=[gardener] * 8)
    assert (resumed.status, resumed.out) == (0, "Counted.\n"), resumed.err


def test_a_question_to_the_parent_is_shown_with_its_answer(cli: Cli) -> None:
    def answer(request: Any) -> Step:
        [child] = re.findall(r'"child_id": ?"(\w+)"', str(request.messages[-1].content)) or ["?"]
        return call("answer_child", "a1", child_id=child, message="The red ones.")

    steps: list[Step] = [
        spawn(),
        call("wait_parent", "w1", message="Which beans?"),
        answer,
        "Counted the red ones.",
        "Done.",
    ]
    model = ScriptedModel(steps)
    result = cli("run", "go", *TEAM, steps=model)
    assert result.status == 0, result.err
    assert "Counter asks Assistant: Which beans?" in result.err
    assert "Answer to Counter: The red ones." in result.err
    model.assert_complete()


def test_a_team_is_replayed_and_forked(cli: Cli) -> None:
    result = cli("run", "go", "--json", *TEAM, steps=[spawn(), calculate("6*7"), "There are 42.", "Your beans: 42."])
    workflow = result.events[0]["workflow_id"]
    replayed = cli("workflows", "replay", workflow, "--json")
    assert replayed.status == 0, replayed.err
    assert replayed.events == [event for event in result.events if event["durable"]]
    shown = cli("workflows", "replay", workflow)
    assert shown.out == "Your beans: 42.\n"
    assert "  [Counter] There are 42." in shown.err
    at = next(event["seq"] for event in result.events if event["chunk_type"] == "sub_agent_complete")
    forked = cli("workflows", "fork", workflow, "--at", str(at), "--json")
    assert forked.status == 0, forked.err
    again = cli("workflows", "replay", forked.json["id"], "--json")
    assert len(again.of("sub_agent_complete")) == 1
    assert cli("workflows", "fork", workflow, "--at", "9999").status == 2
    resumed = cli("resume", forked.json["id"], steps=["Forked beans: 42."])
    assert (resumed.status, resumed.out) == (0, "Forked beans: 42.\n"), resumed.err


def test_a_team_survives_export_and_import(cli: Cli, tmp_path: Any) -> None:
    workflow = cli("run", "go", "--json", *TEAM, steps=[spawn(), "42", "Your beans: 42."]).events[0]["workflow_id"]
    first = cli("workflows", "replay", workflow, "--json").events
    (tmp_path / "w.json").write_text(cli("workflows", "export", workflow).out, "utf-8")
    copy = cli("workflows", "import", "w.json", "--json").json["workflow"]["id"]
    assert copy != workflow
    again = cli("workflows", "replay", copy, "--json").events
    assert [event["chunk_type"] for event in again] == [event["chunk_type"] for event in first]
    assert not {event["run_id"] for event in again} & {event["run_id"] for event in first}
    assert not {event.get("sub_agent_id") for event in again if "sub_agent_id" in event} & {
        event["run_id"] for event in first
    }


def test_step_by_step_on_a_terminal(cli: Cli) -> None:
    result = cli("run", "go", "--step", *TEAM, steps=[calculate("6*7"), "42"], typed="\n\n\n")
    assert (result.status, result.out) == (0, "42\n"), result.err
    assert result.err.count("Next: Assistant calls its model") == 2
    assert result.err.count("Next: Assistant calls CalculatorTool") == 1


def test_step_by_step_a_person_can_quit_or_run_on(cli: Cli) -> None:
    left = cli("run", "go", "--step", "--json", *TEAM, steps=[calculate("6*7"), "42"], typed="\nq\n")
    assert left.status == 5
    assert len(left.of("tool_start")) == 0
    result = cli(
        "run", "go", "--step", *TEAM, steps=[spawn(), calculate("6*7"), "42", "There are 42."], typed="\n\nc\n"
    )
    assert (result.status, result.out) == (0, "There are 42.\n"), result.err


def test_without_a_terminal_one_step_is_executed(cli: Cli) -> None:
    first = cli("run", "go", "--step", "--json", *TEAM, steps=[calculate("6*7")])
    assert first.status == 5, first.err
    assert (len(first.of("usage")), first.of("tool_start")) == (1, [])
    assert "Next: Assistant calls CalculatorTool" in first.err
    workflow = first.events[0]["workflow_id"]
    second = cli("resume", workflow, "--step", "--json")
    assert second.status == 5, second.err
    assert len(second.of("tool_end")) == 1
    assert "Next: Assistant calls its model" in second.err
    last = cli("resume", workflow, steps=["42"])
    assert (last.status, last.out) == (0, "42\n"), last.err


def test_a_sub_agent_is_stepped_with_its_parent(cli: Cli) -> None:
    result = cli(
        "run", "go", "--step", *TEAM, steps=[spawn(), calculate("6*7"), "42", "There are 42."], typed="\n" * 12
    )
    assert (result.status, result.out) == (0, "There are 42.\n"), result.err
    assert "  Next: Counter calls CalculatorTool" in result.err


def test_resume_runs_a_stepping_team_to_the_end(cli: Cli) -> None:
    steps: list[Step] = [spawn(), calculate("6*7"), "42", "There are 42."]
    left = cli("run", "go", "--step", "--json", *TEAM, steps=steps, typed="\n\nq\n")
    assert left.status == 5
    assert left.of("sub_agent_start")
    resumed = cli("resume", left.events[0]["workflow_id"], steps=steps[1:])
    assert (resumed.status, resumed.out) == (0, "There are 42.\n"), resumed.err


def test_resume_reaches_a_sub_agent_that_was_paused(cli: Cli) -> None:
    same = [calculate("1", f"c{number}") for number in range(6)]
    steps: list[Step] = [spawn(), *same]
    stopped = cli("run", "go", "--json", *TEAM, steps=steps)
    assert stopped.status == 5, stopped.err
    assert "A sub-agent was paused" in stopped.err
    assert [each["agent_name"] for each in stopped.of("loop_detected")] == ["Counter", "Counter"]
    resumed = cli("resume", stopped.events[0]["workflow_id"], steps=["42", "There are 42."])
    assert (resumed.status, resumed.out) == (0, "There are 42.\n"), resumed.err


def test_resume_raises_a_reached_limit_or_lets_the_agent_finish(cli: Cli) -> None:
    steps = [calculate("6*7"), "42", "The end."]
    result = cli("run", "go", "--json", "--tools", "CalculatorTool", "--max-tokens", "10", steps=steps)
    assert result.status == 4, result.err
    workflow = result.events[0]["workflow_id"]
    wrong = cli("resume", workflow, "--raise", "patience=3")
    assert wrong.status == 2
    assert "iterations, tool_calls, tokens, cost, time" in wrong.err
    assert cli("resume", workflow, "--raise", "tokens=0").status == 2
    raised = cli("resume", workflow, "--raise", "tokens=100000", steps=["42"])
    assert (raised.status, raised.out) == (0, "42\n"), raised.err
    again = cli("run", "go", "--json", "--tools", "CalculatorTool", "--max-tokens", "10", steps=steps)
    finished = cli("resume", again.events[0]["workflow_id"], "--finish", steps=["What I have: nothing."])
    assert (finished.status, finished.out) == (0, "What I have: nothing.\n"), finished.err


def test_a_raised_limit_and_a_last_answer_work_in_steps_too(cli: Cli) -> None:
    def stopped() -> str:
        result = cli("run", "go", "--json", "--tools", "CalculatorTool", "--max-tokens", "10", steps=[calculate("6*7")])
        assert result.status == 4, result.err
        return str(result.events[0]["workflow_id"])

    raised = stopped()
    first = cli("resume", raised, "--step", "--raise", "tokens=100000", steps=[calculate("1+1")])
    assert first.status == 5, first.err
    assert "Next: Assistant calls CalculatorTool" in first.err
    assert cli("resume", raised, steps=["42"]).out == "42\n"
    ended = cli("resume", stopped(), "--step", "--finish", steps=["What I have: nothing."])
    assert (ended.status, ended.out) == (0, "What I have: nothing.\n"), ended.err
    assert "Next: Assistant calls its model" in ended.err


def test_a_called_spawn_works_as_in_a_run(cli: Cli) -> None:
    given = json.dumps({"operation": "spawn", "name": "Counter", "prompt": "Count the beans."})
    model = ScriptedModel([calculate("6*7"), "There are 42."])
    result = cli("tools", "call", "SpawnAgentTool", given, "--on-approval", "allow", "--json", steps=model)
    assert (result.status, result.json["success"]) == (0, True), result.err
    assert result.json["report"] == "There are 42."
    [assistant] = [each for each in cli("agents", "list", "--json").json if each["config"]["name"] == "Assistant"]
    assert model.requests[0].model == assistant["config"]["model"]
    assert {tool.name for tool in model.requests[0].tools} >= {"CalculatorTool", "TodoTool"}


def test_a_called_delegation_uses_a_stored_agent_with_its_own_tools(cli: Cli) -> None:
    given = json.dumps({"operation": "delegate", "agent_id": "Team lead", "prompt": "Find the beans."})
    model = ScriptedModel(["Found."])
    result = cli("tools", "call", "DelegateTaskTool", given, "--on-approval", "allow", "--json", steps=model)
    assert (result.status, result.json["success"], result.json["report"]) == (0, True, "Found."), result.err
    [lead] = [each for each in cli("agents", "list", "--json").json if each["config"]["name"] == "Team lead"]
    assert model.requests[0].model == lead["config"]["model"]
    registry = create_default_tool_registry()
    files = {
        tool.name for tool in map(registry.get_tool, registry.get_all_tool_names()) if tool and tool.needs_workspace
    }  # there is no folder here
    assert files
    skills = {"activate_skill"}  # and no skill to use
    projects = {tool.name for tool in registry.get_tools_by_section("rag_ops")}  # and no project to search
    assert {tool.name for tool in model.requests[0].tools} >= set(lead["config"]["tools"]) - files - skills - projects


def test_a_called_delegation_to_an_unknown_agent_starts_nothing(cli: Cli) -> None:
    given = json.dumps({"operation": "delegate", "agent_id": "Nobody", "prompt": "Find the beans."})
    result = cli("tools", "call", "DelegateTaskTool", given, "--json")
    assert (result.status, result.json["code"]) == (1, "unknown_agent"), result.err
    assert cli("approvals", "list", "--json").json == []


def test_a_called_plan_may_use_any_tool_and_agents_created_for_it(cli: Cli) -> None:
    actions = [
        {"description": "Sum", "tool": "CalculatorTool", "arguments": {"operation": "eval", "expression": "6*7"}},
        {"description": "Say what that means."},
    ]
    given = json.dumps({"goal": "Know", "actions": actions})
    result = cli(
        "tools", "call", "plan_actions", given, "--on-approval", "allow", "--json", steps=["It is the answer."]
    )
    assert (result.status, result.json["success"]) == (0, True), result.err
    assert "42" in result.out
    assert "It is the answer." in result.out


def test_a_called_spawn_without_waiting_still_ends_with_its_sub_agent(cli: Cli) -> None:
    given = json.dumps({"operation": "spawn", "name": "Counter", "prompt": "Count the beans.", "wait": False})
    model = ScriptedModel(["There are 42."])
    result = cli("tools", "call", "SpawnAgentTool", given, "--on-approval", "allow", "--json", steps=model)
    assert (result.status, result.json["success"]) == (0, True), result.err
    model.assert_complete()
