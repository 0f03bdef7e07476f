"""Build runs without a driver: numbered and timed events, and a pure interpreter of the next step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.events.run import (
    CallStatus,
    EventBody,
    ModelReplied,
    RunEvent,
    RunFinished,
    RunStarted,
    ToolCallFinished,
    ToolCallStarted,
    UserMessage,
)
from atelier_desk.domain.model_messages import ChatReply, FinishReason, ToolCall, Usage
from atelier_desk.engine.run.reducer.next_step import Append, BeginCalls, CallModel, Finish, next_step
from atelier_desk.engine.run.reducer.reduce import fold, reduce
from atelier_desk.engine.run.reducer.state import RunState
from tests.helpers.tool_calls import tool_call

START = datetime(2026, 1, 1, tzinfo=UTC)


def agent(**changes: Any) -> AgentConfig:
    """An agent with defaults for all fields."""
    base: dict[str, Any] = {
        "name": "Tester",
        "provider": "local",
        "model": "scripted",
        "tools": ("TodoTool", "CalculatorTool"),
    }
    return AgentConfig(**{**base, **changes})


def reply(text: str = "", *calls: ToolCall, **usage: Any) -> ModelReplied:
    """A reply with 10 tokens in and 5 out by default."""
    counted = Usage(**{"tokens_input": 10, "tokens_output": 5, **usage})
    reason = FinishReason.TOOL_CALLS if calls else FinishReason.STOP
    return ModelReplied(reply=ChatReply(content=text, tool_calls=calls, finish_reason=reason), usage=counted)


def call(id: str = "c1", name: str = "CalculatorTool", **arguments: Any) -> ToolCall:
    return tool_call(name, id, **arguments)


def started(id: str = "c1", tool: str = "CalculatorTool", **fields: Any) -> ToolCallStarted:
    return ToolCallStarted(call_id=id, tool=tool, **fields)


def finished(
    id: str = "c1", tool: str = "CalculatorTool", text: str = '{"success": true}', **fields: Any
) -> ToolCallFinished:
    return ToolCallFinished(**{"call_id": id, "tool": tool, "text": text, "status": CallStatus.OK, **fields})


class Script:
    """Collects the events of one run; ``seconds`` pass before each."""

    def __init__(
        self,
        *,
        seconds: float = 1.0,
        config: AgentConfig | None = None,
        message: str | None = "hello",
        run_id: str = "r",
        **start: Any,
    ) -> None:
        self.events: list[RunEvent] = []
        self._run_id = run_id
        self._seconds = seconds
        self._time = START
        self.add(RunStarted(agent=config or agent(), **start))
        if message is not None:
            self.add(UserMessage(content=message))

    def add(self, *bodies: EventBody, seconds: float | None = None) -> Script:
        for body in bodies:
            self._time += timedelta(seconds=self._seconds if seconds is None else seconds)
            self.events.append(
                RunEvent(workflow_id="w", run_id=self._run_id, seq=len(self.events) + 1, time=self._time, body=body)
            )
        return self

    @property
    def state(self) -> RunState:
        state = fold(self.events)
        assert state is not None
        return state


def interpret(
    script: Script, replies: Iterable[ModelReplied], result: Callable[[str], str] = lambda id: f"result of {id}"
) -> RunState:
    """Perform ``next_step`` with scripted replies until the run waits or ends."""
    left = iter(replies)
    for _ in range(1000):
        step = next_step(script.state)
        if isinstance(step, Append):
            script.add(*step.bodies)
        elif isinstance(step, CallModel):
            script.add(next(left))
        elif isinstance(step, BeginCalls):
            for each in step.calls:
                script.add(started(each.call.id, each.call.name, arguments=each.call.arguments))
                script.add(finished(each.call.id, each.call.name, result(each.call.id)))
        elif isinstance(step, Finish):
            script.add(
                RunFinished(
                    status=step.ending.status,
                    summary=step.ending.summary,
                    result=step.ending.result,
                    misfit=step.ending.misfit,
                )
            )
        else:
            return script.state
    raise AssertionError("the run does not end")


def advance(state: RunState, body: EventBody, seconds: float = 1.0) -> RunState:
    """The state after one more event."""
    assert state.last_time is not None
    time = state.last_time + timedelta(seconds=seconds)
    event = RunEvent(workflow_id="w", run_id=state.run_id, seq=state.last_seq + 1, time=time, body=body)
    return reduce(state, event)
