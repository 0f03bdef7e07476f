"""A call between the model's reply and its result: what was checked, and the decision."""

from __future__ import annotations

from dataclasses import dataclass, replace

from atelier_desk.domain.events.run import ToolCallStarted
from atelier_desk.domain.model_messages import ToolCall
from atelier_desk.domain.permission import Verdict
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.tools.base import Tool, ToolResult
from atelier_desk.tools.registry.registry import PreparedCall


@dataclass(frozen=True, slots=True)
class Decided:
    """A call and its decision in a state of its run.

    Attributes:
        call: as made by the model, or repaired.
        ready: what is executed; None with a ``failure``, the error for the model.
        asks: the verdict that requires approval; ``always`` are rules that would allow it permanently.
    """

    call: ToolCall
    intent: ToolCallStarted
    tool: Tool | None = None
    ready: PreparedCall | None = None
    failure: ToolResult | None = None
    asks: Verdict | None = None
    always: tuple[str, ...] = ()

    def refused(self, failure: ToolResult, **intent: object) -> Decided:
        """Return the call as refused."""
        return replace(self, failure=failure, ready=None, asks=None, intent=self.intent.model_copy(update=intent))


@dataclass(slots=True)
class Held:
    """A prepared call of the newest reply: it runs with the input that was checked.

    Attributes:
        made: the call itself; an edited or reloaded call is a different one, and is prepared again.
        state: the last state in which it was examined; ``decided``: the findings, without a verdict.
        ready: what is executed, once its arguments were valid.
    """

    made: ToolCall
    state: RunState
    decided: Decided
    ready: PreparedCall | None
