"""Sign in to a server in the browser: OAuth 2.1 with PKCE, and a redirect to a local port.

Registered client and tokens are stored together in the keyring with their issuer; the SDK sends them to no
other.
"""

from __future__ import annotations

import asyncio
import html
import json
import logging
import secrets
import time
import webbrowser
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit

from mcp.client.auth.utils import is_valid_client_metadata_url
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from atelier_desk.domain.mcp import McpError, McpServer
from atelier_desk.llm.secrets import KeyVault, remember
from atelier_desk.mcp.server_secrets import entry
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.threads import in_storage_thread
from atelier_desk.web.address import is_own_name, kind_of, number
from atelier_desk.web.checked_connections import Resolver, system_resolver

log = logging.getLogger(__name__)
WAIT_S = 300.0
"""Seconds a person has to sign in."""
LONGEST_REQUEST = 16 * 1024
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")
PATH = "/callback"


class StoredTokens:
    """A server's sign-in data in the keyring, as the SDK's ``TokenStorage``.

    Never in an error or a log.

    Attributes:
        asking: waits for the person who signs in; None during normal use, when nobody does.
        given: tokens were issued since this object was created.
    """

    def __init__(self, server: McpServer, vault: KeyVault) -> None:
        self._server, self._vault = server, vault
        self._entry = entry(server, "oauth")
        self._secret = ""
        self.metadata: dict[str, Any] = {}
        self.provider: Any = None
        self.asking: Callback | None = None
        self.given = False

    async def load(self) -> None:
        """Read the data from the keyring."""
        text = await in_storage_thread(self._vault.get, self._entry)
        if self._server.client_id:
            secret = await in_storage_thread(self._vault.get, entry(self._server, "client", "secret"))
            self._secret = secret or ""
        try:
            found = json.loads(text) if text else {}
        except ValueError:
            found = {}
        self.metadata = found if isinstance(found, dict) else {}
        for secret in _secrets(self.metadata):
            remember(secret)

    @property
    def signed_in(self) -> bool:
        return bool(self.metadata.get("tokens"))

    async def clear(self) -> None:
        """Sign out: delete client and tokens."""
        self.metadata = {}
        await in_storage_thread(self._vault.delete, self._entry)

    async def note(self, **values: object) -> None:
        """Store further values."""
        self.metadata |= values
        for secret in _secrets(self.metadata):
            remember(secret)
        await in_storage_thread(self._vault.store, self._entry, json.dumps(self.metadata, separators=(",", ":")))

    async def get_tokens(self) -> OAuthToken | None:
        tokens = self.metadata.get("tokens")
        return OAuthToken.model_validate(tokens) if tokens else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        values: dict[str, object] = {"tokens": tokens.model_dump(mode="json", exclude_none=True)}
        # Lifetimes are relative to the time of issue, so the end is stored: the next start may be long after.
        values["until"] = time.time() + tokens.expires_in if tokens.expires_in else None
        metadata = self.provider.context.oauth_metadata if self.provider is not None else None
        if metadata is not None:
            values["metadata"] = metadata.model_dump(mode="json", exclude_none=True)
        self.given = True
        await self.note(**values)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        if self._server.client_id and (self._secret or not document_of(self._server)):
            # A manually registered client takes precedence over a registered one.
            how = {"token_endpoint_auth_method": "client_secret_basic" if self._secret else "none"}
            secret = {"client_secret": self._secret} if self._secret else {}
            return OAuthClientInformationFull.model_validate(
                {"client_id": self._server.client_id, "redirect_uris": [self.redirect], **how, **secret}
            )
        client = self.metadata.get("client")
        return OAuthClientInformationFull.model_validate(client) if client else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        await self.note(client=client_info.model_dump(mode="json", exclude_none=True))

    @property
    def redirect(self) -> str:
        """The redirect address; servers compare it with the registered one."""
        return f"http://127.0.0.1:{self.metadata.get('port', 0)}{PATH}"


def document_of(server: McpServer) -> str | None:
    """The client id if it is the address of a client metadata document (CIMD).

    Servers that read such documents accept it without registration.
    """
    return server.client_id if is_valid_client_metadata_url(server.client_id) else None


class Callback:
    """Waits on a local port for one redirect of the browser, then closes it."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None
        self._answer: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self._state = ""

    def expect(self, state: str) -> None:
        """Set the ``state`` of the sign-in that was started; a second one replaces it.

        Any web page can send requests to this port, but only the page that was opened knows the state.
        Without it nothing is accepted.
        """
        self._state = state
        if self._answer.done():
            self._answer = asyncio.get_running_loop().create_future()

    async def open(self, port: int) -> int:
        """Listen on the port, or on another when it is in use; returns the port."""
        try:
            self._server = await asyncio.start_server(self._asked, "127.0.0.1", port, limit=LONGEST_REQUEST)
        except OSError:
            self._server = await asyncio.start_server(self._asked, "127.0.0.1", 0, limit=LONGEST_REQUEST)
        return int(self._server.sockets[0].getsockname()[1])

    async def answer(self) -> dict[str, str]:
        """The parameters of the redirect."""
        async with asyncio.timeout(WAIT_S):
            return await self._answer

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _asked(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(10):
                line = (await reader.readline()).decode("latin-1").split(" ")
                while (await reader.readline()).strip():
                    pass
            target = urlsplit(line[1] if len(line) > 1 else "")
            values = {key: each[0] for key, each in parse_qs(target.query, max_num_fields=50).items()}
            ours = target.path == PATH and line[0] == "GET" and ("code" in values or "error" in values)
            ours = (
                ours
                and bool(self._state)
                and secrets.compare_digest(values.get("state", "").encode(), self._state.encode())
            )
            if ours and not self._answer.done():
                self._answer.set_result(values)
            text = _("You can close this window and go back to Atelier.") if ours else _("Page not found.")
            body = f"<!doctype html><meta charset=utf-8><title>Atelier</title><p>{html.escape(text)}".encode()
            head = (
                f"HTTP/1.1 {200 if ours else 404} -\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: "
                f"{len(body)}\r\n"
            )
            writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
            await writer.drain()
        except (OSError, ValueError, TimeoutError):
            log.info("a request to the sign-in's port could not be read")
        finally:
            writer.close()


def checked_address(url: str, server: str) -> str:
    """Check the address of a sign-in page before a browser opens it.

    A server could otherwise name any program on this machine. Raises ``McpError``.
    """
    parts = urlsplit(url)
    if not (parts.scheme == "https" and parts.hostname) and not (
        parts.scheme == "http" and parts.hostname in _LOOPBACK
    ):
        message = N_("The sign-in page of the MCP server {server} cannot be opened: {detail}")
        raise McpError(message, code="sign_in_failed", server=server, detail=url[:100])
    return url


class OAuthReach:
    """Checks where the requests of a server's sign-in may go.

    A server names its authorization server, which names the registration and token endpoints; such names
    could direct requests into the person's own network. Only a server in that network may name other machines
    there.
    """

    def __init__(self, server: McpServer, resolve: Resolver = system_resolver) -> None:
        self._server, self._resolve = server, resolve
        self._own: bool | None = None

    async def check(self, url: str) -> None:
        """Raise ``McpError`` when the address must not be requested.

        Checked addresses use https, so the certificate makes sure that the connection reaches the same
        machine.
        """
        asked, own = urlsplit(url), urlsplit(self._server.url)
        if (asked.scheme, asked.netloc) == (own.scheme, own.netloc):
            return
        if self._own is None:
            self._own = await self._inside(own)
        if not self._own and (asked.scheme != "https" or await self._inside(asked)):
            message = N_(
                "The MCP server {server} redirects sign-in to {address}. Atelier did not contact that address: it "
                "is not a public https server."
            )
            raise McpError(
                message,
                code="sign_in_failed",
                server=self._server.name,
                address=f"{asked.scheme}://{asked.netloc}"[:200],
            )

    async def _inside(self, parts: SplitResult) -> bool:
        """Whether a machine is in the local network, by its name or any of its addresses."""
        host = parts.hostname or ""
        if number(host) is None and is_own_name(host.removesuffix(".")):
            return True
        found = (host,) if number(host) is not None else await self._resolve(host, parts.port or 443)
        return any((ip := number(each)) is None or kind_of(ip) != "public" for each in found)


def open_browser(url: str) -> None:
    """Open a page in the person's browser."""
    webbrowser.open(url)


def _secrets(said: dict[str, Any]) -> list[str]:
    tokens, client = said.get("tokens") or {}, said.get("client") or {}
    found = (
        tokens.get("access_token"),
        tokens.get("refresh_token"),
        client.get("client_secret"),
        client.get("registration_access_token"),
    )
    return [each for each in found if isinstance(each, str) and each]
