"""The gate checks every connection of a browser against the address rules."""

# judges: app/atelier_desk/web/checked_connections.py
from __future__ import annotations

import asyncio

import pytest

from atelier_desk.web.address import read
from atelier_desk.web.browser import filtering_proxy
from atelier_desk.web.browser.filtering_proxy import Gate
from atelier_desk.web.checked_connections import Dialer
from tests.helpers.fake_websites import PUBLIC, Reply, Sites
from tests.web.conftest import served as served
from tests.web.private_address_spellings import NAMES, SPELLINGS


class Everything(set[tuple[str, int]]):
    """Accepts every host, as if the page had been checked: only the address rules remain."""

    def __contains__(self, _item: object) -> bool:
        return True


async def said(at: Gate, *lines: str, body: bytes = b"") -> bytes:
    host, port = at.address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write("\r\n".join((*lines, "", "")).encode("utf-8", "replace") + body)
    try:
        return await reader.read()
    finally:
        writer.close()


async def test_the_gate_connects_to_no_address_of_the_corpus(served: Sites, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filtering_proxy, "CONNECTIONS", 1_000)
    served.names.update(NAMES)
    async with Gate(Dialer(served.resolve, network=served), read("http://app.org/")) as at:
        at.opened = Everything()
        for url in SPELLINGS:
            host = url.partition("://")[2].partition("/")[0]
            tunnels = (f"CONNECT {host} HTTP/1.1", f"CONNECT {host}:443 HTTP/1.1") if host != "public.org" else ()
            for line in (f"GET {url} HTTP/1.1", *tunnels):
                answer = await said(at, line)
                assert answer[:13] in (b"HTTP/1.1 403 ", b"HTTP/1.1 400 "), (line, answer)
    assert served.connected == []


async def test_hosts_the_page_did_not_request_and_denied_ones_are_not_reached(served: Sites) -> None:
    served.pages["app.org/a"] = Reply(
        b"a page", headers={"content-type": "text/plain", "set-cookie": "a=b", "keep-alive": "9"}
    )
    dialer = Dialer(served.resolve, network=served, barred=lambda host: "deny" if host == "bad.org" else "")
    async with Gate(dialer, read("http://app.org/")) as at:
        at.opened |= {("app.org", 80), ("app.org", 443), ("bad.org", 443)}
        answer = await said(
            at, "GET http://app.org/a HTTP/1.1", "Host: 127.0.0.1", "Proxy-Authorization: secret", "Accept: x/y"
        )
        assert (answer[:12], answer[-10:]) == (b"HTTP/1.1 200", b"\r\n\r\na page")
        assert (b"keep-alive" in answer, b"set-cookie: a=b" in answer) == (False, True)
        assert {name: served.asked[0].headers.get(name) for name in ("host", "accept", "proxy-authorization")} == {
            "host": "app.org", "accept": "x/y", "proxy-authorization": None,
        }  # fmt: skip
        for line in ("CONNECT clients2.google.com:443 HTTP/1.1", "CONNECT bad.org:443 HTTP/1.1",
        "CONNECT app.org:80 HTTP/1.1",
                     "GET ws://app.org/ HTTP/1.1", "GET /a HTTP/1.1", "GET https://app.org/a HTTP/1.1"):  # fmt: skip
            assert (await said(at, line)).startswith(b"HTTP/1.1 403"), line
        assert (await said(at, "POST http://app.org/a HTTP/1.1", "Content-Length: x")).startswith(b"HTTP/1.1 400")
        assert (await said(at, "POST http://app.org/a HTTP/1.1", "Content-Length: 99999999")).startswith(
            b"HTTP/1.1 403"
        )
        assert (await said(at, "POST http://app.org/a HTTP/1.1", "Content-Length: 4", body=b"form")).startswith(
            b"HTTP/1.1 200"
        )
        assert served.asked[-1].headers["body"] == "form"
        assert (await said(at, "GET " + "x" * 40_000)).startswith(b"HTTP/1.1 400")
        reader, writer = await asyncio.open_connection(*at.address.split(":"))
        writer.write(b"CONNECT app.org:443 HTTP/1.1\r\n\r\n")
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 200 OK\r\n\r\n"
        writer.write(b"GET /a HTTP/1.1\r\nHost: app.org\r\n\r\n")
        assert (await reader.readuntil(b"a page")).startswith(b"HTTP/1.1 200")
        writer.close()
    assert {ip for ip, _port in served.connected} == {PUBLIC}
    assert ("bad.org:443", "barred") in at.refused


async def test_exceeding_the_data_limit_of_a_page_ends_the_connections(
    served: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def endless(writer: asyncio.StreamWriter) -> None:
        while not writer.is_closing():
            writer.write(b"x" * 10_000)
            await writer.drain()

    monkeypatch.setattr(filtering_proxy, "BYTES", 50_000)
    served.pages["app.org/a"] = Reply(endless)
    async with Gate(Dialer(served.resolve, network=served), read("http://app.org/")) as at:
        at.opened.add(("app.org", 80))
        assert len(await said(at, "GET http://app.org/a HTTP/1.1")) <= 50_000
        assert at.over
        assert await said(at, "GET http://app.org/a HTTP/1.1") == b""
        assert len(served.connected) == 1
