"""Events of what an MCP server asks for in the middle of a call."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from atelier_desk.domain.events.base import Event, Retention
from atelier_desk.domain.mcp import ServerProblem
from atelier_desk.domain.model_messages import Usage


class ServersLacking(Event):
    """MCP servers of the agent give the run nothing, or not all they list.

    Attributes:
        problems: those that were not said in the workflow before, or are others now.
        well: servers whose problem, said before, is over.
    """

    type: Literal["servers_lacking"] = "servers_lacking"
    retention: ClassVar[Retention] = Retention.DISPOSABLE
    problems: tuple[ServerProblem, ...]
    well: tuple[str, ...] = ()


class InputRequired(Event):
    """An MCP server must know something before it answers a call: the call waits for it, and is then made again with the answers.

    Attributes:
        state: of the server, sent back as it came; None for none.
        answers: those given without a person, by the server's key, as they are sent.
        keys: what a person is asked; their questions are committed with this.
        note: what the model is told of it with the result.
        round: from 1, how often it has asked in this call.
    """

    type: Literal["input_required"] = "input_required"
    retention: ClassVar[Retention] = Retention.CRITICAL
    call_id: str
    server: str
    state: str | None = None
    answers: dict[str, dict[str, Any]] = {}
    keys: tuple[str, ...] = ()
    round: int = 1
    note: str = ""


class InputSent(Event):
    """All that a server asked for is there: the call is made again with it."""

    type: Literal["input_sent"] = "input_sent"
    call_id: str
    server: str


class SampledForServer(Event):
    """A model was asked for an MCP server, as a person allowed.

    Attributes:
        key: what the server calls its request; empty for one that came while its call went on.
    """

    type: Literal["sampled_for_server"] = "sampled_for_server"
    retention: ClassVar[Retention] = Retention.CRITICAL
    call_id: str
    server: str
    key: str = ""
    text: str = ""
    stop_reason: str = ""
    provider: str = ""
    model: str = ""
    usage: Usage = Usage()
    duration_ms: int = 0

    @property
    def answer(self) -> dict[str, object]:
        """As the protocol has it."""
        content = {"type": "text", "text": self.text}
        return {"role": "assistant", "content": content, "model": self.model, "stopReason": self.stop_reason or "endTurn"}
