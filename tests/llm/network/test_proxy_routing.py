"""Each request of a client takes the route for its own address, in both HTTP libraries."""

from __future__ import annotations

from types import ModuleType

import httpx
import httpx2
import pytest

from atelier_desk.domain.errors import ProviderError
from atelier_desk.llm.network.proxy_routing import routed_transport
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.proxies import FakeProxy

both = pytest.mark.parametrize("library", [httpx, httpx2])


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@both
async def test_a_local_server_is_reached_directly_and_another_through_the_proxy(
    openai_server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, library: ModuleType
) -> None:
    async with (
        FakeProxy(openai_server.port) as proxy,
        library.AsyncClient(transport=routed_transport(library)) as client,
    ):
        monkeypatch.setenv("ALL_PROXY", f"http://{proxy.address}")
        assert (await client.get(f"{openai_server.url}/models")).status_code == 200
        assert proxy.asked == []
        assert (await client.get("http://far.test/v1/models")).status_code == 200
        assert proxy.asked == ["far.test"]


@both
@pytest.mark.parametrize("url", ["http://far.test/v1", "https://far.test/v1"])
@pytest.mark.parametrize(
    "value", ["foo:bar", "socks4://127.0.0.1:1", "http://{gone}", "socks5://{gone}", "http://{asks}"]
)
async def test_the_proxy_is_named_when_it_fails(
    monkeypatch: pytest.MonkeyPatch, library: ModuleType, url: str, value: str
) -> None:
    async with FakeProxy() as gone:
        pass
    async with FakeProxy(refuse=407) as asks, library.AsyncClient(transport=routed_transport(library)) as client:
        monkeypatch.setenv("ALL_PROXY", value.format(gone=gone.address, asks=asks.address))
        with pytest.raises(ProviderError) as caught:
            await client.get(url)
    assert caught.value.code == "proxy"
    assert "ALL_PROXY" in str(caught.value)


@both
async def test_without_a_proxy_the_librarys_error_is_shown(library: ModuleType) -> None:
    async with FakeProxy() as gone:
        pass
    async with library.AsyncClient(transport=routed_transport(library)) as client:
        with pytest.raises(library.ConnectError):
            await client.get(f"http://{gone.address}/")
