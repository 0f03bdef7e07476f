"""Through a proxy to the number that was checked: it is not asked to look a name up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from atelier_desk.domain.errors import ToolError
from atelier_desk.web import reader
from atelier_desk.web.reader import Web
from tests.support.servers.proxies import FakeProxy
from tests.support.sites import PUBLIC, Reply, Sites, html, parsed_here
from tests.web.conftest import Hasty

LONG = "Words that came through a proxy, and enough of them to be taken for what a page says. " * 5


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(reader, "answer_of", parsed_here)
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return


@pytest.mark.parametrize("socks", [False, True])
async def test_a_proxy_gets_the_checked_number(
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


async def test_a_proxy_that_refuses_is_named(tmp_path: Path, served: Sites, hasty: Hasty, monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeProxy(served.port, refuse=403) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://{proxy.address}")
        with pytest.raises(ToolError) as refused:
            await Web(tmp_path / "web", hasty, resolve=served.resolve).page("http://far.org/", lambda host, port: False)
    assert (refused.value.code, "HTTP_PROXY" in str(refused.value), "403" in str(refused.value)) == ("proxy", True, True)
