"""MCP servers and their tools for display."""

from __future__ import annotations

from dataclasses import dataclass

from atelier_desk.domain.errors import AtelierError
from atelier_desk.domain.mcp import McpKnown, McpServer, McpState
from atelier_desk.mcp.tool_definitions import Difference

NO_DIFFERENCE = Difference()


@dataclass(frozen=True, slots=True)
class McpStatus:
    """A server for display.

    Attributes:
        reason: why it failed, in the current language; otherwise empty.
        latency_ms: duration of the last connection; 0 if none.
        tools: number of tools available to agents.
        waiting: tools that differ from their approved form.
        missing: names of secrets missing from the keyring.
        ping_ms: duration of the newest ping; 0 if none.
        pid: of its running program, 0 for none.
        failures: consecutive failures; ``retry_s``: seconds until the next attempt.
    """

    config: McpServer
    known: McpKnown
    state: McpState
    reason: str = ""
    latency_ms: int = 0
    tools: int = 0
    waiting: Difference = NO_DIFFERENCE
    missing: tuple[str, ...] = ()
    ping_ms: int = 0
    pid: int = 0
    failures: int = 0
    retry_s: float = 0.0

    @property
    def name(self) -> str:
        return self.config.name


@dataclass(frozen=True, slots=True)
class McpToolStatus:
    """A tool of a server.

    Attributes:
        tool: its server's name for it; ``name`` is ours, empty for an unusable one.
        state: ``approved``, ``new``, ``changed``, ``gone`` or ``unusable``.
        told: the server's present description; ``approved_told``: the approved one, if different.
        hints: the server's annotations.
        on: it is enabled.
        problem: why it is unusable, in English; ``mcp_server_text.why_text`` translates it.
        rule: action of the permission rule with exactly its name (``allow``, ``ask``, ``deny``); empty if there is
            none.
    """

    tool: str
    name: str
    title: str
    told: str
    state: str
    on: bool = True
    approved_told: str = ""
    hints: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    problem: str = ""
    rule: str = ""


@dataclass(frozen=True, slots=True)
class McpHealth:
    """Result of a test; ``message`` is the problem, ``left_out`` the unusable entries, in the current language.

    ``tools`` counts usable ones; ``error`` is the error behind ``message``.
    """

    ok: bool
    latency_ms: int = 0
    tools: int = 0
    resources: bool = False
    prompts: bool = False
    protocol: str = ""
    title: str = ""
    message: str = ""
    code: str = ""
    left_out: tuple[str, ...] = ()
    error: AtelierError | None = None
