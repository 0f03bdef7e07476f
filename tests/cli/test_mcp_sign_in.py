"""``atelier mcp login`` and ``logout`` with a local authorization server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from atelier_desk.llm.secrets import KeyVault
from tests.cli.conftest import Cli
from tests.helpers.memory_keyring import MemoryKeyring
from tests.helpers.servers.mcp_sign_in import Accounts, guarded, signs_in


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    return signs_in(monkeypatch)


@contextmanager
def running(accounts: Accounts) -> Iterator[str]:
    """The server in its own thread, because a command uses this one."""
    address: list[str] = []
    up = threading.Event()
    loop = asyncio.new_event_loop()
    over = asyncio.Event()

    async def serve() -> None:
        async with guarded(accounts) as url:
            address.append(url)
            up.set()
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    try:
        assert up.wait(30)
        yield address[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()


def test_signing_in_and_out(cli: Cli, browser: list[str]) -> None:
    accounts = Accounts()
    options = {"vault": KeyVault(backend=MemoryKeyring())}
    with running(accounts) as url:
        added = cli("mcp", "add", "guarded", "--url", url, options=options)
        assert "The MCP server guarded requires you to sign in." in added.err
        assert (cli("mcp", "test", "guarded", options=options).status, browser) == (1, [])
        signed = cli("mcp", "login", "guarded", options=options)
        assert (signed.status, len(browser)) == (0, 1), signed.err
        assert f"If it does not open: {browser[0]}" in signed.err
        assert "offers 1 tool" in signed.out
        assert cli("mcp", "test", "guarded", options=options).status == 0, "the sign-in outlives the command"
        assert cli("mcp", "logout", "guarded", options=options).out == "Signed out of guarded.\n"
        assert cli("mcp", "test", "guarded", options=options).status == 1
        accounts.deny = True
        refused = cli("mcp", "login", "guarded", "--json", options=options)
        assert (refused.status, refused.json["code"], "guarded" in refused.json["message"]) == (
            1,
            "sign_in_failed",
            True,
        )


def test_a_local_server_has_no_sign_in(cli: Cli) -> None:
    cli("mcp", "add", "local", "--no-test", "--command", "x")
    found = cli("mcp", "login", "local")
    assert (found.status, "nothing to sign in to" in found.err) == (2, True)


def test_a_manually_registered_client(cli: Cli) -> None:
    options = {"vault": KeyVault(backend=MemoryKeyring())}
    web = ("mcp", "add", "web", "--no-test", "--url", "https://a.example/mcp")
    assert "--client-id" in cli(*web, "--client-secret", "secret-of-mine", options=options).err
    assert "no keyring" in cli(*web, "--client-id", "mine", "--client-secret", "secret-of-mine").err
    local = cli("mcp", "add", "local", "--client-id", "mine", "--no-test", "--command", "x", options=options)
    assert (local.status, "sign-in" in local.err) == (2, True)
    added = cli(
        *web, "--client-id", "mine", "--client-secret", "secret-of-mine", "--scopes", "a b", "--json", options=options
    )
    assert added.status == 0, added.err
    assert (added.json["config"]["client_id"], added.json["config"]["scopes"]) == ("mine", "a b")
    assert "secret-of-mine" not in added.out + added.err
