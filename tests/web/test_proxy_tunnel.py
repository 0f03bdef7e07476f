"""A proxy gets the IP address that was checked, so that it resolves no name itself."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import httpcore
import pytest

from atelier_desk.domain.errors import ToolError
from atelier_desk.llm.network.proxy_and_certificates import ProxyUse
from atelier_desk.web import page_fetcher as reader
from atelier_desk.web.page_fetcher import Web
from atelier_desk.web.proxy_tunnel import through
from tests.helpers.fake_websites import PUBLIC, Reply, Sites, html, parsed_here
from tests.helpers.servers.proxies import FakeProxy
from tests.web.conftest import Hasty

LONG = "Words that came through a proxy, and enough of them to be taken for what a page says. " * 5


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "ask_once", parsed_here)
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize("socks", [False, True])
async def test_a_proxy_gets_the_checked_address(
    tmp_path: Path, served: Sites, hasty: Hasty, monkeypatch: pytest.MonkeyPatch, socks: bool
) -> None:
    served.pages["far.org/"] = Reply(html("Far", LONG))
    web = Web(tmp_path / "web", hasty, resolve=served.resolve)
    async with FakeProxy(served.port, socks=socks) as proxy:
        monkeypatch.setenv("ALL_PROXY" if socks else "HTTP_PROXY", f"{'socks5' if socks else 'http'}://{proxy.address}")
        assert (await web.page("http://far.org/", lambda host, port: False)).title == "Far"
        assert proxy.asked == [f"{PUBLIC}:80"]
        served.names["inside.org"] = ("10.0.0.1",)
        with pytest.raises(ToolError) as refused:
            await web.page("http://inside.org/", lambda host, port: False)
        assert (refused.value.code, len(proxy.asked)) == ("own_network", 1)


async def test_a_proxy_that_refuses_is_named(
    tmp_path: Path, served: Sites, hasty: Hasty, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FakeProxy(served.port, refuse=403) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://{proxy.address}")
        with pytest.raises(ToolError) as refused:
            await Web(tmp_path / "web", hasty, resolve=served.resolve).page("http://far.org/", lambda host, port: False)
    assert (refused.value.code, "HTTP_PROXY" in str(refused.value), "403" in str(refused.value)) == (
        "proxy",
        True,
        True,
    )


@pytest.mark.parametrize(
    ("value", "url", "asked"),
    [
        ("2606:4700::1111", "http://[2606:4700::1111]/", 0),
        ("[2606:4700::1111]", "http://[2606:4700::1111]/", 0),
        ("2606:4700::/32", "http://[2606:4700::1111]/", 0),
        ("[2606:4700::]/32", "http://[2606:4700::1111]:8080/", 0),
        ("[2606:4700::1111]:8080", "http://[2606:4700::1111]/", 1),
        ("2606:4701::/32", "http://[2606:4700::1111]/", 1),
        ("93.184.0.0/16", "http://93.184.215.14/", 0),
        ("far.org:80", "http://far.org/", 0),
        ("far.org:8080", "http://far.org/", 1),
        ("nonsense/99, ,::/x,[", "http://far.org/", 1),
    ],
)
async def test_no_proxy_matches_addresses_networks_and_ports(
    tmp_path: Path, served: Sites, hasty: Hasty, monkeypatch: pytest.MonkeyPatch, value: str, url: str, asked: int
) -> None:
    class Direct(type(served)):  # type: ignore[misc]
        """Connects the proxy's address to the proxy and all others to the pages."""

        async def connect_tcp(self, host: str, port: int, **more: object) -> object:
            return await self._real.connect_tcp("127.0.0.1", proxy.port if port == proxy.port else served.port)

    async with FakeProxy(served.port) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://{proxy.address}")
        monkeypatch.setenv("NO_PROXY", value)
        web = Web(tmp_path / "web", hasty, resolve=served.resolve, network=Direct())
        with pytest.raises(ToolError, match="404"):
            await web.page(url, lambda host, port: False)
        assert len(proxy.asked) == asked


@pytest.mark.parametrize(
    ("scheme", "said", "detail"),
    [
        ("http", b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "407"),
        ("http", b"HTTP/1.1 2000000000 OK\r\n\r\n", "not an HTTP proxy"),
        ("http", b"garbage 200 yes\r\n\r\n", "not an HTTP proxy"),
        ("http", b"HTTP/1.1 200 OK\r\n" + b"x-more: yes\r\n" * 2_000, "headers without end"),
        ("http", b"HTTP/1.1 200 OK\r\nx: y", "headers without end"),
        ("http", b"", "no answer"),
        ("https", b"HTTP/1.1 200 OK\r\n\r\n", "proxy"),
        ("socks5", b"HTTP/1.1 400 Bad Request\r\n\r\n", "SOCKS5"),
        ("socks5", b"\x05\x00\x05\x00\x00\x09\x00", "SOCKS5"),
        ("socks5", b"\x05\x00\x05\x05\x00\x01\x7f\x00\x00\x01\x00\x00", "SOCKS5"),
        ("socks5", b"\x05\x00\x05", "not a SOCKS5 proxy"),
    ],
)
async def test_a_hostile_proxy_is_abandoned_and_named(
    tmp_path: Path, served: Sites, hasty: Hasty, monkeypatch: pytest.MonkeyPatch, scheme: str, said: bytes, detail: str
) -> None:
    async def answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            await reader.read(100)
            writer.write(said)
            await writer.drain()
            writer.close()

    server = await asyncio.start_server(answers, "127.0.0.1", 0)
    monkeypatch.setenv("HTTP_PROXY", f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    with pytest.raises(ToolError) as refused:
        await Web(tmp_path / "web", hasty, resolve=served.resolve).page("http://far.org/", lambda host, port: False)
    server.close()
    assert (refused.value.code, detail in str(refused.value), len(str(refused.value)) < 400) == ("proxy", True, True), (
        str(refused.value)
    )


async def test_a_silent_or_very_slow_proxy_is_abandoned(served: Sites) -> None:
    async def drips(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while not writer.is_closing():
                writer.write(b"H")
                await writer.drain()
                await asyncio.sleep(0.01)

    server = await asyncio.start_server(drips, "127.0.0.1", 0)
    use = ProxyUse(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "shown", "HTTP_PROXY")
    with pytest.raises(ToolError, match="no answer within"):
        await through(httpcore.AnyIOBackend(), use, PUBLIC, 80, 0.1)
    server.close()
