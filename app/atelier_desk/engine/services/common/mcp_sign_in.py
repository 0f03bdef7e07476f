"""Sign in to MCP servers in the browser, and sign out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.mcp import START_S, McpServer
from atelier_desk.engine.services.common.mcp_status import McpHealth, McpStatus
from atelier_desk.mcp.server_secrets import entry
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_storage_thread

if TYPE_CHECKING:
    from atelier_desk.llm.secrets import KeyVault
    from atelier_desk.mcp.connection import Connection
    from atelier_desk.mcp.oauth import StoredTokens

WAIT_S = 300.0
"""Time limit in seconds to sign in."""
OnAddress = Callable[[str], object] | None


class Servers(Protocol):
    """Access to the servers."""

    async def get(self, name: str) -> McpStatus: ...

    async def settled(self, name: str) -> McpServer: ...

    async def test(self, name: str) -> McpHealth: ...

    async def stop(self, name: str) -> None: ...

    async def connection(self, name: str) -> Connection: ...


class McpSignIn:
    """Sign-ins; their results are in the keyring."""

    def __init__(self, servers: Servers, vault: KeyVault) -> None:
        self._servers, self._vault = servers, vault
        self._signing: dict[str, tuple[StoredTokens, OnAddress]] = {}

    async def sign_in(self, name: str, told: OnAddress = None) -> McpHealth:
        """Sign in to a server in the browser, and connect. ``told`` gets the address of the page. Cancelling aborts it.

        Raises:
            UsageError: the server has no address.
        """
        from atelier_desk.mcp import oauth

        config = await self._servers.settled(name)
        if config.transport != "http":
            raise UsageError(
                N_("The MCP server {server} is a program on this computer: there is nothing to sign in to."),
                server=name,
            )
        tokens = oauth.StoredTokens(config, self._vault)
        await tokens.load()
        callback = oauth.Callback()
        port = await callback.open(int(tokens.metadata.get("port", 0)))
        try:
            if port != tokens.metadata.get("port") or tokens.metadata.get("doubtful"):
                # Registered with another redirect address, or possibly forgotten by the server, which would refuse this
                # client.
                tokens.metadata = {}
            # Until success: an attempt that ended in the browser gives no reason.
            await tokens.note(port=port, doubtful=True)
            tokens.asking = callback
            health = await self._signed_in(name, tokens, told)
            if health.ok:
                await tokens.note(doubtful=False, challenge="")
            return health
        finally:
            # The connection uses the new sign-in; nobody waits for a browser any more.
            tokens.asking = None
            self._signing.pop(name, None)
            await callback.close()

    async def sign_out(self, name: str) -> None:
        """Delete a server's client and tokens, and end its connection."""
        config = (await self._servers.get(name)).config
        await in_storage_thread(self._vault.delete, entry(config, "oauth"))
        await self._servers.stop(name)

    async def auth(self, server: McpServer) -> object:
        """Return what authenticates a server's requests; None if nobody ever signed in."""
        from atelier_desk.mcp import oauth, oauth_request_auth  # import the SDK

        if server.name in self._signing:
            tokens, notify = self._signing[server.name]
        else:
            tokens, notify = oauth.StoredTokens(server, self._vault), None
            await tokens.load()
            if not tokens.signed_in:
                return None
        return await oauth_request_auth.auth(server, tokens, told=notify)

    async def _signed_in(self, name: str, kept: StoredTokens, told: OnAddress) -> McpHealth:
        health = McpHealth(ok=False)
        for _attempt in range(2):
            registered = "client" in kept.metadata
            self._signing[name] = (kept, told)
            await self._servers.stop(name)
            connection = await self._servers.connection(name)
            connection.start_s, before = WAIT_S + START_S, connection.start_s
            try:
                health = await self._servers.test(name)
            finally:
                connection.start_s = before
            if health.ok or health.code != "sign_in_failed" or not registered:
                break
            # The server may have forgotten the client, or not allow the new scopes: retry as a new client.
            kept.metadata = {name: kept.metadata.get(name) for name in ("port", "challenge")}
        return health
