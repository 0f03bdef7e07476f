"""Calls of servers' tools, including the servers' requests meanwhile: questions, model requests, folders."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from atelier_desk.domain.mcp import McpError
from atelier_desk.domain.question import QuestionSpec, Sampling, UserQuestion
from atelier_desk.mcp import results
from atelier_desk.mcp.elicitation_and_sampling import UnsupportedRequest
from atelier_desk.support.i18n import N_, spoken
from atelier_desk.tools.base import ServerAsks
from atelier_desk.tools.calls.context import ToolContext

if TYPE_CHECKING:
    from atelier_desk.mcp.connection import Connection
    from atelier_desk.mcp.results import Answer
    from atelier_desk.mcp.server_requests import ClientRequests

NOBODY = "Nobody is there to ask for this call."


@dataclass(frozen=True, slots=True)
class RunRequestBroker:
    """Answers a server for a call of a run; see ``mcp.server_requests``."""

    connection: Connection
    context: ToolContext
    gate: Callable[[str], Awaitable[str | None]]

    @property
    def roots(self) -> Sequence[str]:
        """Return the granted folders that the server may be told about: configured ones, and folders within them."""
        allowed = [Path(each).expanduser().resolve() for each in self.connection.server.roots]
        granted = [Path(each).resolve() for each in self.context.roots]
        return [str(each) for each in granted if any(each.is_relative_to(one) for one in allowed)]

    @property
    def model(self) -> str:
        return self.context.requests.model if self.context.requests is not None else ""

    async def refusal(self) -> str | None:
        return await self.gate(self.context.workflow_id) if self.context.requests is not None else NOBODY

    async def ask(self, spec: QuestionSpec) -> UserQuestion:
        assert self.context.requests is not None
        return await self.context.requests.ask(spec)

    async def sample(self, server: str, sampling: Sampling) -> Mapping[str, object]:
        assert self.context.requests is not None
        return await self.context.requests.sample(server, sampling)


async def call(
    connection: Connection, serving: ClientRequests, tool: str, arguments: Mapping[str, object], context: ToolContext
) -> Answer | ServerAsks:
    """Make a call, or repeat it with answers for its server. Raises ``McpError``."""
    from mcp_types import InputRequiredResult

    name, given = connection.server.name, context.given
    refused = given is not None and any(
        answer.get("action") in ("decline", "cancel") for answer in given.answers.values()
    )
    if refused and not await connection.modern():
        # It refuses the call until its page was opened, and would refuse it again.
        message = N_("The MCP server {server} needs you to open a page first, and you declined.")
        raise McpError(message, code="declined", server=name)
    result = await connection.call(
        tool, arguments, context.progress, serving=serving,
        given=given.answers if given is not None else None, state=given.state if given is not None else None,
    )  # fmt: skip
    notes = [*([given.note] if given is not None and given.note else []), *serving.notes]
    if isinstance(result, InputRequiredResult):
        try:
            with spoken(context.language):
                answers, questions, note = await connection.answers.sorted(
                    result.input_requests or {}, serving.request_handler
                )
        except UnsupportedRequest as error:
            message = N_("The MCP server {server} sent a request that cannot be answered: {detail}")
            raise McpError(message, code="asks", server=name, detail=str(error)) from None
        note = " ".join(dict.fromkeys(filter(None, [*notes, note])))
        return ServerAsks(name, result.request_state, answers, questions, note)
    answer = await asyncio.to_thread(results.read, result)  # searching 20 MB for secrets takes seconds
    return replace(answer, note=" ".join(dict.fromkeys(notes)))
