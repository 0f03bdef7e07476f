"""A transport for clients of several servers: each request uses the proxy of ``find_proxy`` for its own address.

Downloads are redirected to other hosts and a sign-in contacts other servers, so one proxy per client would be wrong.
The HTTP library is a parameter, because the MCP SDK bundles its own (``httpx2``) with the same classes.
"""

from __future__ import annotations

import asyncio
import ssl
from types import ModuleType
from typing import Any

from socksio.exceptions import SOCKSError

from atelier_desk.domain.clock import SystemClock
from atelier_desk.domain.errors import ProviderError
from atelier_desk.llm.error_conversion import ErrorLocation
from atelier_desk.llm.network.proxy_and_certificates import (
    ProxyUse,
    Suspension,
    find_proxy,
    proxy_failure,
    proxy_refusal,
    unusable_certificates,
)

_PROXY_WANTS_LOGIN = 407


def routed_transport(library: ModuleType) -> Any:
    """Return a transport for ``library.AsyncClient`` (``httpx`` or ``httpx2``).

    Its requests raise ProviderError with code ``proxy`` for proxy faults, and ``certificate`` for unreadable configured
    authorities. Other failures are raised as by the library.
    """
    failures = (library.ProxyError, library.ConnectError, library.ConnectTimeout, SOCKSError)

    class Routes(library.AsyncBaseTransport):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            self._made: dict[str, object] = {}
            self._tls: ssl.SSLContext | None = None
            self._retired: list[Any] = []
            self._suspension = Suspension(SystemClock())

        async def handle_async_request(self, request: Any) -> object:
            where = ErrorLocation("", url=f"{request.url.scheme}://{request.url.netloc.decode()}")
            proxy = find_proxy(where, where.url)
            transport = await self._transport(where, proxy)
            if proxy is None:
                return await transport.handle_async_request(request)
            problem: ProviderError
            try:
                response = await transport.handle_async_request(request)
                if response.status_code != _PROXY_WANTS_LOGIN:
                    return response
                await response.aclose()
                problem = proxy_refusal(where, proxy, response.status_code)
            except failures as error:
                problem = proxy_failure(where, error, proxy)
            raise problem

        async def _transport(self, where: ErrorLocation, proxy: ProxyUse | None) -> Any:
            url = proxy.url if proxy is not None else ""
            secure = "https:" in (where.url[:6].lower(), url[:6].lower())
            if secure and self._tls is None:
                self._tls = await asyncio.to_thread(_authorities, library, where)
            if self._suspension.passed():
                self._retired += self._made.values()  # running answers are not affected
                self._made = {}
            key = f"{secure} {url}"
            if key not in self._made:
                tls = self._tls if secure else False
                try:
                    through = (
                        library.Proxy(url, ssl_context=self._tls if url[:6].lower() == "https:" else None)
                        if url
                        else None
                    )
                except (library.InvalidURL, ValueError) as error:
                    assert proxy is not None
                    raise proxy_failure(where, error, proxy) from None
                self._made[key] = library.AsyncHTTPTransport(verify=tls, proxy=through, trust_env=False)
            return self._made[key]

        async def aclose(self) -> None:
            for transport in (*self._retired, *self._made.values()):
                await transport.aclose()

    return Routes()


def _authorities(library: ModuleType, where: ErrorLocation) -> ssl.SSLContext:
    """Return the library's default trust, which the environment can change."""
    try:
        context: ssl.SSLContext = library.create_ssl_context()
    except (OSError, ValueError) as error:
        problem = unusable_certificates(where, error)
    else:
        return context
    raise problem
