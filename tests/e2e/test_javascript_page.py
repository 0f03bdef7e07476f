"""A page that needs JavaScript, rendered by this machine's Chromium; skipped without one."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from atelier_desk.web import page_fetcher
from atelier_desk.web.browser.browser_discovery import find
from atelier_desk.web.page_fetcher import Web
from tests.helpers.fake_websites import PUBLIC, Reply, parsed_here, sites
from tests.web.conftest import Hasty

PROGRAM = b"""
addEventListener('load', async () => {
  const said = async (url) => { try { return (await fetch(url, {mode: 'no-cors'})).type } catch { return 'refused' } }
  const text = await (await fetch('/api')).text()
  const inside = await said('http://127.0.0.1:PORT/')
  const local = await said('file:///etc/passwd')
  const barred = await said('http://barred.org/')
  const socket = await new Promise(done => { const ws = new WebSocket('ws://127.0.0.1:PORT/'); ws.onopen = () => done('open'); ws.onerror = () => done('refused') })
  const peer = new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:PORT'}]})
  peer.createDataChannel('a'); await peer.setLocalDescription(await peer.createOffer())
  open('http://popup.org/')
  document.getElementById('root').innerHTML = `<main><h1>Made</h1><p>${text} ${inside} ${local} ${barred} ${socket}. ${'More words. '.repeat(40)}</p></main>`
  const link = document.createElement('a'); link.href = '/download'; link.download = 'x.bin'; link.click()
  alert('stop'); location = 'http://elsewhere.org/'
})"""  # noqa: E501


@pytest.mark.skipif(find() is None, reason="no Chromium is installed")
async def test_a_real_browser_runs_the_page_and_reaches_only_allowed_addresses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_fetcher, "ask_once", parsed_here)
    reached: list[object] = []
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    udp.setblocking(False)
    port = udp.getsockname()[1]
    listener = await asyncio.start_server(lambda _reader, _writer: reached.append("tcp"), "127.0.0.1", port)
    async with sites() as served:
        served.pages["app.org/"] = Reply(
            b"<title>App</title><script src='http://cdn.org/app.js'></script><body><div id='root'></div>"
        )
        served.pages["cdn.org/app.js"] = Reply(
            PROGRAM.replace(b"PORT", str(port).encode()), headers={"content-type": "text/javascript"}
        )
        served.pages["app.org/api"] = Reply(b"Answer of the API,", headers={"content-type": "text/plain"})
        web = Web(tmp_path / "web", Hasty(), resolve=served.resolve, network=served)
        web.browser_flags = ("--no-sandbox",)  # the page is ours, and tests may run as root
        page = await web.page(
            "http://app.org/", lambda host, port: False, barred=lambda host: "deny" if host == "barred.org" else ""
        )
        assert (page.url, page.ran != "", page.scripts) == ("http://app.org/", True, False)
        # "opaque": refused by the gate itself
        assert "Answer of the API, opaque refused refused refused." in page.markdown
        assert {each.host for each in served.asked} == {"app.org", "cdn.org"}
        assert {ip for ip, _port in served.connected} == {PUBLIC}
    listener.close()
    with pytest.raises(BlockingIOError):
        udp.recv(1)
    udp.close()
    assert reached == []
