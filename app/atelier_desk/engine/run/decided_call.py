"""A call on its way from the model's reply to its result: what was checked of it, and what becomes of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from atelier_desk.domain.events.run import ToolCallStarted
from atelier_desk.domain.model_messages import ToolCall
from atelier_desk.domain.permission import Verdict
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.tools.base import Tool, ToolResult
from atelier_desk.tools.registry import PreparedCall


@dataclass(frozen=True, slots=True)
class Decided:
    """A call, and what becomes of it in a state of its run.

    Attributes:
        call: as the model made it, or mended.
        ready: what is run; None with a ``failure``, the error that goes straight to the model.
        asks: the verdict that makes a person allow it first; ``always`` are the rules that would allow it from then on.
    """

    call: ToolCall
    intent: ToolCallStarted
    tool: Tool | None = None
    ready: PreparedCall | None = None
    failure: ToolResult | None = None
    asks: Verdict | None = None
    always: tuple[str, ...] = ()

    def refused(self, failure: ToolResult, **intent: object) -> Decided:
        """The same call, which is not made."""
        return replace(self, failure=failure, ready=None, asks=None, intent=self.intent.model_copy(update=intent))


@dataclass(slots=True)
class Held:
    """A call of the newest reply that was prepared: it runs with the input that was checked then.

    Attributes:
        made: the very call; one that a person edits, or that is read from the journal again, is another, and is prepared again.
        state: in which it was looked at last; ``decided``: what was found, with no verdict yet.
        ready: what is run, once its arguments were found to fit.
    """

    made: ToolCall
    state: RunState
    decided: Decided
    ready: PreparedCall | None
