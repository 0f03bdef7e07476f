"""Signs the requests to one server: the SDK's flow, and what it leaves to its caller.

Imports the SDK.

- A refused token is refreshed once before anybody is asked: restarted servers end tokens early.
- An unavailable token endpoint does not change the sign-in.
- More rights are requested when a person signs in again, never during a call.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.utils import extract_field_from_www_auth, extract_scope_from_www_auth
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata, OAuthMetadata

from atelier_desk.domain.mcp import McpError
from atelier_desk.llm.secrets import remember
from atelier_desk.mcp import oauth
from atelier_desk.mcp.oauth import OAuthReach, StoredTokens, document_of
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.support.visible_and_shortened_text import shorten

if TYPE_CHECKING:
    from atelier_desk.domain.mcp import McpServer

LONGEST_CHALLENGE = 4_000
"""Characters of a server's ``WWW-Authenticate`` header."""
_BUSY = 429


class Provider(OAuthClientProvider):
    """Sign-in flow of one connection.

    Attributes:
        problem: why the newest request failed, when the sign-in is the reason: the SDK's transport would only
            report that the connection closed.
    """

    def __init__(
        self,
        server: McpServer,
        metadata: OAuthClientMetadata,
        kept: StoredTokens,
        reach: OAuthReach,
        show: Callable[[str], Awaitable[None]],
        came_back: Callable[[], Awaitable[AuthorizationCodeResult]],
    ) -> None:
        document = document_of(server)
        super().__init__(
            server.url, metadata, kept, redirect_handler=show, callback_handler=came_back, client_metadata_url=document
        )
        self._server, self._stored, self._reach = server, kept, reach
        self.problem: McpError | None = None

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        flow = super().async_auth_flow(request)
        renewed = False
        try:
            asked = await anext(flow)
            challenge = (
                self._stored.metadata.get("challenge")
                if self._stored.asking is not None and not self._stored.given
                else ""
            )
            if asked is request and challenge:
                # Signing in again because the server wants more rights: act as if it had refused just now.
                #
                # Only once: connecting takes several requests, and each would open the browser.
                # connecting takes several requests, and each would open the browser.
                asked = await flow.asend(httpx2.Response(403, headers={"www-authenticate": challenge}, request=request))
            while True:
                await self._reach.check(str(asked.url))
                response = yield asked
                if asked is not request:
                    renewed = True
                    self._check_reachable(asked, response)
                elif response.status_code == 401 and not renewed and self.context.can_refresh_token():
                    renewal = await self._refresh_token()
                    await self._reach.check(str(renewal.url))
                    answer = yield renewal
                    self._check_reachable(renewal, answer)
                    if await self._handle_refresh_response(answer):
                        self._add_auth_header(request)
                        response = yield request
                if asked is request:
                    await self._check_rights(response)
                    self._name_scopes(response)
                asked = await flow.asend(response)
        except StopAsyncIteration:
            return
        except McpError as error:
            self.problem = error
            raise
        finally:
            await flow.aclose()

    def _check_reachable(self, asked: httpx2.Request, response: httpx2.Response) -> None:
        if response.status_code < 500 and response.status_code != _BUSY:
            return
        if asked.method == "POST":
            message = N_(
                "The sign-in service of the MCP server {server} cannot be reached at the moment (HTTP {status}). "
                "Nothing was lost: try again later."
            )
            raise McpError(
                message, code="unreachable", recoverable=True, server=self._server.name, status=response.status_code
            )

    async def _check_rights(self, response: httpx2.Response) -> None:
        if response.status_code != 403 or extract_field_from_www_auth(response, "error") != "insufficient_scope":
            return
        if self._stored.asking is not None:
            return
        await self._stored.note(challenge=response.headers.get("www-authenticate", "")[:LONGEST_CHALLENGE])
        scope = shorten(extract_scope_from_www_auth(response) or "-", 200)
        message = N_("The MCP server {server} needs more permissions for this ({scope}). Sign in again to grant them.")
        raise McpError(message, code="sign_in", server=self._server.name, scope=scope)

    def _name_scopes(self, response: httpx2.Response) -> None:
        """Replace the scopes the server names with those a person entered, where the SDK reads them."""
        if response.status_code == 401 and (scopes := " ".join(self._server.scopes.replace('"', " ").split())):
            rest = response.headers.get("www-authenticate", "Bearer").removeprefix("Bearer").strip()
            response.headers["www-authenticate"] = ", ".join(filter(None, (f'Bearer scope="{scopes}"', rest)))

    async def _exchange_token_authorization_code(self, auth_code: str, code_verifier: str) -> httpx2.Request:
        self._settle_method()
        return await super()._exchange_token_authorization_code(auth_code, code_verifier)

    async def _refresh_token(self) -> httpx2.Request:
        self._settle_method()
        return await super()._refresh_token()

    def _settle_method(self) -> None:
        """Set a manually registered client's authentication method, once the server's are known."""
        client, metadata = self.context.client_info, self.context.oauth_metadata
        if client is not None and client.client_secret and client.client_id == self._server.client_id:
            client.token_endpoint_auth_method = method(
                metadata.token_endpoint_auth_methods_supported if metadata is not None else None
            )


async def auth(server: McpServer, kept: oauth.StoredTokens, *, told: Callable[[str], object] | None = None) -> Provider:
    """Create what signs the requests.

    While ``kept.asking`` waits for a person, a browser opens; otherwise an expired sign-in is an error.

    Args:
        told: receives the page's address before it is opened.
    """

    async def show(url: str) -> None:
        asking = kept.asking
        if asking is None:
            if kept.signed_in:
                # Refreshing failed too: the server may have forgotten the client, and the browser would be a
                # dead end.
                await kept.note(doubtful=True)
            raise McpError(N_("The MCP server {server} requires you to sign in."), code="sign_in", server=server.name)
        oauth.checked_address(url, server.name)
        asking.expect(parse_qs(urlsplit(url).query).get("state", [""])[0])
        if told is not None:
            told(url)
        await in_tool_thread(oauth.open_browser, url)

    async def came_back() -> AuthorizationCodeResult:
        asking = kept.asking
        assert asking is not None
        try:
            values = await asking.answer()
        except TimeoutError:
            message = N_("Nobody signed in to the MCP server {server} within {seconds} seconds.")
            raise McpError(message, code="sign_in_failed", server=server.name, seconds=round(oauth.WAIT_S)) from None
        if values.get("error") == "access_denied" and not values.get("error_description"):
            raise McpError(
                N_("Signing in to the MCP server {server} was refused in the browser."),
                code="sign_in_failed",
                server=server.name,
            )
        if "code" not in values:
            detail = (values.get("error_description") or values.get("error", ""))[:300]
            raise McpError(
                N_("Signing in to the MCP server {server} was refused: {detail}"),
                code="sign_in_failed",
                server=server.name,
                detail=detail,
            )
        remember(values["code"])
        return AuthorizationCodeResult(code=values["code"], state=values.get("state"), iss=values.get("iss"))

    metadata = OAuthClientMetadata.model_validate(
        {
            "client_name": "Atelier",
            "redirect_uris": [kept.redirect],
            "grant_types": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_method": "none",
            "scope": server.scopes or None,
        }
    )
    reach = oauth.OAuthReach(server)

    made = Provider(server, metadata, kept, reach, show, came_back)
    kept.provider = made
    if kept.metadata.get("metadata"):
        made.context.oauth_metadata = OAuthMetadata.model_validate(kept.metadata["metadata"])
    if kept.metadata.get("until"):
        made.context.token_expiry_time = float(kept.metadata["until"])
    return made


def method(supported: list[str] | None) -> str:
    """Authentication method of a client with a secret.

    RFC 8414: a server that lists none accepts ``client_secret_basic``.
    """
    basic, post = "client_secret_basic", "client_secret_post"
    return post if supported and post in supported and basic not in supported else basic
