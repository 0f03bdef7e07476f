"""Signing in: registered, come back to a port of this machine, kept by issuer, refreshed, registered anew when refused, and never wrong."""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from atelier_desk.domain.mcp import McpError, McpServer
from atelier_desk.engine import Atelier
from atelier_desk.mcp import oauth
from tests.engine.conftest import Opener, open_atelier
from tests.mcp.test_sdk_server import served

__all__ = ["open_atelier"]


class Accounts:
    """An authorization server's memory; whoever asks is signed in at once."""

    def __init__(self) -> None:
        self.clients: dict[str, Any] = {}
        self.codes: dict[str, Any] = {}
        self.refresh: dict[str, Any] = {}
        self.access: dict[str, Any] = {}
        self.issuer = ""
        self.deny = False
        self.asked = 0
        self.refreshed = 0

    async def get_client(self, client_id: str) -> Any:
        return self.clients.get(client_id)

    async def register_client(self, client_info: Any) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: Any, params: Any) -> str:
        from mcp.server.auth.provider import AuthorizationCode, construct_redirect_uri

        self.asked += 1
        if self.deny:
            return construct_redirect_uri(str(params.redirect_uri), error="access_denied", state=params.state)
        code = AuthorizationCode(
            code=secrets.token_urlsafe(24), scopes=params.scopes or [], expires_at=time.time() + 60, client_id=client.client_id,
            code_challenge=params.code_challenge, redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly, resource=params.resource,
        )  # fmt: skip
        self.codes[code.code] = code
        more = {"iss": self.issuer} if self.issuer else {}
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state, **more)

    async def load_authorization_code(self, client: Any, authorization_code: str) -> Any:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client: Any, authorization_code: Any) -> Any:
        self.codes.pop(authorization_code.code)
        return self._tokens(client, authorization_code.scopes)

    async def load_refresh_token(self, client: Any, refresh_token: str) -> Any:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client: Any, refresh_token: Any, scopes: list[str]) -> Any:
        self.refreshed += 1
        return self._tokens(client, scopes)

    async def load_access_token(self, token: str) -> Any:
        return self.access.get(token)

    async def revoke_token(self, token: Any) -> None:
        self.access.pop(token.token, None)

    def _tokens(self, client: Any, scopes: list[str]) -> Any:
        from mcp.server.auth.provider import AccessToken, RefreshToken
        from mcp.shared.auth import OAuthToken

        access, refresh = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        self.access[access] = AccessToken(token=access, client_id=client.client_id, scopes=scopes)
        self.refresh[refresh] = RefreshToken(token=refresh, client_id=client.client_id, scopes=scopes)
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=3600)


@asynccontextmanager
async def guarded(accounts: Accounts) -> AsyncIterator[str]:
    """A server that wants a sign-in, and its authorization server, at one address."""
    from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
    from mcp.server.mcpserver import MCPServer
    from pydantic import AnyHttpUrl

    made: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await made[0](scope, receive, send)

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    base = f"http://127.0.0.1:{port}"
    server = MCPServer(
        "guarded",
        auth_server_provider=accounts,  # type: ignore[arg-type]
        auth=AuthSettings(
            issuer_url=AnyHttpUrl(base), resource_server_url=AnyHttpUrl(f"{base}/mcp"), validate_token_resource=False,
            client_registration_options=ClientRegistrationOptions(enabled=True),
        ),
    )  # fmt: skip

    @server.tool()
    def hello() -> str:
        """Greets."""
        return "hello"

    made.append(server.streamable_http_app(json_response=True))
    async with served(app, port):
        yield f"{base}/mcp"


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A person who signs in wherever they are sent."""
    opened: list[str] = []

    def visit(url: str) -> None:
        opened.append(url)
        httpx2.get(url, follow_redirects=True)

    monkeypatch.setattr(oauth, "open_browser", visit)
    return opened


async def add(atelier: Atelier, url: str) -> None:
    await atelier.mcp.save(McpServer(name="guarded", transport="http", url=url), new=True)


async def test_signing_in_and_out_and_what_a_restart_does(open_atelier: Opener, browser: list[str]) -> None:
    accounts = Accounts()
    async with guarded(accounts) as url, open_atelier() as atelier:
        await add(atelier, url)
        refused = await atelier.mcp.test("guarded")
        assert (refused.ok, refused.code, browser) == (False, "sign_in", []), "nobody is sent to a browser unasked"
        shown: list[str] = []
        health = await atelier.mcp.sign_in("guarded", shown.append)
        assert (health.ok, health.tools) == (True, 1), health.message
        assert shown == browser
        assert len(accounts.clients) == 1
        assert (await atelier.mcp.restart("guarded")).ok
        assert len(browser) == 1, "who is signed in is not asked again"
        # The token is over: a new one is fetched without anybody.
        kept = oauth.Kept(McpServer(name="guarded", transport="http", url=url), atelier.vault)
        await kept.load()
        await kept.note(until=time.time() - 10)
        accounts.access.clear()
        assert (await atelier.mcp.restart("guarded")).ok
        assert (accounts.refreshed, len(browser)) == (1, 1)
        # The server forgot this client: it is registered anew.
        accounts.clients.clear()
        accounts.access.clear()
        accounts.refresh.clear()
        assert (await atelier.mcp.restart("guarded")).code == "sign_in"
        again = await atelier.mcp.sign_in("guarded")
        assert again.ok, again.message
        assert len(accounts.clients) == 1
        assert "access_token" not in str(await atelier.store.query("SELECT * FROM mcp_server"))
        await atelier.mcp.sign_out("guarded")
        assert (await atelier.mcp.test("guarded")).code == "sign_in"
        assert atelier.vault.get("mcp:guarded/oauth/") is None


@pytest.mark.parametrize("how", ["refused", "wrong issuer"])
async def test_who_refuses_and_who_lies_is_named(open_atelier: Opener, browser: list[str], how: str) -> None:
    accounts = Accounts()
    accounts.deny, accounts.issuer = how == "refused", "https://evil.example" if how == "wrong issuer" else ""
    async with guarded(accounts) as url, open_atelier() as atelier:
        await add(atelier, url)
        health = await atelier.mcp.sign_in("guarded")
        assert (health.ok, health.code) == (False, "sign_in_failed")
        assert "guarded" in health.message
        assert accounts.access == {}


@pytest.mark.parametrize("url", ["file:///etc/passwd", "http://a.example/x", "javascript:alert(1)", "calc:1", "https://"])
def test_a_page_that_is_none_is_not_opened(url: str) -> None:
    with pytest.raises(McpError, match="guarded"):
        oauth.checked_address(url, "guarded")
    assert oauth.checked_address("https://a.example/authorize", "guarded")
