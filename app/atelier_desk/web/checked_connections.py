"""Connect to checked addresses: resolve a name once, check every result, use a checked one.

TLS and the ``Host`` header still use the name, so the rest of the request is unaffected. A proxy named in the
environment receives the checked IP address and does not resolve the name again.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

import httpcore

from atelier_desk.domain.errors import ProviderError, ToolError
from atelier_desk.llm.error_conversion import ErrorLocation
from atelier_desk.llm.network.proxy_and_certificates import find_proxy
from atelier_desk.web import proxy_tunnel
from atelier_desk.web.address import Address, is_own_name, kind_of, number, usual_port

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""The IP addresses of a host, as text; empty for a name that does not exist."""
Allowed = Callable[[str, int], bool]
"""Whether a rule allows a host and port of the own network."""
Barred = Callable[[str], str]
"""What a rule says of a host that a call reaches on its way: ``deny``, ``ask`` or nothing.

The host has its port unless it is the default one.
"""
RESOLVE_S = 10.0
_TRIED = 4
"""Addresses of a host that are tried."""


async def system_resolver(host: str, port: int) -> Sequence[str]:
    """Resolve a host with the system's resolver."""
    try:
        async with asyncio.timeout(RESOLVE_S):
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, TimeoutError):
        return ()
    return tuple(dict.fromkeys(str(each[4][0]) for each in found))


def nothing_allowed(host: str, port: int) -> bool:
    return False


def nothing_barred(host: str) -> str:
    return ""


@dataclass(slots=True)
class Dialer(httpcore.AsyncNetworkBackend):
    """Opens the connections of one call.

    Attributes:
        allowed: what may be reached in the own network.
        barred: what a rule says of hosts on the way.
        network: opens a connection to an IP address.
        own: hosts that turned out to be in the own network.
    """

    resolve: Resolver = system_resolver
    allowed: Allowed = nothing_allowed
    barred: Barred = nothing_barred
    network: httpcore.AsyncNetworkBackend = field(default_factory=httpcore.AnyIOBackend)
    own: set[str] = field(default_factory=set)

    def on_the_way(self, address: Address, asked: Address) -> None:
        """Check whether a call for one address may go on to another.

        The requested address itself was checked before the call.

        Raises:
            ToolError: forbidden (code ``barred``), or a person must be asked first (``elsewhere``).
        """
        refusal = "" if address.authority == asked.authority else self.barred(address.authority)
        if refusal == "deny":
            raise ToolError(
                "{host} leads to {there}, which a rule of the user forbids: it is not fetched.",
                code="barred",
                host=asked.authority,
                there=address.authority,
            )
        if refusal:
            raise ToolError(
                (
                    "{host} leads to {address} , about which the user wants to be asked. Fetch that address if you "
                    "want "
                    "to go there."
                ),
                code="elsewhere",
                host=asked.authority,
                address=address.url,
            )

    async def check(self, host: str, port: int) -> tuple[str, ...]:
        """The IP addresses of a host, all of them allowed.

        Raises:
            ToolError: ``own_network`` when one of them is not public, ``unknown_host`` when there are none.
        """
        allowed = self.allowed(host, port)
        if not allowed and ((is_own_name(host) and number(host) is None) or not usual_port(port)):
            raise refused(host, port)
        found = (host,) if number(host) is not None else await self.resolve(host, port)
        if not found:
            raise ToolError("There is no server named {host}, or the network is down.", code="unknown_host", host=host)
        numbers = [number(each) for each in found]
        kinds = {kind_of(each) if each is not None else "never" for each in numbers}
        if "never" in kinds or ("own" in kinds and not allowed):
            raise refused(host, port, never="never" in kinds)
        if "own" in kinds:
            self.own.add(host)
        return tuple(map(str, numbers))[:_TRIED]

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[object] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        found = await self.check(host, port)
        failure: Exception | None = None
        for each in found:
            try:
                return await self._open(host, each, port, timeout)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        assert failure is not None
        raise failure

    async def _open(self, host: str, ip: str, port: int, timeout: float | None) -> httpcore.AsyncNetworkStream:
        at = f"[{ip}]" if ":" in ip else ip
        try:
            shown = f"[{host}]" if ":" in host else host
            proxy = (
                None
                if host in self.own
                else find_proxy(ErrorLocation("web"), f"{'https' if port == 443 else 'http'}://{shown}:{port}")
            )
        except ProviderError as error:
            raise ToolError("{problem}", code="proxy", problem=str(error)) from None
        if proxy is None:
            return await self.network.connect_tcp(ip, port, timeout=timeout)
        return await proxy_tunnel.through(self.network, proxy, at, port, timeout)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def refused(host: str, port: int, *, never: bool = False) -> ToolError:
    """The error for a machine that is not a public web server."""
    shown = f"[{host}]" if ":" in host else host
    # The owner of a public name decides where it leads, so its rule must explicitly mean the own network.
    mark = "domain:" if number(host) is not None or is_own_name(host) else "local:"
    if never:
        return ToolError(
            "{host} leads to an address that is never fetched: no public server has it. Use another source.",
            code="own_network",
            host=shown,
        )
    return ToolError(
        "{host}, port {port}, is on this machine or its own network, or is no web server's port: it is not fetched "
        "unless the "
        "user allows it by a rule. Ask the user to add it under Settings, Permissions: allow {rule}",
        code="own_network",
        host=shown,
        port=port,
        rule=f"fetch_web_page({mark}{shown}:{port})",
    )
