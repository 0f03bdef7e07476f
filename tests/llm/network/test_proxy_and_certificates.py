"""Proxies and certificates: whatever the environment, a request works or its error names the variable, the file or
the host.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import trustme

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.provider import ProviderHealth
from atelier_desk.llm.error_conversion import ErrorLocation
from atelier_desk.llm.network.proxy_and_certificates import find_proxy, transport_error, unusable_certificates
from atelier_desk.presentation.provider_test_text import problem_text
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.proxies import FakeProxy
from tests.helpers.servers.scripted_http_server import Reply
from tests.llm.provider_requests import provider, send

FAR = "http://models.test/v1"
"""A host that is not this machine, so that a proxy is used; the fake proxies end at the fake server."""
VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
async def tls_server(authority: trustme.CA) -> AsyncIterator[FakeOpenAI]:
    server = FakeOpenAI()
    server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(server.tls)
    async with server:
        yield server


async def verdict(url: str, clock: ManualClock, *, key: str = "", ca_file: str = "") -> ProviderHealth:
    made = provider("openai", url, clock, key=key, ca_file=ca_file)
    try:
        return await made.test()
    finally:
        await made.aclose()


@pytest.mark.parametrize("scheme", ["http", "socks5", "socks5h", "socks"])
@pytest.mark.parametrize("variable", ["ALL_PROXY", "http_proxy"])
async def test_a_proxy_is_used(
    openai_server: FakeOpenAI, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, scheme: str, variable: str
) -> None:
    openai_server.script(Reply(text="Hello"))
    async with FakeProxy(openai_server.port, socks=scheme.startswith("socks")) as proxy:
        monkeypatch.setenv(variable, f"{scheme}://{proxy.address}/")
        health = await verdict(FAR, clock)
        assert (health.ok, health.models) == (True, 1)
        chat = provider("openai", FAR, clock)
        assert await send(chat)
        await chat.aclose()
        assert set(proxy.asked) in ({"models.test:80"}, {"models.test"})


async def test_no_proxy_for_this_machine_and_the_hosts_in_no_proxy(
    openai_server: FakeOpenAI, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "foo:bar")
    assert (await verdict(openai_server.url, clock)).ok
    monkeypatch.setenv("NO_PROXY", "models.test")
    assert find_proxy(ErrorLocation("Lab"), FAR) is None


@pytest.mark.parametrize(
    "value",
    ["foo:bar", "http://", "ftp://proxy:1", "socks4://127.0.0.1:1", "http://u:secret-word@proxy:port", "http://h:0"],
)
async def test_an_invalid_proxy_is_named_with_its_variable(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("HTTP_PROXY", value)
    health = await verdict(FAR, clock)
    assert (health.ok, health.code) == (False, "proxy")
    assert "http_proxy" in health.message.lower()
    assert "NO_PROXY" in health.message
    assert "models.test" in health.message
    assert "secret-word" not in health.message
    chat = provider("openai", FAR, clock)
    with pytest.raises(ProviderError) as caught:
        await send(chat)
    assert (caught.value.code, caught.value.recoverable) == ("proxy", False)


async def test_an_invalid_proxy_of_the_system_settings_is_named(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("urllib.request.getproxies", lambda: {"http": "foo:bar"})
    health = await verdict(FAR, clock)
    assert health.message.startswith("The proxy in the system settings cannot be used: foo:bar. ")


async def test_a_proxy_that_does_not_answer_is_named(clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeProxy(1) as gone:
        pass
    for scheme in ("http", "socks5"):
        monkeypatch.setenv("ALL_PROXY", f"{scheme}://user:secret-word@{gone.address}")
        health = await verdict(FAR, clock)
        assert (health.ok, health.code) == (False, "proxy")
        for part in (f"{scheme}://{gone.address}", "ALL_PROXY", FAR, "Connection refused"):
            assert part in problem_text(health)
        assert "secret-word" not in problem_text(health)


@pytest.mark.parametrize("url", [FAR, "https://models.test/v1"])
async def test_a_proxy_that_requires_a_password_is_named(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    async with FakeProxy(1, refuse=407) as proxy:
        monkeypatch.setenv("ALL_PROXY", f"http://{proxy.address}")
        health = await verdict(url, clock)
    assert (health.ok, health.code) == (False, "proxy")
    assert "407" in health.detail
    assert "ALL_PROXY" in health.message


async def test_an_invalid_socks_proxy_is_an_error_with_a_message(
    openai_server: FakeOpenAI, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FakeProxy(openai_server.port, refuse=400) as http_proxy:
        monkeypatch.setenv("ALL_PROXY", f"socks5://{http_proxy.address}")
        task = asyncio.create_task(verdict(FAR, clock))
        while not task.done():
            await clock.advance(30)
            await asyncio.sleep(0.01)
    health = await task
    assert not health.ok
    assert "ALL_PROXY" in health.message


async def test_a_timeout_behind_a_proxy_names_it(clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeProxy(1, silent=True) as proxy:
        monkeypatch.setenv("ALL_PROXY", f"http://{proxy.address}")
        task = asyncio.create_task(verdict(FAR, clock))
        while not task.done():
            await clock.advance(30)
            await asyncio.sleep(0.01)
        health = await task
    assert (health.ok, health.code) == (False, "timeout")
    assert f"http://{proxy.address}" in health.message


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
async def test_missing_certificate_files_are_named(
    tls_server: FakeOpenAI,
    openai_server: FakeOpenAI,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    variable: str,
) -> None:
    missing = str(tmp_path / "missing.pem")
    monkeypatch.setenv(variable, missing)
    health = await verdict(tls_server.url, clock)
    assert (health.ok, health.code) == (False, "certificate")
    for part in (variable, missing, "--ca-file"):
        assert part in health.message
    assert (await verdict(openai_server.url, clock)).ok  # no certificates are needed without TLS


async def test_a_file_without_certificates_is_named(
    tls_server: FakeOpenAI, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "empty.pem"
    file.write_text("nothing")
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    assert "no certificate" in (await verdict(tls_server.url, clock)).detail
    health = await verdict(tls_server.url, clock, ca_file=str(tmp_path / "gone.pem"))
    assert (health.code, str(tmp_path / "gone.pem") in health.message) == ("certificate", True)


async def test_a_private_certificate_authority_on_loopback(
    tls_server: FakeOpenAI, clock: ManualClock, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    health = await verdict(tls_server.url, clock)
    assert (health.ok, health.code) == (False, "certificate")
    for part in (f"127.0.0.1:{tls_server.port}", "--ca-file", "Advanced"):
        assert part in health.message
    file = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(file))
    assert (await verdict(tls_server.url, clock, ca_file=str(file))).ok
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    assert (await verdict(tls_server.url, clock)).ok
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
    # the provider's setting takes precedence over the variable
    assert (await verdict(tls_server.url, clock, ca_file=str(file))).ok


def test_unusable_certificates_of_the_system_are_named() -> None:
    error = unusable_certificates(ErrorLocation("Lab"), FileNotFoundError(errno.ENOENT, "No such file or directory"))
    assert str(error) == "The system's certificates cannot be used (No such file or directory)."


async def test_a_certificate_for_another_host_is_refused(
    clock: ManualClock, authority: trustme.CA, tmp_path: Path
) -> None:
    server = FakeOpenAI()
    server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("elsewhere.test").configure_cert(server.tls)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    async with server:
        health = await verdict(server.url, clock, ca_file=str(tmp_path / "ca.pem"))
    assert (health.ok, health.code) == (False, "certificate")
    assert "--ca-file" not in health.message


async def test_https_to_a_server_without_tls_is_explained(openai_server: FakeOpenAI, clock: ManualClock) -> None:
    health = await verdict(openai_server.url.replace("http:", "https:"), clock, key="secret-key-1")
    assert (health.ok, health.code, health.found_url) == (False, "unreachable", openai_server.url)
    assert "http:// instead of https://" in health.message
    assert not any("authorization" in request.headers for request in openai_server.requests)


@pytest.mark.parametrize(
    ("url", "error", "told"),
    [
        (
            "https://api.openai.com/v1",
            socket.gaierror(-3, "Temporary failure in name resolution"),
            "api.openai.com was not found",
        ),
        ("https://api.openai.com/v1", OSError(errno.ENETUNREACH, "no way"), "no network route to api.openai.com"),
        ("http://localhost:1/v1", OSError(errno.ECONNREFUSED, "no"), "Check that the server is running"),
    ],
)
def test_a_computer_without_a_network_is_reported_before_the_address(url: str, error: OSError, told: str) -> None:
    failed = httpx.ConnectError("no")
    failed.__cause__ = error
    found = transport_error(ErrorLocation("Lab", url=url), failed, answered=False)
    assert (found.code, found.recoverable) == ("unreachable", True)
    assert told in str(found)
    assert ("Is this computer online?" in str(found)) is ("localhost" not in url)


@pytest.mark.parametrize(
    ("entry", "url", "direct"),
    [
        ("*.corp.test", "http://api.corp.test/v1", True),
        ("*.CORP.test", "http://a.b.corp.test/v1", True),
        ("*.corp.test:8080", "http://api.corp.test:8080/v1", True),
        ("*.corp.test:8080", "http://api.corp.test/v1", False),
        ("*.corp.test", "http://corp.test/v1", False),
        ("*.corp.test", "http://notcorp.test/v1", False),
        (".corp.test", "http://api.corp.test/v1", True),
        ("*", "http://api.corp.test/v1", True),
        ("10.0.0.0/8", "http://10.1.2.3/v1", True),
        ("10.0.0.0/8", "http://11.1.2.3/v1", False),
        ("fd00::/8", "http://[fd00::1]:8080/v1", True),
        ("[fd00::1]", "http://[fd00::1]/v1", True),
        ("", "http://localhost:1/v1", True),
        ("", "http://models.localhost:1/v1", True),
        ("", "http://localhost.:1/v1", True),
        ("", "http://127.9.9.9/v1", True),
        ("", "http://[::1]:1/v1", True),
        ("", "http://[::ffff:127.0.0.1]/v1", True),
        ("", "http://localhost.corp.test/v1", False),
    ],
)
def test_which_servers_are_reached_without_the_proxy(
    monkeypatch: pytest.MonkeyPatch, entry: str, url: str, direct: bool
) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", entry)
    assert (find_proxy(ErrorLocation("Lab"), url) is None) is direct
