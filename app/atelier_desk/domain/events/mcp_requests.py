"""Events about requests of an MCP server during a call."""

from __future__ import annotations

from typing import Literal

from atelier_desk.domain.events.base_event import Event
from atelier_desk.domain.mcp import ServerProblem
from atelier_desk.domain.model_messages import Usage
from atelier_desk.support.i18n import N_


class ServersLacking(Event):
    """MCP servers of the agent provide nothing, or not everything they list.

    Attributes:
        problems: new or changed problems in the workflow.
        well: servers whose earlier problem is resolved.
    """

    type: Literal["servers_lacking"] = "servers_lacking"
    label = N_("MCP servers are not available")
    problems: tuple[ServerProblem, ...]
    well: tuple[str, ...] = ()


class InputRequired(Event):
    """An MCP server needs information before it answers: the call waits, and is then repeated with the answers.

    Attributes:
        state: opaque server state, sent back unchanged; None if there is none.
        answers: those given without a person, by the server's key, as sent.
        keys: questions for a person, committed together with this.
        note: told to the model with the result.
        round: number of requests in this call, from 1.
    """

    type: Literal["input_required"] = "input_required"
    label = N_("MCP server request")
    call_id: str
    server: str
    state: str | None = None
    answers: dict[str, dict[str, object]] = {}
    keys: tuple[str, ...] = ()
    round: int = 1
    note: str = ""


class InputSent(Event):
    """All answers for the server are available: the call is repeated with them."""

    type: Literal["input_sent"] = "input_sent"
    label = N_("MCP server request answered")
    call_id: str
    server: str


class SampledForServer(Event):
    """A model was asked for an MCP server, with a person's approval.

    Attributes:
        key: the server's name of its request; empty for one during a running call.
    """

    type: Literal["sampled_for_server"] = "sampled_for_server"
    label = N_("Model request for an MCP server")
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
        """Return the protocol's form of the answer."""
        content = {"type": "text", "text": self.text}
        return {
            "role": "assistant",
            "content": content,
            "model": self.model,
            "stopReason": self.stop_reason or "endTurn",
        }
