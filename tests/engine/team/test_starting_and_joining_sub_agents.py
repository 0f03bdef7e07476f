"""Every way to start sub-agents and to get their results, and every invalid request."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from atelier_desk.domain.events.run import ChildFinished
from atelier_desk.domain.model_messages import Role
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.domain.workflow import Dispatch, RunStatus
from atelier_desk.engine import Atelier
from atelier_desk.llm.scripted_model import Step
from tests.engine.conftest import Opener, Recorder, completed, status_after, wait_for_event
from tests.engine.team.conftest import (
    TOOLS,
    Cast,
    Stuck,
    ask_user,
    batch,
    begin,
    bodies,
    calculate,
    call,
    delegate,
    join,
    lead,
    plan,
    spawn,
    team_rows,
    worker,
)


async def led(opener: Opener, cast: Cast, *others: Any, **changes: Any) -> str:
    """Let the leader work to the end with some stored agents; returns how its run ended."""
    async with opener(model_factory=cast) as atelier:
        for other in others:
            await atelier.agents.save(other)
        _workflow_id, run_id = await begin(atelier, **changes)
        return str(await status_after(atelier, run_id))


async def test_a_sub_agent_gets_its_prompt_and_nothing_else(open_atelier: Opener) -> None:
    cast = Cast(Lead=[[spawn(prompt="Rhyme on tea.", system_prompt="You are a poet.")], "done"], Helper=["Tea, me."])
    assert await led(open_atelier, cast, text="A secret of the user's.") == "completed"
    messages = cast.models["Helper"].requests[0].messages
    assert [m.content for m in messages[1:]] == ["Rhyme on tea."]
    assert messages[0].content.startswith("You are a poet.")
    assert "secret" not in "".join(m.content for m in messages)
    assert cast.result() == {
        "success": True,
        "child_id": cast.result()["child_id"],
        "name": "Helper",
        "report": "Tea, me.",
        "metrics": cast.result()["metrics"],
    }
    assert set(cast.result()["metrics"]) == {"duration_ms", "tokens_input", "tokens_output", "cost"}


async def test_delegated_work_is_done_with_the_agents_own_instructions(open_atelier: Opener) -> None:
    cast = Cast(Lead=[[delegate("d", "Poet")], "done"], Poet=[[calculate()], "42 it is."])
    async with open_atelier(cast) as atelier:
        poet = await atelier.agents.save(worker("Poet", system_prompt="You are the poet."))
        workflow_id, run_id = await begin(atelier)
        await atelier.runs.wait(run_id)
        assert (await team_rows(atelier, workflow_id))["Poet"].agent_id == poet.id
    assert cast.models["Poet"].requests[0].messages[0].content.startswith("You are the poet.")
    assert (cast.result()["agent_id"], cast.result()["report"]) == (poet.id, "42 it is.")


async def test_one_agent_does_several_tasks_of_a_batch_and_a_failure_is_one_result(open_atelier: Opener) -> None:
    def by_prompt(request: Any) -> Step:
        return (
            RuntimeError("no verse left")
            if request.messages[-1].content == "Two."
            else f"To {request.messages[-1].content}"
        )

    cast = Cast(
        Lead=[[batch("b", ("Poet", "One."), ("Poet", "Two."), ("Poet", "Three."))], "done"], Poet=[by_prompt] * 3
    )
    assert await led(open_atelier, cast, worker("Poet")) == "completed"
    result = cast.result()
    assert (result["success"], result["completed"], result["failed"]) == (False, 2, 1)
    assert [entry.get("report") for entry in result["results"]] == ["To One.", None, "To Three."]
    assert "no verse left" in result["results"][1]["error"]
    assert "(ERROR)" in result["aggregated_report"]


async def test_fifteen_tasks_are_accepted_and_sixteen_refused(open_atelier: Opener) -> None:
    many = batch("b", *((("Poet"), f"Verse {n}.") for n in range(16)))
    fifteen = batch("c", *((("Poet"), f"Verse {n}.") for n in range(15)))
    cast = Cast(Lead=[[many], [fifteen], "done"], Poet=["A verse."] * 15)
    assert await led(open_atelier, cast, worker("Poet")) == "completed"
    refused, done = cast.results()
    assert (refused["success"], refused["code"]) == (False, "invalid_arguments")
    assert "15" in refused["error"]
    assert done["completed"] == 15
    cast.complete()


async def test_a_sequential_plan_stops_at_the_first_failure_and_lists_what_was_not_run(open_atelier: Opener) -> None:
    actions = [{"description": text} for text in ("Begin", "Break", "Never", "Nor this")]
    cast = Cast(
        Lead=[[plan("p", *actions, strategy="sequential")], "done"],
        Action_1=["fine"],
        Action_2=[RuntimeError("broken")],
    )
    assert await led(open_atelier, cast) == "completed"
    result = cast.result()
    assert [entry.get("code", "ok") for entry in result["results"]] == ["ok", "child_failed", "not_run", "not_run"]
    assert result["summary"] == "Executed 1/4 actions successfully. Failed: Break. Not run: Never; Nor this."


async def test_a_batch_plan_runs_independent_actions_together_and_continues_after_a_failure(
    open_atelier: Opener,
) -> None:
    first, second = Stuck(()), Stuck(())
    last: dict[str, object] = {"description": "c", "depends_on": [0, 1]}
    actions: list[dict[str, object]] = [{"description": "a"}, {"description": "b"}, last]
    cast = Cast(Lead=[[plan("p", *actions)], "done"], Action_1=first, Action_2=second, Action_3=["made do"])
    async with open_atelier(cast) as atelier:
        workflow_id, run_id = await begin(atelier)
        async with asyncio.timeout(20):
            await first.begun.wait()
            await second.begun.wait()
        rows = await team_rows(atelier, workflow_id)
        assert set(rows) == {"Lead", "Action 1", "Action 2"}
        await atelier.runs.cancel(rows["Action 1"].id)
        await atelier.runs.cancel(rows["Action 2"].id)
        await completed(atelier, run_id)
    assert [entry["success"] for entry in cast.result()["results"]] == [False, False, True]


async def test_everything_at_once(open_atelier: Opener) -> None:
    stuck = {f"Action_{n}": Stuck(()) for n in range(1, 4)}
    cast = Cast(Lead=[[plan("p", *({"description": d} for d in "abc"), strategy="all_at_once")], "done"], **stuck)
    async with open_atelier(cast) as atelier:
        _, run_id = await begin(atelier)
        async with asyncio.timeout(20):
            await asyncio.gather(*(model.begun.wait() for model in stuck.values()))
        await atelier.runs.cancel(run_id)


async def test_a_background_sub_agent_works_while_its_parent_continues(open_atelier: Opener) -> None:
    gate = asyncio.Event()

    def open_gate(request: Any) -> Step:
        gate.set()
        return [join()]

    cast = Cast(Lead=[[spawn(wait=False)], [calculate()], open_gate, "done"], Helper=["late but here"])
    cast.models["Helper"].gate = gate
    assert await led(open_atelier, cast) == "completed"
    started, _sum, joined = cast.results()
    assert started["status"] == "running"
    assert [(entry["child_id"], entry["report"]) for entry in joined["results"]] == [
        (started["child_id"], "late but here")
    ]
    cast.complete()


async def test_unfetched_reports_are_delivered_before_the_end(open_atelier: Opener) -> None:
    cast = Cast(
        Lead=[
            [spawn("a", "Helper", wait=False), spawn("b", "Other", wait=False)],
            "That is all I know.",
            "Now I know it all.",
        ],
        Helper=["Report A."],
        Other=[RuntimeError("lost")],
    )
    assert await led(open_atelier, cast) == "completed"
    # One that ends at once is reported in the result of the call that started it.
    told = cast.last() + str(cast.results())
    assert "Report A." in told
    assert "lost" in told
    cast.complete()


async def test_a_joined_report_is_not_delivered_again(open_atelier: Opener) -> None:
    cast = Cast(Lead=[[spawn(wait=False)], [join()], "done"], Helper=["once"])
    assert await led(open_atelier, cast) == "completed"
    cast.complete()


async def test_terminate_closes_the_model_stream_and_returns_the_partial_work(open_atelier: Opener) -> None:
    stuck = Stuck()
    children: list[str] = []

    async def helper_speaks(atelier: Atelier, workflow_id: str) -> None:
        await wait_for_event(stuck.begun)
        children.append((await team_rows(atelier, workflow_id))["Helper"].id)

    def stop(request: Any) -> Step:
        return [call("SpawnAgentTool", "t", operation="terminate", child_id=children[0])]

    cast = Cast(Lead=[[spawn(wait=False)], "It works.", stop, "done"], Helper=stuck)
    async with open_atelier(cast) as atelier:
        workflow_id, run_id = await begin(atelier)
        await helper_speaks(atelier, workflow_id)
        await atelier.runs.steering.message(run_id, "Stop it.", Dispatch.QUEUE)
        await completed(atelier, run_id)
        assert (await team_rows(atelier, workflow_id))["Helper"].status is RunStatus.CANCELLED
        assert atelier.runs.teams.free_slots(run_id) == 15
    assert (stuck.open, stuck.closed) == (0, 1)
    assert (cast.result()["status"], cast.result()["report"]) == ("cancelled", "Half a report")
    cast.complete()


async def test_terminating_an_ended_or_unknown_sub_agent_is_reported(open_atelier: Opener) -> None:
    def again(request: Any) -> Step:
        return [call("SpawnAgentTool", "t", operation="terminate", child_id=cast.result()["child_id"])]

    cast = Cast(
        Lead=[[spawn()], again, [call("SpawnAgentTool", "u", operation="terminate", child_id="nobody")], "done"],
        Helper=["r"],
    )
    await led(open_atelier, cast)
    spawned, over, unknown = cast.results()
    assert over["code"] == "not_running"
    assert unknown["code"] == "unknown_child"
    assert spawned["child_id"] in unknown["error"]


async def test_at_the_maximum_depth_no_sub_agents_are_offered_or_started(open_atelier: Opener) -> None:
    cast = Cast(
        Lead=[[spawn("a", "One")], "done"],
        One=[[spawn("b", "Two")], "one"],
        Two=[[spawn("c", "Three")], "two"],
        Three=[[spawn("d", "Four")], "three"],
    )
    async with open_atelier(cast) as atelier:
        workflow_id, run_id = await begin(atelier)
        await atelier.runs.wait(run_id)
        rows = await team_rows(atelier, workflow_id)
        assert {name: row.depth for name, row in rows.items()} == {"Lead": 0, "One": 1, "Two": 2, "Three": 3}
        assert {row.correlation_id for row in rows.values()} == {run_id}
    offered = {tool.name for tool in cast.models["Three"].requests[0].tools}
    assert not offered & {
        "SpawnAgentTool",
        "DelegateTaskTool",
        "ParallelTasksTool",
        "plan_actions",
        "list_tool_sections",
    }
    assert {"SpawnAgentTool", "wait_parent"} <= {tool.name for tool in cast.models["Two"].requests[0].tools}
    assert cast.result("Three")["success"] is False
    cast.complete()


@pytest.mark.parametrize("depth", [0, 1])
async def test_the_owner_sets_the_maximum_depth_of_sub_agents(open_atelier: Opener, depth: int) -> None:
    cast = Cast(Lead=[[spawn("a", "One")], "done"], One=["one"])
    async with open_atelier(cast) as atelier:
        await atelier.settings.update(max_depth=depth)
        _, run_id = await begin(atelier)
        await atelier.runs.wait(run_id)
    assert cast.result()["success"] is bool(depth)


REFUSED: list[tuple[Any, str, str]] = [
    (delegate("d", "Nobody"), "unknown_agent", "Poet"),
    (delegate("d", "Lead"), "self", "Poet"),
    (delegate("d", "Passing"), "not_permanent", "Poet"),
    (batch("d", ("Poet", "x"), ("Nobody", "y")), "unknown_agent", "Poet"),
    (batch("d", ("Lead", "x")), "self", "Poet"),
    (spawn(prompt="   "), "invalid_arguments", "blank"),
    (spawn(name=" "), "invalid_arguments", "blank"),
    (delegate("d", "Poet", " \n"), "invalid_arguments", "blank"),
    (batch("d", ("Poet", " ")), "invalid_arguments", "blank"),
    (batch("d"), "invalid_arguments", "tasks"),
    (spawn(tools=["CalculatorTool", "Hammer"]), "unknown_tool", "CalculatorTool"),
    (spawn(tools=["MemoryTool"]), "unknown_tool", "CalculatorTool"),
    (spawn(mcp_servers=["files", "nowhere"]), "unknown_mcp_server", "files"),
    (plan("d", {"description": "x"}, sections=["core_ops", "moon_ops"]), "unknown_section", "core_ops"),
    (plan("d", {"description": "x", "tool": "Hammer", "arguments": {}}), "unknown_tool", "CalculatorTool"),
    (plan("d", {"description": " "}), "invalid_arguments", "blank"),
    (plan("d", {"description": "x", "depends_on": [0]}), "invalid_arguments", "earlier"),
    (join("d", "nobody"), "unknown_child", "none"),
    (call("answer_child", "d", child_id="nobody", message="x"), "unknown_child", "none"),
    (call("wait_parent", "d", message="x"), "no_parent", "wait_user_response"),
]


@pytest.mark.parametrize(
    ("asked", "code", "named"), REFUSED, ids=[f"{n}-{code}" for n, (_, code, _named) in enumerate(REFUSED)]
)
async def test_an_impossible_request_is_refused_with_what_is_possible(
    open_atelier: Opener, asked: Any, code: str, named: str
) -> None:
    cast = Cast(Lead=[[asked], "done"])
    async with open_atelier(cast) as atelier:
        await atelier.agents.save(worker("Poet"))
        await atelier.agents.save(worker("Passing", lifecycle="temporary"))
        config = lead(mcp_servers=("files",), tools=(*TOOLS, "wait_parent"))
        stored = await atelier.agents.save(config)
        workflow = await atelier.workflows.create()
        run_id = await atelier.runs.send(workflow.id, "Work.", agent=config, agent_id=stored.id)
        await completed(atelier, run_id)
        assert set(await team_rows(atelier, workflow.id)) == {"Lead"}
    assert (cast.result()["success"], cast.result()["code"]) == (False, code)
    assert named in cast.result()["error"]


async def test_an_unknown_provider_is_refused_before_anything_starts(open_atelier: Opener) -> None:
    cast = Cast(Lead=[[delegate("d", "Poet")], "done"], Poet=["x"])
    async with open_atelier(cast) as atelier:
        await atelier.agents.save(worker("Poet"))
        _, run_id = await begin(atelier)
        await atelier.runs.wait(run_id)
    cast.complete()


async def test_sixteen_active_sub_agents_are_too_many_and_an_end_frees_a_slot(open_atelier: Opener) -> None:
    stuck = Stuck(())
    fifteen = [spawn(f"s{n}", f"Helper {n}", wait=False) for n in range(15)]
    models = {f"Helper_{n}": stuck if n else ["short"] for n in range(15)}
    late = spawn("late", "Late", wait=False)
    cast = Cast(
        Lead=[[*fifteen], "Waiting.", [late], "It is full?", [spawn("again", "Late", wait=False)], "Done."],
        Late=stuck,
        **models,
    )
    gate = asyncio.Event()
    cast.models["Helper_0"].gate = gate
    async with open_atelier(cast) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await begin(atelier)
        await seen.until(ChunkType.MESSAGE, content="Waiting.")
        assert atelier.runs.teams.free_slots(run_id) == 0
        await atelier.runs.steering.message(run_id, "One more.")
        await seen.until(ChunkType.MESSAGE, content="It is full?")
        assert cast.result()["code"] == "too_many_children"
        gate.set()
        await seen.until(ChunkType.SUB_AGENT_COMPLETE)
        await atelier.runs.steering.message(run_id, "And now?")
        await seen.until(ChunkType.MESSAGE, content="Done.")
        assert cast.result()["status"] == "running"
        assert len(await team_rows(atelier, workflow_id)) == 17
        await atelier.runs.cancel(run_id)
        assert atelier.runs.teams.free_slots(run_id) == 15
    assert stuck.open == 0


async def test_a_message_of_the_user_reaches_only_the_addressed_sub_agent(open_atelier: Opener) -> None:
    cast = Cast(Lead=[[spawn()], "done"], Helper=["first thought", "second thought"])
    cast.models["Helper"].gate = gate = asyncio.Event()
    async with open_atelier(cast) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await begin(atelier)
        await seen.until(ChunkType.SUB_AGENT_START)
        child = (await team_rows(atelier, workflow_id))["Helper"]
        await atelier.runs.steering.message(child.id, "Think again.")
        gate.set()
        await atelier.runs.wait(run_id)
    assert [m.content for m in cast.models["Helper"].requests[-1].messages if m.role is Role.USER] == [
        "Do it.",
        "Think again.",
    ]
    assert cast.result()["report"] == "second thought"
    assert "Think again." not in str(cast.models["Lead"].requests[-1].messages)


async def test_the_stream_reports_a_sub_agent_in_its_parents_name(open_atelier: Opener) -> None:
    cast = Cast(Lead=[[spawn("s", "Helper", "Count to two.")], "done"], Helper=[[calculate()], "two"])
    async with open_atelier(cast) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await begin(atelier)
        await atelier.runs.wait(run_id)
        child = (await team_rows(atelier, workflow_id))["Helper"]
        started = await seen.until(ChunkType.SUB_AGENT_START)
        done = await seen.until(ChunkType.SUB_AGENT_COMPLETE)
        assert (started.run_id, started.depth, started.data["sub_agent_id"], started.data["call_id"]) == (
            run_id,
            0,
            child.id,
            "s",
        )
        assert (started.data["sub_agent_name"], started.data["task_description"], started.data["kind"]) == (
            "Helper",
            "Count to two.",
            "spawn",
        )
        assert (done.run_id, done.data["report"], done.data["metrics"]["tokens_output"]) == (run_id, "two", 16)
        ids = {
            event.run_id: (event.parent_run_id, event.depth, event.agent_name) for event in seen.events if event.durable
        }
        assert ids == {run_id: (None, 0, "Lead"), child.id: (run_id, 1, "Helper")}
        assert {event.correlation_id for event in seen.events} == {run_id}
        assert [event.chunk_type for event in seen.events].count(ChunkType.WORKFLOW_COMPLETE) == 1
        finished = await bodies(atelier, run_id, ChildFinished)
        assert len(finished) == 1


def hand_over(content: str, type: str, id: str = "o") -> Any:
    return call("output", id, content=content, type=type)


async def test_a_sub_agents_structured_result_reaches_its_parents_model_with_its_report(open_atelier: Opener) -> None:
    cast = Cast(
        Lead=[[spawn()], "done"],
        Helper=[
            [
                hand_over("# Dates\n\n1 May", "report", "a"),
                hand_over("42", "result", "b"),
                hand_over("half way", "progress", "c"),
            ],
            "All found. 42",
        ],
    )
    async with open_atelier(cast) as atelier:
        workflow_id, run_id = await begin(atelier)
        await completed(atelier, run_id)
        (stored,) = await atelier.repos.reports.list(workflow_id)
    said = [result.get("message") for result in cast.results("Helper")]
    handed = "Handed over: your parent reads it with your report"
    assert said == [f"{handed}. Stored as report {stored.name!r}", handed, "Shown"]
    # The result is in the report already, and progress is for people.
    assert cast.result()["report"] == (
        f"Stored as reports, whole: {stored.name!r}.\n\nAll found. 42\n\n"
        f"## Handed over (report, report {stored.name!r})\n\n# Dates\n\n1 May"
    )


@pytest.mark.parametrize("ends", ["crash", "abandon", "terminate"])
async def test_a_structured_result_survives_a_bad_end(open_atelier: Opener, ends: str) -> None:
    last: dict[str, Any] = {
        "crash": RuntimeError("broken"),
        "abandon": [call("task_abandon", "x", reason="No use.")],
        "terminate": [ask_user()],
    }
    steps: list[Any] = [[hand_over("The first half.", "result")], last[ends]]
    cast = Cast(Lead=[[spawn()], "done"], Helper=steps)
    async with open_atelier(cast) as atelier:
        workflow_id, run_id = await begin(atelier)
        if ends == "terminate":
            async with asyncio.timeout(20):
                while (rows := await team_rows(atelier, workflow_id)).get(
                    "Helper", rows["Lead"]
                ).status is not RunStatus.AWAITING_USER:
                    await asyncio.sleep(0.01)
            await atelier.runs.cancel(rows["Helper"].id)
        await atelier.runs.wait(run_id)
    assert "The first half." in cast.result()["report"]


async def test_a_long_result_is_stored_so_that_its_parent_can_read_it_completely(open_atelier: Opener) -> None:
    text = "x" * 40_000
    cast = Cast(Lead=[[spawn()], "done"], Helper=[[hand_over(text, "result")], "Done."])
    async with open_atelier(cast) as atelier:
        workflow_id, run_id = await begin(atelier)
        await completed(atelier, run_id)
        (stored,) = await atelier.repos.reports.list(workflow_id)
        assert await atelier.repos.reports.read(workflow_id, stored.name) == text
    assert cast.result()["report"].startswith(f"Stored as reports, whole: {stored.name!r}.\n\nDone.")
