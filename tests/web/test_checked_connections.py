"""Connecting: which names are resolved, which addresses are refused or tried, and the error messages for agents."""

# equivalent: checked_connections.py Dialer._open: `'web'` → `'webx'`
#   What is said of a proxy that cannot be used names the variable, the proxy and the host, and never who asked.
from __future__ import annotations

import asyncio
from collections.abc import Iterable

import httpcore
import pytest

from atelier_desk.domain.errors import ToolError
from atelier_desk.web import proxy_tunnel
from atelier_desk.web.address import read
from atelier_desk.web.checked_connections import Dialer, system_resolver
from tests.helpers.fake_websites import PUBLIC

OTHER = "2606:4700::1111"


class Network(httpcore.AsyncNetworkBackend):
    """Records connections; hosts in ``dead`` refuse."""

    def __init__(self, *dead: str) -> None:
        self.dead, self.tried = dead, list[tuple[str, int]]()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        self.tried.append((host, port))
        if host in self.dead:
            raise httpcore.ConnectError(f"{host} refuses")
        return httpcore.AsyncMockStream([])


class Names:
    """Resolves names, and records the look-ups."""

    def __init__(self, *numbers: str) -> None:
        self.numbers, self.asked = numbers, list[str]()

    async def __call__(self, host: str, port: int) -> tuple[str, ...]:
        self.asked.append(host)
        return self.numbers


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


ASK = (
    "{host}, port {port}, is on this machine or its own network, or is no web server's port: it is not fetched "
    "unless the user allows it "
    "by a rule. Ask the user to add it under Settings, Permissions: allow fetch_web_page({rule})"
)
NEVER = "{host} leads to an address that is never fetched: no public server has it. Use another source."


@pytest.mark.parametrize(("host", "port", "numbers", "looked_up", "code", "text"), [
    ("nas.lan", 8080, (PUBLIC,), False, "own_network",
    ASK.format(host="nas.lan", port=8080, rule="domain:nas.lan:8080")),
    ("printer", 80, (PUBLIC,), False, "own_network", ASK.format(host="printer", port=80, rule="domain:printer:80")),
    ("far.org", 22, (PUBLIC,), False, "own_network", ASK.format(host="far.org", port=22, rule="local:far.org:22")),
    ("10.0.0.1", 80, (), False, "own_network", ASK.format(host="10.0.0.1", port=80, rule="domain:10.0.0.1:80")),
    ("::1", 80, (), False, "own_network", ASK.format(host="[::1]", port=80, rule="domain:[::1]:80")),
    ("in.org", 80, ("10.0.0.1",), True, "own_network", ASK.format(host="in.org", port=80, rule="local:in.org:80")),
    ("both.org", 80, (PUBLIC, "10.0.0.1"), True, "own_network",
    ASK.format(host="both.org", port=80, rule="local:both.org:80")),
    ("169.254.169.254", 80, (), False, "own_network", NEVER.format(host="169.254.169.254")),
    ("fd00:ec2::254", 80, (), False, "own_network", NEVER.format(host="[fd00:ec2::254]")),
    ("meta.org", 80, (PUBLIC, "169.254.169.254"), True, "own_network", NEVER.format(host="meta.org")),
    ("odd.org", 80, ("nonsense",), True, "own_network", NEVER.format(host="odd.org")),
    ("gone.org", 80, (), True, "unknown_host", "There is no server named gone.org, or the network is down."),
])  # fmt: skip
async def test_a_refusal_gives_the_reason_and_the_rule_that_would_allow_it(
    host: str, port: int, numbers: tuple[str, ...], looked_up: bool, code: str, text: str
) -> None:
    names, network = Names(*numbers), Network()
    with pytest.raises(ToolError) as refused:
        await Dialer(names, network=network).connect_tcp(host, port)
    assert (refused.value.code, str(refused.value)) == (code, text)
    assert (names.asked, network.tried) == ([host] if looked_up else [], [])


@pytest.mark.parametrize(("host", "port", "numbers", "allowed", "tried", "own"), [
    ("far.org", 80, (PUBLIC,), False, PUBLIC, set()),
    (PUBLIC, 443, (), False, PUBLIC, set()),
    (OTHER, 80, (), False, OTHER, set()),
    ("far.org", 8080, (OTHER, PUBLIC), False, OTHER, set()),
    ("far.org", 22, (PUBLIC,), True, PUBLIC, set()),
    ("nas.lan", 80, ("192.168.1.9",), True, "192.168.1.9", {"nas.lan"}),
    ("10.0.0.1", 80, (), True, "10.0.0.1", {"10.0.0.1"}),
])  # fmt: skip
async def test_which_addresses_are_connected_to(
    host: str, port: int, numbers: tuple[str, ...], allowed: bool, tried: str, own: set[str]
) -> None:
    network = Network()
    dialer = Dialer(Names(*numbers), allowed=lambda *asked: allowed and asked == (host, port), network=network)
    await dialer.connect_tcp(host, port)
    assert (network.tried, dialer.own) == ([(tried, port)], own)


async def test_a_rule_cannot_allow_an_address_that_is_never_fetched() -> None:
    with pytest.raises(ToolError, match="never fetched"):
        await Dialer(Names("10.0.0.1", "0.0.0.0"), allowed=lambda *_: True, network=Network()).connect_tcp(
            "nas.lan", 80
        )


async def test_four_addresses_of_a_host_are_tried_in_turn() -> None:
    numbers = [f"93.184.215.{last}" for last in range(1, 7)]
    network = Network(*numbers[:3])
    await Dialer(Names(*numbers), network=network).connect_tcp("many.org", 80)
    assert [each for each, _port in network.tried] == numbers[:4]
    dead = Network(*numbers)
    with pytest.raises(httpcore.ConnectError, match=r"93\.184\.215\.4 refuses"):
        await Dialer(Names(*numbers), network=dead).connect_tcp("many.org", 80)
    assert len(dead.tried) == 4


async def test_a_redirect_to_another_host_is_checked_and_shown_in_full() -> None:
    asked = read("http://a.org:8080/x")
    said = {"barred.org": "deny", "unsure.org": "ask", "a.org:8080": "deny"}
    dialer = Dialer(Names(), barred=lambda host: said.get(host, ""))
    dialer.on_the_way(read("http://free.org/"), asked)
    dialer.on_the_way(read("http://a.org:8080/other"), asked)  # it was checked before the call
    with pytest.raises(ToolError) as barred:
        dialer.on_the_way(read("http://barred.org/y"), asked)
    assert barred.value.code == "barred"
    assert str(barred.value) == "a.org:8080 leads to barred.org, which a rule of the user forbids: it is not fetched."
    with pytest.raises(ToolError) as unsure:
        dialer.on_the_way(read("http://unsure.org/y"), asked)
    assert unsure.value.code == "elsewhere"
    assert str(unsure.value) == (
        "a.org:8080 leads to http://unsure.org/y , about which the user wants to be asked. Fetch that address if you "
        "want to go there."
    )


@pytest.mark.parametrize(("variable", "host", "port", "told"), [
    ("HTTP_PROXY", "far.org", 80, "far.org"), ("HTTPS_PROXY", "far.org", 443, "far.org"),
    ("HTTP_PROXY", OTHER, 8080, OTHER),
])  # fmt: skip
async def test_an_unusable_proxy_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, host: str, port: int, told: str
) -> None:
    monkeypatch.setenv(variable, "ftp://proxy.org:9/")
    network = Network()
    with pytest.raises(ToolError) as failed:
        await Dialer(Names(PUBLIC), network=network).connect_tcp(host, port)
    assert (failed.value.code, network.tried) == ("proxy", [])
    for part in (variable, told, "ftp://proxy.org:9"):
        assert part in str(failed.value)


async def test_a_proxy_gets_the_resolved_address_and_no_private_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.org:9")
    through: list[tuple[str, int]] = []
    stream = httpcore.AsyncMockStream([])

    async def tunnelled(
        network: object, proxy: object, at: str, port: int, timeout: float | None
    ) -> httpcore.AsyncNetworkStream:
        through.append((at, port))
        return stream

    monkeypatch.setattr(proxy_tunnel, "through", tunnelled)
    network = Network()
    for number in (PUBLIC, OTHER):
        assert await Dialer(Names(number), network=network).connect_tcp("far.org", 80) is stream
    assert (through, network.tried) == ([(PUBLIC, 80), (f"[{OTHER}]", 80)], [])
    await Dialer(Names("10.0.0.1"), allowed=lambda *_: True, network=network).connect_tcp("nas.lan", 80)
    assert (len(through), network.tried) == (2, [("10.0.0.1", 80)])


async def test_the_system_resolver_is_called_once_and_with_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await system_resolver("127.0.0.1", 80) == ("127.0.0.1",)
    assert await system_resolver("a" * 64 + ".org", 80) == ()  # not a name that can be resolved
    limits: list[float] = []
    at_once = asyncio.timeout

    def limited(seconds: float) -> asyncio.Timeout:
        limits.append(seconds)
        return at_once(0)

    async def silent(*_asked: object, **_more: object) -> None:
        await asyncio.get_running_loop().create_future()

    monkeypatch.setattr(asyncio, "timeout", limited)
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", silent)
    assert (await system_resolver("far.org", 80), limits) == ((), [10.0])
