"""Sub-agents that wait for their parent: found at startup, updated by events, answered by the user."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

from atelier_desk.desktop.questions.waiting_runs import WaitingRuns
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.engine.services.team.agent_tree_and_timeline_types import AgentNode
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle

TREE = AgentNode(
    run_id="r0",
    name="Architect",
    status="awaiting_children",
    children=(
        AgentNode(
            run_id="r1",
            name="Reviewer",
            status="awaiting_children",
            children=(AgentNode(run_id="r2", name="Tester", status="awaiting_parent", question="All tests?"),),
        ),
        AgentNode(run_id="r3", name="Writer", status="processing", question=""),
    ),
)


def waiting_engine() -> FakeAtelier:
    return FakeAtelier(teams={"at_work": {"w1": TREE}, "tree": TREE})


def event(kind: ChunkType, run_id: str, depth: int = 0, **data: Any) -> StreamEvent:
    data = {"sub_agent_id": run_id, **data}
    return StreamEvent(
        workflow_id="w1",
        run_id="r1",
        correlation_id="r0",
        agent_name="Reviewer",
        depth=depth,
        chunk_type=kind,
        data=data,
        seq=1,
    )


async def test_waiting_sub_agents_are_found_and_answered_instead_of_the_parent() -> None:
    engine = waiting_engine()
    questions = WaitingRuns(FakeBridge(engine))
    questions.start()
    await settle()
    (asked,) = questions.pending()
    assert (asked.run_id, asked.agent_name, asked.question) == ("r2", "Tester", "All tests?")
    assert asked.lineage == ("Architect", "Reviewer")
    assert asked.parent == "Reviewer"
    await questions.answer("r2", "Only the changed ones")
    assert engine.calls("runs.answering.answer_child") == [(("r2", "Only the changed ones"), {})]
    assert len(questions) == 0


async def test_events_open_and_close_them() -> None:
    engine = waiting_engine()
    bridge = FakeBridge(engine)
    questions = WaitingRuns(bridge)
    new: list[str] = []
    questions.asked.connect(lambda asked: new.append(asked.run_id))
    bridge.stream_event.emit(
        event(ChunkType.SUB_AGENT_QUESTION, "r2", 1, sub_agent_name="Tester", question="All tests?")
    )
    bridge.stream_event.emit(event(ChunkType.SUB_AGENT_QUESTION, "r9", 0, sub_agent_name="Scout", question="Where?"))
    await settle()
    assert new == ["r2", "r9"]
    assert {each.run_id: each.lineage for each in questions.pending()} == {
        "r2": ("Architect", "Reviewer"),
        "r9": ("Reviewer",),
    }
    bridge.stream_event.emit(event(ChunkType.SUB_AGENT_ANSWER, "r2", content="Yes", by="parent"))
    bridge.stream_event.emit(event(ChunkType.SUB_AGENT_ERROR, "r9", error="stopped"))
    await settle()
    assert questions.pending() == []


async def test_an_immediate_answer_leaves_nothing_open() -> None:
    bridge = FakeBridge(waiting_engine())
    questions = WaitingRuns(bridge)
    new: list[str] = []
    questions.asked.connect(lambda asked: new.append(asked.run_id))
    for depth in (0, 1):
        bridge.stream_event.emit(
            event(ChunkType.SUB_AGENT_QUESTION, "r2", depth, sub_agent_name="Tester", question="All tests?")
        )
        bridge.stream_event.emit(event(ChunkType.SUB_AGENT_ANSWER, "r2", content="Yes", by="parent"))
    await settle()
    assert questions.pending() == []
    assert new == []


async def test_an_answer_while_the_list_loads_is_respected() -> None:
    def at_work() -> dict[str, AgentNode]:
        bridge.stream_event.emit(event(ChunkType.SUB_AGENT_ANSWER, "r2", content="Yes", by="parent"))
        return {"w1": TREE}

    bridge = FakeBridge(FakeAtelier(teams={"at_work": at_work}))
    questions = WaitingRuns(bridge)
    questions.start()
    await settle()
    assert questions.pending() == []


STOPPED = AgentNode(
    run_id="r5",
    name="Chief",
    status="paused",
    pause="limit",
    limit="month",
    limit_figures={"value": 0.5, "cap": 0.52, "needed": 0.25, "left": 0.02},
)


def of_run(kind: ChunkType, **data: Any) -> StreamEvent:
    return StreamEvent(workflow_id="w1", run_id="r5", agent_name="Chief", chunk_type=kind, data=data, seq=2)


def stop_at_limit(bridge: FakeBridge) -> None:
    bridge.stream_event.emit(of_run(ChunkType.LIMIT_REACHED, reason="unpriced", details={"value": 1.5, "cap": 2.0}))
    bridge.stream_event.emit(of_run(ChunkType.RUN_STATUS, status="paused"))


async def test_a_run_stopped_at_a_limit_waits_until_it_continues_also_after_a_restart() -> None:
    by_user = AgentNode(run_id="r6", name="Other", status="paused", pause="user")
    bridge = FakeBridge(FakeAtelier(teams={"at_work": {"w1": STOPPED, "w2": by_user}}))
    questions = WaitingRuns(bridge)
    questions.start()
    await settle()
    (stopped,) = questions.stopped()
    assert (stopped.run_id, stopped.workflow_id, stopped.kind) == ("r5", "w1", "month")
    assert (stopped.value, stopped.cap, stopped.details) == (0.5, 0.52, {"needed": 0.25, "left": 0.02})
    assert len(questions) == 1
    bridge.stream_event.emit(of_run(ChunkType.RUN_STATUS, status="processing"))
    assert questions.stopped() == []
    stop_at_limit(bridge)
    (stopped,) = questions.stopped()
    assert (stopped.agent_name, stopped.value, stopped.cap) == ("Chief", 1.5, 2.0)
    bridge.stream_event.emit(of_run(ChunkType.RUN_STATUS, status="processing"))
    bridge.stream_event.emit(of_run(ChunkType.RUN_STATUS, status="paused"))
    assert questions.stopped() == [], "a pause by the user is no limit"


async def test_a_run_that_stopped_for_an_unknown_price_shows_whether_it_was_entered() -> None:
    unpriced = dataclasses.replace(STOPPED, limit="unpriced")
    prices: dict[str, tuple[str, tuple[str, ...]]] = {}
    bridge = FakeBridge(FakeAtelier(teams={"at_work": {"w1": unpriced}, "missing_prices": lambda _runs: prices}))
    questions = WaitingRuns(bridge)
    questions.start()
    await settle()
    assert [each.kind for each in questions.stopped()] == ["unpriced"]
    for found, kind in (((), "priced"), (("output",), "unpriced")):
        prices = {"r5": ("large", found)}
        questions.start()
        await settle()
        (stopped,) = questions.stopped()
        assert (stopped.kind, stopped.details["model"], stopped.details["missing"]) == (kind, "large", found)


async def test_a_run_that_stops_while_the_window_is_open_says_which_price_is_missing() -> None:
    prices = {"r5": ("large", ("input",))}
    bridge = FakeBridge(FakeAtelier(teams={"at_work": {}, "missing_prices": prices}))
    questions = WaitingRuns(bridge)
    stop_at_limit(bridge)
    await settle()
    (stopped,) = questions.stopped()
    assert (stopped.details["model"], stopped.details["missing"]) == ("large", ("input",))


async def test_a_server_that_does_not_tell_a_price_does_not_delay_what_waits() -> None:
    unpriced = dataclasses.replace(STOPPED, limit="unpriced")

    async def silent(_runs: list[str]) -> dict[str, tuple[str, tuple[str, ...]]]:
        await asyncio.Event().wait()
        return {}

    questions = WaitingRuns(FakeBridge(FakeAtelier(teams={"at_work": {"w1": unpriced}, "missing_prices": silent})))
    questions.start()
    await settle()
    assert [each.kind for each in questions.stopped()] == ["unpriced"]


async def test_what_happens_at_a_limit_while_the_list_loads_is_respected() -> None:
    def continued() -> dict[str, AgentNode]:
        bridge.stream_event.emit(of_run(ChunkType.RUN_STATUS, status="processing"))
        return {"w1": STOPPED}

    def reached() -> dict[str, AgentNode]:
        stop_at_limit(bridge)
        return {}

    engine = FakeAtelier(teams={"at_work": continued})
    bridge = FakeBridge(engine)
    questions = WaitingRuns(bridge)
    questions.start()
    await settle()
    assert questions.stopped() == []
    engine.set("teams", "at_work", reached)
    questions.start()
    await settle()
    assert [each.run_id for each in questions.stopped()] == ["r5"]
