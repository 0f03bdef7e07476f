"""Budgets as a tree: a share is reserved from the parent and returned, a limit applies to its own branch, and
totals include everybody.
"""

# judges: app/atelier_desk/engine/run/driver.py
from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from atelier_desk.domain.agent import Budget
from atelier_desk.domain.events.run import ChildFinished, ChildStarted, LimitKind, LimitsRaised
from atelier_desk.domain.model_messages import ChatReply, ToolCall, Usage
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.domain.workflow import RunStatus, WorkflowStatus
from atelier_desk.engine import Atelier
from atelier_desk.policy import budget
from tests.engine.conftest import Opener, Recorder, completed
from tests.engine.team.conftest import Cast, Stuck, batch, begin, bodies, calculate, plan, spawn, team_rows, worker


def says(text: str, *calls: ToolCall, tokens: int = 10, cost: float = 0.0) -> ChatReply:
    """A reply that uses so many tokens, one of them for its text: a server that reports none is not believed."""
    return ChatReply(content=text, tool_calls=calls, usage=Usage(tokens_input=tokens - 1, tokens_output=1, cost=cost))


def counted(event: StreamEvent, of: str) -> int:
    """The tokens in both directions that an event reports for a run, its team or its workflow."""
    return int(event.data[of]["tokens_input"] + event.data[of]["tokens_output"])


def shares(events: Iterable[ChildStarted]) -> list[Budget]:
    return [event.share for event in events]


@pytest.fixture(autouse=True)
def prompts_cost_nothing(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Shares use small numbers here: the estimated prompt is ignored, and a reply may be one token long."""
    if "reserved" not in request.keywords:
        real = budget.reserve
        monkeypatch.setattr(budget, "LEAST_REPLY", 1)
        monkeypatch.setattr(
            budget, "reserve", lambda *args, prompt_tokens, **more: real(*args, prompt_tokens=0, **more)
        )


async def test_a_share_is_reserved_and_the_unused_part_returned(open_atelier: Opener) -> None:
    cast = Cast(
        Lead=[says("", spawn("a"), tokens=100), says("", spawn("b"), tokens=100), says("done", tokens=100)],
        Helper=[says("one", tokens=50), says("two", tokens=50)],
    )
    async with open_atelier(cast) as atelier:
        _, run_id = await begin(atelier, budget=Budget(max_tokens=1000))
        await completed(atelier, run_id)
        # 1000 - 100 of its own; then 1000 - 200 - 50 of the first one.
        assert [share.max_tokens for share in shares(await bodies(atelier, run_id, ChildStarted))] == [900, 750]
        state = atelier.runs.state_of(run_id)
        assert state is not None
        assert state.current.spent.tokens == 400


async def test_a_batch_divides_the_remainder(open_atelier: Opener) -> None:
    cast = Cast(
        Lead=[says("", batch("b", *(("Poet", "x"),) * 4), tokens=100), says("done")], Poet=[says("v", tokens=10)] * 4
    )
    async with open_atelier(cast) as atelier:
        await atelier.agents.save(worker("Poet", budget=Budget(max_seconds=30)))
        _, run_id = await begin(atelier, budget=Budget(max_tokens=1000, max_cost=2.0, max_tool_calls=9))
        await atelier.runs.wait(run_id)
        given = shares(await bodies(atelier, run_id, ChildStarted))
        # Nine calls minus the one that starts them, divided by four.
        assert given == [Budget(max_tokens=225, max_cost=0.5, max_tool_calls=2, max_seconds=30)] * 4


async def test_one_in_the_background_leaves_its_parent_a_part(open_atelier: Opener) -> None:
    cast = Cast(
        Lead=[says("", spawn(wait=False), tokens=100), says("", calculate(), tokens=100), says("done"), says("all")],
        Helper=["r"],
    )
    async with open_atelier(cast) as atelier:
        _, run_id = await begin(atelier, budget=Budget(max_tokens=1000))
        await completed(atelier, run_id)
        assert [share.max_tokens for share in shares(await bodies(atelier, run_id, ChildStarted))] == [450]


async def test_a_smaller_requested_share_is_granted_and_a_larger_one_is_not(open_atelier: Opener) -> None:
    cast = Cast(
        Lead=[
            says("", spawn("a", budget={"max_tokens": 20}), tokens=100),
            says("", spawn("b", budget={"max_tokens": 5000})),
            says("done"),
        ],
        Helper=[says("1", tokens=5), says("2", tokens=5)],
    )
    async with open_atelier(cast) as atelier:
        _, run_id = await begin(atelier, budget=Budget(max_tokens=1000))
        await atelier.runs.wait(run_id)
        assert [share.max_tokens for share in shares(await bodies(atelier, run_id, ChildStarted))] == [20, 885]


async def test_an_exhausted_budget_is_reported_and_nobody_starts(open_atelier: Opener) -> None:
    cast = Cast(Lead=[says("", spawn(), tokens=1000)])
    async with open_atelier(cast) as atelier:
        workflow_id, run_id = await begin(atelier, budget=Budget(max_tokens=1000))
        # The call has its result; another request to the model would exceed the limit.
        row = await atelier.runs.wait(run_id)
        assert row.status is RunStatus.PAUSED
        assert set(await team_rows(atelier, workflow_id)) == {"Lead"}
        (end,) = await bodies(atelier, run_id, ChildFinished)
        assert "budget" in end.error
        assert "tokens" in end.error


@pytest.fixture
def capped() -> Cast:
    return Cast(
        Lead=[says("", batch("b", ("Poor", "x"), ("Rich", "y")), tokens=10), says("done", tokens=10)],
        Poor=[says("", calculate("a"), tokens=40), says("poor report", tokens=40)],
        Rich=[says("rich report", tokens=10)],
    )


async def start_capped(atelier: Atelier) -> tuple[str, str, str]:
    """A batch in which one has used up its share and the other is done."""
    await atelier.agents.save(worker("Poor", budget=Budget(max_tokens=40)))
    await atelier.agents.save(worker("Rich"))
    workflow_id, run_id = await begin(atelier, budget=Budget(max_tokens=1000))
    await atelier.runs.wait(run_id)
    rows = await team_rows(atelier, workflow_id)
    assert {name: row.status.value for name, row in rows.items()} == {
        "Lead": "awaiting_children",
        "Poor": "paused",
        "Rich": "completed",
    }
    assert (await atelier.repos.workflows.get(workflow_id)).status is WorkflowStatus.WAITING
    return workflow_id, run_id, rows["Poor"].id


async def test_a_limit_pauses_its_own_sub_agent_and_raising_it_resumes(open_atelier: Opener, capped: Cast) -> None:
    async with open_atelier(capped) as atelier:
        seen = Recorder(atelier)
        _, run_id, poor = await start_capped(atelier)
        reached = await seen.until(ChunkType.LIMIT_REACHED)
        assert (reached.run_id, reached.data["reason"], reached.data["details"]) == (
            poor,
            "tokens",
            {"value": 40.0, "cap": 40.0},
        )
        await atelier.runs.steering.resume(poor, raise_limits={LimitKind.TOKENS: 100})
        await completed(atelier, run_id)
        (raised,) = await bodies(atelier, run_id, LimitsRaised)
        assert (raised.child_id, raised.raise_limits) == (poor, {LimitKind.TOKENS: 100})
        state = atelier.runs.state_of(run_id)
        assert state is not None
        assert state.current.raised_limits == {LimitKind.TOKENS: 100}
    assert [entry["report"] for entry in capped.result()["results"]] == ["poor report", "rich report"]


async def test_more_for_a_grandchild_is_more_for_all_its_ancestors(open_atelier: Opener) -> None:
    cast = Cast(
        Lead=[says("", spawn("s", "Middle"), tokens=10), says("done", tokens=10)],
        Middle=[says("", spawn("t", "Deep", budget={"max_tokens": 50}), tokens=10), says("m", tokens=10)],
        Deep=[says("", calculate(), tokens=50), says("d", tokens=50)],
    )
    async with open_atelier(cast) as atelier:
        workflow_id, run_id = await begin(atelier, budget=Budget(max_tokens=90))
        await atelier.runs.wait(run_id)
        rows = await team_rows(atelier, workflow_id)
        assert rows["Deep"].status is RunStatus.PAUSED
        await atelier.runs.steering.resume(rows["Deep"].id, raise_limits={LimitKind.TOKENS: 60})
        await completed(atelier, run_id)
        for name, child in (("Middle", "Deep"), ("Lead", "Middle")):
            (raised,) = await bodies(atelier, rows[name].id, LimitsRaised)
            assert raised.child_id == rows[child].id
    cast.complete()


async def test_at_its_limit_a_sub_agent_can_finish_with_what_there_is(open_atelier: Opener, capped: Cast) -> None:
    async with open_atelier(capped) as atelier:
        _, run_id, poor = await start_capped(atelier)
        await atelier.runs.steering.resume(poor, finish=True)
        await completed(atelier, run_id)
    assert capped.models["Poor"].requests[-1].tools == ()
    assert capped.result()["results"][0]["report"] == "poor report"


async def test_at_its_limit_a_sub_agent_can_be_stopped(open_atelier: Opener, capped: Cast) -> None:
    async with open_atelier(capped) as atelier:
        _, run_id, poor = await start_capped(atelier)
        await atelier.runs.cancel(poor)
        await completed(atelier, run_id)
    assert [entry["success"] for entry in capped.result()["results"]] == [False, True]


async def test_a_root_at_its_limit_finishes_with_the_existing_reports(open_atelier: Opener) -> None:
    stuck = Stuck(("half of it",))
    cast = Cast(
        Lead=[says("", spawn(wait=False), tokens=90), says("", calculate(), tokens=10), says("in short")], Helper=stuck
    )
    async with open_atelier(cast) as atelier:
        workflow_id, run_id = await begin(atelier, budget=Budget(max_tokens=101))
        async with asyncio.timeout(20):
            await stuck.begun.wait()
            while (await team_rows(atelier, workflow_id))["Lead"].status is not RunStatus.PAUSED:
                await asyncio.sleep(0)
        await atelier.runs.steering.resume(run_id, finish=True)
        await completed(atelier, run_id)
        assert (await team_rows(atelier, workflow_id))["Helper"].status is RunStatus.CANCELLED
    assert stuck.open == 0
    assert "half of it" in cast.last()
    assert cast.models["Lead"].requests[-1].tools == ()
    cast.models["Lead"].assert_complete()


async def test_time_is_each_runs_own_and_no_tokens_count_twice_for_the_root(open_atelier: Opener) -> None:
    cast = Cast(
        Lead=[says("", spawn("s", "Middle")), says("done")],
        Middle=[says("", spawn("t", "Deep")), says("m")],
        Deep=[says("d")],
    )
    async with open_atelier(cast) as atelier:
        workflow_id, run_id = await begin(atelier, budget=Budget(max_tokens=1000, max_tool_calls=10))
        await atelier.runs.wait(run_id)
        state = atelier.runs.state_of(run_id)
        assert state is not None
        assert (state.current.spent.tokens, state.current.spent.tool_calls) == (50, 2)
        ends = {
            name: (await bodies(atelier, row.id, ChildFinished))
            for name, row in (await team_rows(atelier, workflow_id)).items()
        }
        assert [
            end.spent.usage.tokens_input + end.spent.usage.tokens_output for end in (*ends["Lead"], *ends["Middle"])
        ] == [30, 10]


async def test_totals_include_everybody_while_they_work(open_atelier: Opener) -> None:
    cast = Cast(
        Lead=[says("", spawn("s", "Middle"), tokens=2), says("done", tokens=10_000)],
        Middle=[says("", spawn("t", "Deep"), tokens=10), says("m", tokens=1000)],
        Deep=[says("d", tokens=100)],
    )
    async with open_atelier(cast) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await begin(atelier)
        await atelier.runs.wait(run_id)
        usage = [event for event in seen.events if event.chunk_type is ChunkType.USAGE]
        assert [(event.agent_name, counted(event, "team")) for event in usage] == [
            ("Lead", 2), ("Middle", 12), ("Deep", 112), ("Middle", 1112), ("Lead", 11_112),
        ]  # fmt: skip
        assert [counted(event, "workflow") for event in usage] == [2, 12, 112, 1112, 11_112]
        assert [counted(event, "run") for event in usage] == [2, 10, 100, 1110, 11_112]
        second = await atelier.runs.send(workflow_id, "More.", agent=worker("Middle", tools=()))
        cast.models["Middle"]._steps.append(says("again", tokens=5))
        await atelier.runs.wait(second)
        last = [event for event in seen.events if event.chunk_type is ChunkType.USAGE][-1]
        assert (counted(last, "team"), counted(last, "workflow")) == (5, 11_117)
        stored = await atelier.repos.workflows.get(workflow_id)
        assert stored.usage.tokens_input + stored.usage.tokens_output == 11_117
        rows = await atelier.repos.runs.list(workflow_id)
        assert sum(row.usage.tokens_input + row.usage.tokens_output for row in rows) == 11_117


async def test_later_stages_of_a_plan_share_the_remainder_at_that_time(open_atelier: Opener) -> None:
    last: dict[str, object] = {"description": "c", "depends_on": [0]}
    actions: list[dict[str, object]] = [{"description": "a"}, {"description": "b"}, last]
    cast = Cast(
        Lead=[says("", plan("p", *actions), tokens=100), says("done")],
        Action_1=[says("1", tokens=200)], Action_2=[says("2", tokens=100)], Action_3=[says("3", tokens=10)],
    )  # fmt: skip
    async with open_atelier(cast) as atelier:
        _, run_id = await begin(atelier, budget=Budget(max_tokens=1000))
        await atelier.runs.wait(run_id)
        assert [share.max_tokens for share in shares(await bodies(atelier, run_id, ChildStarted))] == [450, 450, 600]
