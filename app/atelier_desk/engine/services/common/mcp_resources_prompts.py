"""Resources and prompts of MCP servers, read through a connection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.mcp import McpEntry, McpError, McpPrompt, McpServer, McpTemplate, RejectedKind
from atelier_desk.mcp import prompts, results
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.support.visible_and_shortened_text import shorten

if TYPE_CHECKING:
    from atelier_desk.mcp.connection import Connection

log = logging.getLogger(__name__)
T = TypeVar("T")
PROPOSES_S = 5.0
"""Time limit in seconds for proposals while somebody types."""


class Refresh(Protocol):
    """Compares a server with its stored state, starting it if necessary; ``anew`` even if already compared."""

    def __call__(self, name: str, *, anew: bool = False) -> Awaitable[None]: ...


class McpContent:
    """Reads resources and prompts.

    Args:
        entries: all servers by name.
        entry: one of them; raises ``NotFoundError``.
        connection: to a server, started if necessary.
    """

    def __init__(
        self,
        entries: Callable[[], Awaitable[dict[str, McpEntry]]],
        entry: Callable[[str], Awaitable[McpEntry]],
        refresh: Refresh,
        connection: Callable[[McpServer], Awaitable[Connection]],
    ) -> None:
        self._all, self._entry, self._refresh, self._connection = entries, entry, refresh, connection
        self._making: set[asyncio.Task[tuple[McpPrompt, str]]] = set()

    async def resource(self, name: str, uri: str) -> tuple[str, bytes, str]:
        """Return a resource: its text, otherwise its bytes, and its media type. Our secrets are hidden in texts.

        Raises:
            McpError: the server no longer has it, or returns nothing.
        """
        entry = await self._entry(name)
        await self._refresh(name)
        connection = await self._connection(entry.config)
        found = await connection.request(lambda client: client.read_resource(uri))
        text, data, kind = await asyncio.to_thread(results.contents, found)  # searching 20 MB for secrets takes seconds
        if not text and not data:
            raise McpError(
                N_("The MCP server {server} returned nothing for {uri}."),
                code="empty",
                server=name,
                uri=shorten(uri, 200),
            )
        return text, data, kind

    async def fill(self, name: str, template: str, values: Mapping[str, str]) -> str:
        """Return a template's address filled with these values. No server is started.

        Raises:
            NotFoundError: the server listed no such template. UsageError: a value is missing or unknown.
        """
        from atelier_desk.mcp import resource_templates

        return await in_tool_thread(
            resource_templates.filled, name, self._template(await self._entry(name), template), dict(values)
        )

    async def propose(
        self, name: str, template: str, variable: str, typed: str, others: Mapping[str, str]
    ) -> list[str]:
        """Return the server's proposals for a placeholder, given the ``others``.

        Starts the server. Empty if unsupported.
        """
        from atelier_desk.mcp import resource_templates

        found = self._template(await self._entry(name), template)
        try:
            await self._refresh(name)
            connection = await self._connection((await self._entry(name)).config)
            return await connection.request(
                lambda client: resource_templates.proposed(client, found, variable, typed, others), PROPOSES_S
            )
        except McpError as error:
            log.info("%s", error)
            return []

    @staticmethod
    def _template(entry: McpEntry, uri: str) -> McpTemplate:
        found = next((each for each in entry.known.templates if each.uri == uri), None)
        if found is None:
            known = ", ".join(each.uri for each in entry.known.templates) or "-"
            raise NotFoundError(
                N_("The MCP server {server} has no resource template {uri}. Its templates: {known}."),
                server=entry.name,
                uri=uri,
                known=known,
            )
        return found

    async def prompts(self) -> list[tuple[str, McpPrompt]]:
        """Return the prompts of all enabled servers with their server's name, as last listed. No server is started."""
        entries = await self._all()
        return [
            (name, each)
            for name in sorted(entries)
            if entries[name].config.enabled
            for each in entries[name].known.offered
        ]

    async def prompt(self, name: str, call: str, given: str) -> tuple[McpPrompt, str] | None:
        """Return a prompt and its text for the arguments ``given``: ``argument=value …``. None without such a server or
        any prompts.

        Raises:
            NotFoundError: it has no such prompt; the error lists them.
            UsageError: an argument is missing or unknown.
            McpError: the server is disabled or gone, refuses, takes too long or returns nothing.
        """
        entry = (await self._all()).get(name)
        if entry is None or not entry.known.prompts:
            return None
        found = _prompt(entry, call)
        if found is not None:
            prompts.given(name, found, given)  # report argument errors before starting a server
        making = asyncio.create_task(self._prompt_made(name, call, given))
        self._making.add(making)
        making.add_done_callback(self._making.discard)
        try:
            return await making
        except asyncio.CancelledError:
            waiter = asyncio.current_task()
            if waiter is not None and waiter.cancelling():
                raise
            raise McpError(
                N_("Cancelled: the MCP server {server} had not answered yet."), code="cancelled", server=name
            ) from None

    async def stop_waiting(self) -> None:
        """Cancel all awaited prompts: their callers get an ``McpError``."""
        for making in list(self._making):
            making.cancel()

    async def _prompt_made(self, name: str, call: str, given: str) -> tuple[McpPrompt, str]:
        await self._refresh(name)
        if _prompt(await self._entry(name), call) is None:
            await self._refresh(name, anew=True)
        entry = await self._entry(name)
        found = _prompt(entry, call)
        if found is None:
            known = ", ".join(each.call for each in entry.known.offered) or "-"
            raise NotFoundError(
                N_("The MCP server {server} has no prompt {name}. Its prompts: {known}."),
                server=name,
                name=call,
                known=known,
            )
        values = prompts.given(name, found, given)
        wanted = found.name
        connection = await self._connection(entry.config)
        text = prompts.text_of(await connection.request(lambda client: client.get_prompt(wanted, values)))
        if not text:
            raise McpError(
                N_("The MCP server {server} returned nothing for {uri}."), code="empty", server=name, uri=call
            )
        return found, text


async def listed(
    connection: Connection, kind: RejectedKind, ask: Callable[[], Awaitable[Sequence[T]]]
) -> tuple[T, ...]:
    """Return a list of a server besides its tools; failures are recorded without affecting the tools."""
    try:
        return tuple(await ask())
    except McpError as error:
        log.warning("%s", error)
        connection.entries.reject(kind, "", str(error))
        return ()


def _prompt(entry: McpEntry, call: str) -> McpPrompt | None:
    return next((each for each in entry.known.offered if each.call == call), None)
