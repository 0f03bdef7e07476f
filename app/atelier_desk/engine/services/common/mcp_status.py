"""MCP servers and their tools as screens and the command line list them."""

from __future__ import annotations

from dataclasses import dataclass

from atelier_desk.domain.errors import AtelierError
from atelier_desk.domain.mcp import McpKnown, McpServer, McpState
from atelier_desk.mcp.definitions import Difference

NO_DIFFERENCE = Difference()


@dataclass(frozen=True, slots=True)
class McpStatus:
    """A server as lists show it.

    Attributes:
        reason: why it failed, in the current language; empty otherwise.
        latency_ms: what connecting took last; 0 when it never did.
        tools: how many of its tools agents can have.
        waiting: what of its tools is not as it was approved.
        missing: names of secrets that are not in the keyring.
        ping_ms: what its newest answer to the question whether it is there took; 0 when it was not asked.
        pid: of its program while it runs, 0 for none.
        failures: in a row; ``retry_s`` seconds are left until it is tried again.
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
        tool: its server's name for it; ``name`` is ours, empty for one that cannot be used.
        state: ``approved``, ``new``, ``changed``, ``gone`` or ``unusable``.
        told: what its server says of it now; ``approved_told`` what was approved, where that is another text.
        hints: its annotations, as its server gives them.
        on: nobody switched it off.
        problem: why it cannot be used, in English; ``mcp_words.why_text`` says it in the current language.
        rule: what the permission rule of its very name says (``allow``, ``ask``, ``deny``); empty when there is none.
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
    """The result of a test; ``message`` says what went wrong, ``left_out`` what it lists and nobody can use, in the current language.

    ``tools`` counts those that can be used; ``error`` is what ``message`` was made of.
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
