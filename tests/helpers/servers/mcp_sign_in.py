"""An MCP server over HTTP that requires sign-in, with its authorization server, made with the SDK."""

from __future__ import annotations

import asyncio
import secrets
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest


@asynccontextmanager
async def served(app: Any, port: int = 0) -> AsyncIterator[str]:
    """Serve an application on this machine; yields its address."""
    import uvicorn

    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="on", timeout_graceful_shutdown=1))
    task = asyncio.create_task(server.serve([listening]))
    try:
        while not server.started:
            await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task
        listening.close()


class Accounts:
    """Data of an authorization server; everybody is signed in at once.

    Attributes:
        lifetime: announced lifetime of tokens; None for none.
        token_status: error status of the token endpoint; 0 for normal operation.
        strict: only the newest revision is answered.
        wants: a scope that the MCP server requires.
    """

    def __init__(self) -> None:
        self.clients: dict[str, Any] = {}
        self.codes: dict[str, Any] = {}
        self.refresh: dict[str, Any] = {}
        self.access: dict[str, Any] = {}
        self.issuer = ""
        self.deny = False
        self.asked = 0
        self.refreshed = 0
        self.lifetime: int | None = 3600
        self.token_status = 0
        self.wants = ""
        self.strict = False

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
            code=secrets.token_urlsafe(24), scopes=params.scopes or [], expires_at=time.time() + 60,
            client_id=client.client_id,
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
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=self.lifetime)


async def _answered(send: Any, status: int, challenge: str = "") -> None:
    headers = [(b"www-authenticate", challenge.encode())] if challenge else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"{}"})


@asynccontextmanager
async def guarded(accounts: Accounts) -> AsyncIterator[str]:
    """A server that requires sign-in, and its authorization server, at one address."""
    from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
    from mcp.server.mcpserver import MCPServer
    from pydantic import AnyHttpUrl

    made: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        path = scope.get("path")
        token = dict(scope.get("headers") or ()).get(b"authorization", b"").decode().removeprefix("Bearer ")
        if path == "/mcp" and accounts.strict and dict(scope.get("headers") or ()).get(b"mcp-protocol-version") is None:
            await _answered(send, 400)
        elif path == "/token" and accounts.token_status:
            await _answered(send, accounts.token_status)
        elif (
            path == "/mcp"
            and accounts.wants
            and token in accounts.access
            and accounts.wants not in accounts.access[token].scopes
        ):
            await _answered(send, 403, f'Bearer error="insufficient_scope", scope="{accounts.wants}"')
        else:
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


def signs_in(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replaces the browser: signs in at any address; returns the addresses."""
    opened: list[str] = []

    def visit(url: str) -> None:
        opened.append(url)
        httpx2.get(url, follow_redirects=True)

    monkeypatch.setattr("atelier_desk.mcp.oauth.open_browser", visit)
    return opened
