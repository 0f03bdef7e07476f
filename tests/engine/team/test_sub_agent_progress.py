"""Progress of sub-agents is reported at most four times a second, including the last event before a silence."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.engine.journal.event_bus import EventBus
from atelier_desk.engine.team.sub_agent_progress import EVERY_S, ProgressReporter
from tests.helpers.manual_clock import ManualClock
from tests.helpers.runs_without_driver import Script, agent


class Stage:
    """A parent and its sub-agent, with the parts that the reporter uses, and its reports."""

    def __init__(self) -> None:
        self.clock, self.bus = ManualClock(), EventBus()
        self.told: list[dict[str, Any]] = []
        states = {
            "parent": Script(config=agent(), run_id="parent").state,
            "child": Script(config=agent(name="Dot"), run_id="child").state,
        }
        self.live = {run_id: SimpleNamespace(handle=SimpleNamespace(state=state)) for run_id, state in states.items()}
        env = SimpleNamespace(
            bus=self.bus,
            clock=self.clock,
            journal=SimpleNamespace(publish=lambda state, told: self.told.append(told.json_fields())),
        )
        self.reporter = ProgressReporter(cast(Any, env), cast(Any, self.live))

    def say(self, kind: ChunkType, **data: Any) -> None:
        event = StreamEvent(
            seq=1, time=utc_now(), workflow_id="w", run_id="child", parent_run_id="parent", correlation_id="parent",
            agent_id="", agent_name="Dot", depth=1, durable=False, chunk_type=kind, data=data,
        )  # fmt: skip
        self.bus.publish(event)


async def test_the_last_event_within_a_quarter_second_is_reported_at_its_end() -> None:
    stage = Stage()
    stage.say(ChunkType.TOKEN)
    stage.say(ChunkType.TOOL_START, tool="CalculatorTool")
    stage.say(ChunkType.TOOL_START, tool="TodoTool")
    await stage.clock.settle()
    assert [one.get("current_tool") for one in stage.told] == [None]
    await stage.clock.advance(EVERY_S)
    assert [one.get("current_tool") for one in stage.told] == [None, "TodoTool"]
    stage.say(ChunkType.TOOL_END)
    await stage.clock.advance(EVERY_S / 2)
    assert len(stage.told) == 2
    await stage.clock.advance(EVERY_S)
    assert [one.get("current_tool") for one in stage.told] == [None, "TodoTool", None]
    await stage.clock.advance(10)
    assert len(stage.told) == 3


@pytest.mark.parametrize("how", ["completed", "closed"])
async def test_nothing_is_reported_about_an_ended_sub_agent(how: str) -> None:
    stage = Stage()
    stage.say(ChunkType.TOKEN)
    stage.say(ChunkType.TOKEN)
    await stage.clock.settle()
    assert stage.clock.sleepers == 1
    if how == "completed":
        stage.say(ChunkType.RUN_STATUS, status=how)
    else:
        stage.reporter.close()
    await stage.clock.advance(1)
    assert (len(stage.told), stage.clock.sleepers) == (1, 0)
