"""Signing in: registration, callback to a local port, tokens stored per issuer, refreshed, registered again when
refused, and never sent to the wrong server.
"""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from atelier_desk.domain.mcp import McpError, McpServer
from atelier_desk.engine import Atelier
from atelier_desk.mcp import oauth
from atelier_desk.mcp.server_secrets import entry
from tests.engine.conftest import Opener, open_atelier
from tests.helpers.servers.mcp_sign_in import Accounts, guarded, signs_in

__all__ = ["open_atelier"]


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    return signs_in(monkeypatch)


async def add(atelier: Atelier, url: str, secrets: dict[str, str] | None = None, **fields: Any) -> None:
    await atelier.mcp.save(McpServer(name="guarded", transport="http", url=url, **fields), secrets, new=True)


async def kept_of(atelier: Atelier) -> dict[str, Any]:
    """The keyring's entry of the sign-in."""
    kept = oauth.StoredTokens((await atelier.mcp.get("guarded")).config, atelier.vault)
    await kept.load()
    return kept.metadata


async def test_sign_in_sign_out_and_restart(open_atelier: Opener, browser: list[str]) -> None:
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
        # The token has expired: a new one is fetched without the person.
        kept = oauth.StoredTokens((await atelier.mcp.get("guarded")).config, atelier.vault)
        await kept.load()
        await kept.note(until=time.time() - 10)
        accounts.access.clear()
        assert (await atelier.mcp.restart("guarded")).ok
        assert (accounts.refreshed, len(browser)) == (1, 1)
        # The server forgot this client: it is registered again.
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
        assert await kept_of(atelier) == {}


@pytest.mark.parametrize("how", ["refused", "wrong issuer"])
async def test_refusals_and_wrong_issuers_are_reported(open_atelier: Opener, browser: list[str], how: str) -> None:
    accounts = Accounts()
    accounts.deny, accounts.issuer = how == "refused", "https://evil.example" if how == "wrong issuer" else ""
    async with guarded(accounts) as url, open_atelier() as atelier:
        await add(atelier, url)
        health = await atelier.mcp.sign_in("guarded")
        assert (health.ok, health.code) == (False, "sign_in_failed")
        assert "guarded" in health.message
        assert accounts.access == {}


def registered(accounts: Accounts, **fields: Any) -> None:
    """A client that was registered by hand."""
    from mcp.shared.auth import OAuthClientInformationFull

    client = {"client_id": "mine", "redirect_uris": ["http://127.0.0.1/callback"], "scope": "read", **fields}
    found = OAuthClientInformationFull.model_validate(client)
    # The port changes each time; the program prints it.
    object.__setattr__(found, "validate_redirect_uri", lambda uri: uri)
    accounts.clients["mine"] = found


@pytest.mark.parametrize("secret", ["", "secret-of-this-client"])
async def test_a_client_that_was_registered_by_hand_is_used_with_its_secret(
    open_atelier: Opener, browser: list[str], secret: str
) -> None:
    accounts = Accounts()
    how = (
        {"token_endpoint_auth_method": "client_secret_basic", "client_secret": secret}
        if secret
        else {"token_endpoint_auth_method": "none"}
    )
    registered(accounts, **how)
    async with guarded(accounts) as url, open_atelier() as atelier:
        await add(atelier, url, {"client:secret": secret} if secret else None, client_id="mine", scopes="read")
        assert await atelier.mcp.has_client_secret("guarded") is bool(secret)
        health = await atelier.mcp.sign_in("guarded")
        assert health.ok, health.message
        assert list(accounts.clients) == ["mine"], "nothing else was registered"
        assert "client_id=mine" in browser[0]
        assert secret not in str(await atelier.store.query("SELECT * FROM mcp_server")) or not secret
        config = (await atelier.mcp.get("guarded")).config
        await atelier.mcp.save(config.model_copy(update={"client_id": ""}))
        assert await kept_of(atelier) == {}, "tokens of another client are of no use"
        assert atelier.vault.get(entry(config, "client", "secret")) is None


async def test_only_the_expected_callback_completes_the_sign_in(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[int] = []

    def visit(url: str) -> None:
        back = parse_qs(urlsplit(url).query)["redirect_uri"][0]
        for forged in (
            "error=access_denied",
            "error=access_denied&state=x",
            "code=stolen",
            "code=stolen&state=",
            "code=stolen&state=x",
        ):
            answers.append(httpx2.get(f"{back}?{forged}").status_code)
        answers.append(httpx2.get(url, follow_redirects=True).status_code)

    monkeypatch.setattr(oauth, "open_browser", visit)
    accounts = Accounts()
    async with guarded(accounts) as url, open_atelier() as atelier:
        await add(atelier, url)
        health = await atelier.mcp.sign_in("guarded")
        assert health.ok, health.message
    assert answers == [404, 404, 404, 404, 404, 200]


async def test_a_callback_before_the_browser_was_opened_is_ignored() -> None:
    callback = oauth.Callback()
    port = await callback.open(0)
    try:
        async with httpx2.AsyncClient() as client:
            for given in ("code=x", "code=x&state=", "error=x&state="):
                assert (await client.get(f"http://127.0.0.1:{port}/callback?{given}")).status_code == 404
            callback.expect("mark")
            assert (await client.get(f"http://127.0.0.1:{port}/callback?code=x&state=mark")).status_code == 200
        assert await callback.answer() == {"code": "x", "state": "mark"}
    finally:
        await callback.close()


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "http://a.example/x", "javascript:alert(1)", "calc:1", "https://"]
)
def test_an_address_that_is_no_web_page_is_not_opened(url: str) -> None:
    with pytest.raises(McpError, match="guarded"):
        oauth.checked_address(url, "guarded")
    assert oauth.checked_address("https://a.example/authorize", "guarded")


async def _looked_up(host: str, port: int) -> tuple[str, ...]:
    return {
        "public.example.com": ("93.184.216.34",),
        "login.example.com": ("93.184.216.35", "2606:2800:220:1::1"),
        "sly.example.com": ("93.184.216.35", "10.0.0.1"),
        "team.example.com": ("10.0.0.7",),
    }.get(host, ())


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8080/x", "https://127.0.0.1/x", "https://[::1]/x", "https://169.254.169.254/latest", "https://router/x",
        "https://nas.lan/x", "https://sly.example.com/token", "http://login.example.com/register", "https://localhost./x",
        "https://[::ffff:10.0.0.1]/x", "http://public.example.com/mcp",
    ],
)  # fmt: skip
async def test_a_public_server_cannot_send_a_sign_in_into_the_private_network(url: str) -> None:
    reach = oauth.OAuthReach(McpServer(name="far", transport="http", url="https://public.example.com/mcp"), _looked_up)
    with pytest.raises(McpError, match="far"):
        await reach.check(url)


@pytest.mark.parametrize(
    ("server", "url"),
    [
        ("https://public.example.com/mcp", "https://public.example.com/.well-known/oauth-protected-resource"),
        ("https://public.example.com/mcp", "https://login.example.com/token"),
        ("http://127.0.0.1:9000/mcp", "http://127.0.0.1:9001/token"),
        ("https://team.example.com/mcp", "https://10.0.0.9/token"),
        ("http://nas.lan/mcp", "http://login.lan/token"),
    ],
)
async def test_other_sign_ins_are_allowed(server: str, url: str) -> None:
    await oauth.OAuthReach(McpServer(name="far", transport="http", url=server), _looked_up).check(url)


async def test_a_sign_in_into_the_private_network_ends_before_any_request(
    open_atelier: Opener, browser: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.helpers.servers.mcp_sign_in import served

    inside: list[str] = []

    async def victim(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            inside.append(scope["path"])
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"{}"})

    async with served(victim) as within:

        async def stranger(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http":
                challenge = f'Bearer resource_metadata="{within}/secret"'.encode()
                await send(
                    {"type": "http.response.start", "status": 401, "headers": [(b"www-authenticate", challenge)]}
                )
                await send({"type": "http.response.body", "body": b""})

        async with served(stranger) as base, open_atelier() as atelier:
            await add(atelier, f"{base}/mcp")
            strange = urlsplit(base).netloc
            there = oauth.OAuthReach._inside

            async def outside(self: oauth.OAuthReach, parts: Any) -> bool:
                return parts.netloc != strange and await there(self, parts)

            monkeypatch.setattr(oauth.OAuthReach, "_inside", outside)
            health = await atelier.mcp.sign_in("guarded")
    assert (health.ok, health.code, inside, browser) == (False, "sign_in_failed", [], [])
    assert within in health.message


async def said_by(atelier: Atelier) -> str:
    """The answer of a call, or the code of its error."""
    connection = await atelier.mcp.connection("guarded")
    try:
        result: Any = await connection.call("hello", {})
    except McpError as error:
        return error.code
    return str(result.content[0].text)


@pytest.mark.parametrize("lifetime", [3600, None])
async def test_a_token_refused_early_is_renewed_before_the_person_is_asked(
    lifetime: int | None, open_atelier: Opener, browser: list[str]
) -> None:
    accounts = Accounts()
    accounts.lifetime = lifetime
    async with guarded(accounts) as url, open_atelier() as atelier:
        await add(atelier, url)
        assert (await atelier.mcp.sign_in("guarded")).ok
        accounts.access.clear()
        assert await said_by(atelier) == "hello"
        assert (accounts.refreshed, len(browser)) == (1, 1)
        # The new one is refused, too: the call reports that a sign-in is needed, and the earlier sign-in opens no
        # browser now.
        accounts.access.clear()
        accounts.refresh.clear()
        assert await said_by(atelier) == "sign_in"
        assert len(browser) == 1


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_an_unreachable_token_endpoint_does_not_sign_out(
    status: int, open_atelier: Opener, browser: list[str]
) -> None:
    accounts = Accounts()
    async with guarded(accounts) as url, open_atelier() as atelier:
        await add(atelier, url)
        assert (await atelier.mcp.sign_in("guarded")).ok
        accounts.access.clear()
        accounts.token_status = status
        assert await said_by(atelier) == "unreachable"
        health = await atelier.mcp.restart("guarded")
        assert f"HTTP {status}" in health.message
        accounts.token_status = 0
        assert await said_by(atelier) == "hello"
        assert len(browser) == 1


async def test_more_scopes_are_requested_at_the_next_sign_in(open_atelier: Opener, browser: list[str]) -> None:
    accounts = Accounts()
    async with guarded(accounts) as url, open_atelier() as atelier:
        await add(atelier, url, scopes="read")
        assert (await atelier.mcp.sign_in("guarded")).ok
        assert parse_qs(urlsplit(browser[-1]).query)["scope"] == ["read"], "what was entered is asked for"
        accounts.wants = "write"
        assert await said_by(atelier) == "sign_in"
        assert len(browser) == 1, "nobody is sent to a browser in the middle of a call"
        row = await atelier.mcp.get("guarded")
        assert "(write)" in row.reason
        assert "Sign in again" in row.reason
        assert (await atelier.mcp.sign_in("guarded")).ok
        assert set(parse_qs(urlsplit(browser[-1]).query)["scope"][0].split()) == {"read", "write"}
        assert len(browser) == 3, (
            "the browser opens once for the client that was not registered for this, and once for a new one"
        )
        assert await said_by(atelier) == "hello"
        assert (await kept_of(atelier))["challenge"] == ""


@pytest.mark.parametrize(
    ("supported", "method"),
    [
        (None, "client_secret_basic"),
        (["client_secret_basic", "client_secret_post"], "client_secret_basic"),
        (["client_secret_post"], "client_secret_post"),
        (["private_key_jwt"], "client_secret_basic"),
    ],
)
def test_a_client_secret_is_sent_in_the_way_the_server_supports(supported: list[str] | None, method: str) -> None:
    from atelier_desk.mcp import oauth_request_auth

    assert oauth_request_auth.method(supported) == method


async def test_a_server_with_only_the_newest_protocol_requires_a_sign_in_too(
    open_atelier: Opener, browser: list[str]
) -> None:
    accounts = Accounts()
    accounts.strict = True  # after a refusal the older protocol is tried, which this server does not know
    async with guarded(accounts) as url, open_atelier() as atelier:
        await add(atelier, url)
        assert (await atelier.mcp.test("guarded")).code == "sign_in"
        assert browser == []
