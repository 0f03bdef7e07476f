"""Atelier as an MCP server: other programs can use its agents, and read its memories and reports.

An agent's work for another program is judged like work for a person: a call that needs approval waits for the person,
in the window or on the command line, and the other program is told so.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.message import SessionMessage
from mcp_types import ToolAnnotations, jsonrpc_message_adapter
from pydantic import Field, ValidationError

from atelier_desk.domain import limits
from atelier_desk.domain.errors import AtelierError
from atelier_desk.presentation import argument_error_text
from atelier_desk.support.i18n import spoken

if TYPE_CHECKING:
    from atelier_desk.engine.atelier import Atelier

log = logging.getLogger(__name__)
INSTRUCTIONS = (
    "Atelier runs teams of LLM agents on this machine. run_agent gives one a task and returns its answer; a status "
    "of waiting means that a "
    "person has to answer or allow something in Atelier first. Go on with the same workflow_id to keep the "
    "conversation."
)
_Workflow = Annotated[str, Field(description="The id of a conversation that run_agent began.", max_length=64)]


def offered(atelier: Atelier, version: str) -> MCPServer:
    """Return the server with its tools."""

    class Server(MCPServer):
        async def call_tool(self, name: str, arguments: dict[str, object], context: Any = None) -> Any:
            try:
                return await super().call_tool(name, arguments, context)
            except ToolError as error:
                if not isinstance(error.__cause__, ValidationError):
                    raise
                # The SDK passes on the validation library's messages, with web addresses.
                with spoken("en"):
                    problems = argument_error_text.explain(error.__cause__)
                raise ToolError(f"{name}: {problems}") from None

    server = Server("atelier", title="Atelier", version=version, instructions=INSTRUCTIONS, log_level="WARNING")
    reading = ToolAnnotations(read_only_hint=True, open_world_hint=False)

    async def run_agent(
        prompt: Annotated[
            str, Field(description="What to do, with all it needs to know.", min_length=1, max_length=limits.MESSAGE)
        ],
        agent: Annotated[
            str, Field(description="Name or id of an agent of list_agents; the default one when empty.", max_length=64)
        ] = "",
        workflow_id: Annotated[
            str, Field(description="A conversation to go on with; a new one when empty.", max_length=64)
        ] = "",
    ) -> dict[str, object]:
        """Have an agent do a task and give back its answer. It may take minutes."""
        answer = await atelier.ask(prompt, agent=agent or None, workflow_id=workflow_id or None)
        found: dict[str, object] = {
            "status": answer.status,
            "answer": answer.text,
            "workflow_id": answer.workflow_id,
            "run_id": answer.run_id,
        }
        if answer.status == "waiting":
            found["note"] = (
                "A person has to answer a question or allow a call in Atelier. Then the agent goes on by itself."
            )
        if answer.data is not None:
            found["data"] = answer.data
        return found

    async def list_agents() -> dict[str, object]:
        """The agents there are: name, what they are told to be, their model and tools."""
        rows = await atelier.agents.list()
        return {
            "agents": [
                {
                    "id": row.id,
                    "name": row.name,
                    "instructions": row.config.system_prompt[:500],
                    "model": row.config.model,
                    "tools": [*row.config.sections, *row.config.tools],
                }
                for row in rows
            ]
        }

    async def search_memory(
        query: Annotated[str, Field(description="What to look for.", min_length=1, max_length=1_000)],
        limit: Annotated[int, Field(description="How many at most.", ge=1, le=50)] = 10,
    ) -> dict[str, object]:
        """Search what Atelier was told to remember in general, not that of single conversations."""
        found = await atelier.memories.search(query, limit=limit)
        return {
            "memories": [
                {"id": hit.memory.id, "type": hit.memory.type.value, "content": hit.memory.content}
                for hit in found.hits
            ]
        }

    async def list_reports(workflow_id: _Workflow) -> dict[str, object]:
        """The reports that the agents of a conversation wrote."""
        await atelier.repos.workflows.get(workflow_id)
        return {
            "reports": [
                {"name": row.name, "author": row.author, "size": row.size}
                for row in await atelier.reports.list(workflow_id)
            ]
        }

    async def read_report(workflow_id: _Workflow, name: Annotated[str, Field(max_length=limits.REPORT_NAME)]) -> str:
        """A report as Markdown."""
        return await atelier.reports.read(workflow_id, name)

    for function in (run_agent, list_agents, search_memory, list_reports, read_report):
        annotations = None if function is run_agent else reading
        server.add_tool(_in_words(function), name=function.__name__, annotations=annotations, structured_output=False)
    return server


async def serve(server: MCPServer, lines: Callable[[], Awaitable[str | None]], write: Callable[[str], object]) -> None:
    """Serve over lines of text until there are no more."""
    lowlevel = server._lowlevel_server
    async with _streams(lines, write) as (incoming, outgoing):
        await lowlevel.run(incoming, outgoing, lowlevel.create_initialization_options())


@asynccontextmanager
async def _streams(
    lines: Callable[[], Awaitable[str | None]], write: Callable[[str], object]
) -> AsyncIterator[tuple[Any, Any]]:
    into, incoming = anyio.create_memory_object_stream["SessionMessage | Exception"](0)
    outgoing, out_of = anyio.create_memory_object_stream["SessionMessage"](0)

    async def read() -> None:
        async with into:
            while (line := await lines()) is not None:
                if line.strip():
                    try:
                        message: SessionMessage | Exception = SessionMessage(
                            jsonrpc_message_adapter.validate_json(line, by_name=False)
                        )
                    except ValueError as error:
                        message = error
                    await into.send(message)

    async def send() -> None:
        async with out_of:
            async for message in out_of:
                write(message.message.model_dump_json(by_alias=True, exclude_unset=True) + "\n")

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        group.start_soon(send)
        yield incoming, outgoing
        group.cancel_scope.cancel()


def _in_words(function: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
    """Wrap a function so that our own errors are passed on unchanged."""

    @wraps(function)
    async def call(*args: object, **fields: object) -> object:
        try:
            return await function(*args, **fields)
        except AtelierError as error:
            raise ToolError(str(error)) from None

    return call
