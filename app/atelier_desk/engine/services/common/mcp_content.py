"""What MCP servers hold besides tools: resources and prompts, read through a connection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.mcp import McpEntry, McpError, McpPrompt, McpServer, McpTemplate, RejectedKind
from atelier_desk.support.i18n import N_
from atelier_desk.support.text import shorten
from atelier_desk.support.threads import in_tool_thread

if TYPE_CHECKING:
    from atelier_desk.mcp.connection import Connection

log = logging.getLogger(__name__)
T = TypeVar("T")
PROPOSES_S = 5.0
"""Seconds a server has to propose values: somebody is typing."""


class Refresh(Protocol):
    """Compares a server with what is kept of it, starting it when it does not run; ``anew`` also when it was compared before."""

    def __call__(self, name: str, *, anew: bool = False) -> Awaitable[None]: ...


class McpContent:
    """Reads resources and prompts.

    Args:
        entries: all servers by name.
        entry: one of them; raises ``NotFoundError``.
        connection: to a server, which is started when it does not run.
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
        """A resource of a server: its text, or its bytes where it is none, and its media type. Secrets of ours are hidden in a text.

        Raises:
            McpError: the server has it no more, or gives nothing.
        """
        from atelier_desk.mcp import results

        entry = await self._entry(name)
        await self._refresh(name)
        connection = await self._connection(entry.config)
        text, data, kind = results.contents(await connection.request(lambda client: client.read_resource(uri)))
        if not text and not data:
            raise McpError(N_("The MCP server {server} gives nothing for {uri}."), code="empty", server=name, uri=shorten(uri, 200))
        return text, data, kind

    async def fill(self, name: str, template: str, values: Mapping[str, str]) -> str:
        """The address that a template gives with these values. No server is started.

        Raises:
            NotFoundError: the server listed no such template. UsageError: a value is missing, or not one of its.
        """
        from atelier_desk.mcp import templates

        return await in_tool_thread(templates.filled, name, self._template(await self._entry(name), template), dict(values))

    async def propose(self, name: str, template: str, variable: str, typed: str, others: Mapping[str, str]) -> list[str]:
        """What the server proposes for a part of a template, given the ``others``; starts it. Nothing when it cannot say."""
        from atelier_desk.mcp import templates

        found = self._template(await self._entry(name), template)
        try:
            await self._refresh(name)
            connection = await self._connection((await self._entry(name)).config)
            return await connection.request(lambda client: templates.proposed(client, found, variable, typed, others), PROPOSES_S)
        except McpError as error:
            log.info("%s", error)
            return []

    @staticmethod
    def _template(entry: McpEntry, uri: str) -> McpTemplate:
        found = next((each for each in entry.known.templates if each.uri == uri), None)
        if found is None:
            known = ", ".join(each.uri for each in entry.known.templates) or "-"
            raise NotFoundError(
                N_("The MCP server {server} has no address {uri} to fill in. Known: {known}."), server=entry.name, uri=uri, known=known
            )
        return found

    async def prompts(self) -> list[tuple[str, McpPrompt]]:
        """The prompts of all servers that are on, each with its server's name, as they were listed last. No server is started."""
        entries = await self._all()
        return [(name, each) for name in sorted(entries) if entries[name].config.enabled for each in entries[name].known.offered]

    async def prompt(self, name: str, call: str, given: str) -> tuple[McpPrompt, str] | None:
        """A prompt of a server and its text, made with ``given``: ``argument=value …``. None when there is no such server, or it has none.

        Raises:
            NotFoundError: it has no such prompt; the error names those it has.
            UsageError: an argument is missing, or not one of its.
            McpError: the server is off or gone, refuses, takes too long or gives nothing.
        """
        from atelier_desk.mcp import prompts

        entry = (await self._all()).get(name)
        if entry is None or not entry.known.prompts:
            return None
        found = _prompt(entry, call)
        if found is not None:
            prompts.given(name, found, given)  # what can be said against it now starts no server
        making = asyncio.create_task(self._prompt_made(name, call, given))
        self._making.add(making)
        making.add_done_callback(self._making.discard)
        try:
            return await making
        except asyncio.CancelledError:
            waiter = asyncio.current_task()
            if waiter is not None and waiter.cancelling():
                raise
            raise McpError(N_("You stopped waiting for the MCP server {server}."), code="cancelled", server=name) from None

    async def stop_waiting(self) -> None:
        """Cancel all prompts that are waited for: who waits gets an ``McpError``."""
        for making in list(self._making):
            making.cancel()

    async def _prompt_made(self, name: str, call: str, given: str) -> tuple[McpPrompt, str]:
        from atelier_desk.mcp import prompts

        await self._refresh(name)
        if _prompt(await self._entry(name), call) is None:
            await self._refresh(name, anew=True)
        entry = await self._entry(name)
        found = _prompt(entry, call)
        if found is None:
            known = ", ".join(each.call for each in entry.known.offered) or "-"
            raise NotFoundError(N_("The MCP server {server} has no prompt {name}. Known: {known}."), server=name, name=call, known=known)
        values = prompts.given(name, found, given)
        wanted = found.name
        connection = await self._connection(entry.config)
        text = prompts.text_of(await connection.request(lambda client: client.get_prompt(wanted, values)))
        if not text:
            raise McpError(N_("The MCP server {server} gives nothing for {uri}."), code="empty", server=name, uri=call)
        return found, text


async def listed(connection: Connection, kind: RejectedKind, ask: Callable[[], Awaitable[Sequence[T]]]) -> tuple[T, ...]:
    """What a server lists besides its tools; one that cannot list it still has its tools, and what it cannot is named."""
    try:
        return tuple(await ask())
    except McpError as error:
        log.warning("%s", error)
        connection.entries.reject(kind, "", str(error))
        return ()


def _prompt(entry: McpEntry, call: str) -> McpPrompt | None:
    return next((each for each in entry.known.offered if each.call == call), None)
