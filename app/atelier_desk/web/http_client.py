"""A GET request limited in size and time; redirects stay on the requested site."""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType
from typing import Any

import certifi
import httpcore

from atelier_desk.domain.errors import ToolError
from atelier_desk.web.address import Address
from atelier_desk.web.checked_connections import Dialer

AGENT = "Atelier"
"""User agent in robots.txt and in servers' logs."""
CONNECT_S = 10.0
SILENCE_S = 15.0
PAGE_S = 40.0
"""Seconds for one page with its redirects."""
REDIRECTS = 10
_HEADERS = 200
_END_S = 2.0
Most = int | Callable[[str], int]
"""Maximum bytes of a body, or a function of its media type."""
_ENCODINGS = {"": 0, "identity": 0, "gzip": 47, "x-gzip": 47, "deflate": 47}
"""zlib's ``wbits`` by encoding: only encodings that can be decompressed in limited steps."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A server's answer.

    Attributes:
        address: its address, after redirects.
        headers: by lower-case name; the last one of each.
        cut: the body was longer than the limit.
        elsewhere: redirect to another site, which was not followed.
    """

    address: Address
    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    cut: bool = False
    elsewhere: str = ""

    @property
    def media_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


@lru_cache(maxsize=1)
def trusted() -> ssl.SSLContext:
    """The usual certificate authorities, and those of the system or ``SSL_CERT_FILE``.

    Reads files.
    """
    context = ssl.create_default_context()
    context.load_verify_locations(cafile=certifi.where())
    return context


class WebClient:
    """The connections of one call; close it with ``async with``."""

    def __init__(self, dialer: Dialer, tls: ssl.SSLContext | None) -> None:
        self.dialer = dialer
        self._tls = tls
        self._pool: httpcore.AsyncConnectionPool | None = None

    async def __aenter__(self) -> WebClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            await self._pool.aclose()

    async def get(
        self, address: Address, *, most: Most, headers: Mapping[str, str] | None = None, seconds: float = PAGE_S
    ) -> Answer:
        """Request an address; returns its answer, decompressed.

        The body is cut at ``most`` bytes or on timeout.

        Redirects are followed within the site. A redirect to another site is only reported, because rules are
        about hosts. ``headers`` are sent to the first address only.

        Raises:
            ToolError: the address is forbidden or unreachable, or the request timed out.
        """
        try:
            async with asyncio.timeout(seconds + _END_S):
                until = asyncio.get_running_loop().time() + seconds
                return await self._follow(address, most, headers or {}, until)
        except TimeoutError:
            raise ToolError(
                "{host} took longer than {seconds} seconds. Try again later, or use another source.",
                code="web_timeout",
                host=address.host,
                seconds=round(seconds),
            ) from None

    async def _follow(self, address: Address, most: Most, headers: Mapping[str, str], until: float) -> Answer:
        first = address
        for _count in range(REDIRECTS + 1):
            answer = await self._one(address, most, headers, until)
            location = answer.headers.get("location", "")
            if answer.status not in (301, 302, 303, 307, 308) or not location:
                return answer
            there = address.link(location)
            if not there.same_place(address):
                return Answer(address, answer.status, answer.headers, elsewhere=there.url)
            self.dialer.on_the_way(there, first)
            address, headers = there, {}
        raise ToolError("{host} sends from one page to the next without end.", code="redirects", host=address.host)

    async def _one(self, address: Address, most: Most, headers: Mapping[str, str], until: float) -> Answer:
        if self._pool is None:
            tls = self._tls or await asyncio.get_running_loop().run_in_executor(None, trusted)
            self._pool = httpcore.AsyncConnectionPool(
                ssl_context=tls, network_backend=self.dialer, max_connections=4, retries=0
            )
        sent = {
            "host": address.authority,
            "user-agent": AGENT,
            "accept": "text/html,application/xhtml+xml,text/*;q=0.9,*/*;q=0.5",
            "accept-encoding": "gzip",
            "accept-language": "*",
            **headers,
        }
        request = httpcore.Request(
            "GET",
            httpcore.URL(scheme=address.scheme, host=address.host, port=address.port, target=address.target),
            headers=[(name.encode(), value.encode()) for name, value in sent.items()],
            extensions={"timeout": {"connect": CONNECT_S, "read": SILENCE_S, "write": SILENCE_S, "pool": PAGE_S}},
        )
        try:
            response = await self._pool.handle_async_request(request)
            try:
                found = {
                    name.decode("latin-1").lower(): value.decode("latin-1")
                    for name, value in response.headers[:_HEADERS]
                }
                kind = found.get("content-type", "").partition(";")[0].strip().lower()
                room = most(kind) if callable(most) else most
                body, cut = await _body(response, found.get("content-encoding", ""), room, until)
            finally:
                await response.aclose()
        except (ToolError, TimeoutError):
            raise
        except (
            httpcore.NetworkError,
            httpcore.ProtocolError,
            httpcore.TimeoutException,
            ssl.SSLError,
            OSError,
            zlib.error,
        ) as error:
            raise _failure(address, error) from None
        return Answer(address, response.status, found, body, cut)


async def _body(response: Any, encoding: str, room: int, until: float) -> tuple[bytes, bool]:
    """The decompressed body within the limits of size and time; and whether there is more."""
    bits = _ENCODINGS.get(encoding.strip().lower())
    if bits is None:
        raise ToolError(
            "The server sends the page packed in a way that is not read ({encoding}).",
            code="packed",
            encoding=encoding[:60],
        )
    unpack = zlib.decompressobj(bits) if bits else None
    parts: list[bytes] = []
    try:
        async with asyncio.timeout_at(until):
            async for piece in response.stream:
                while piece:
                    data = unpack.decompress(piece, room + 1) if unpack else piece
                    piece = unpack.unconsumed_tail if unpack else b""
                    parts.append(data[:room])
                    if len(data) > room:
                        return b"".join(parts), True
                    room -= len(data)
    except TimeoutError:
        if not parts:
            raise
        return b"".join(parts), True
    return b"".join(parts), False


def _failure(address: Address, error: Exception) -> ToolError:
    where = address.authority
    certificate = error if isinstance(error, ssl.SSLCertVerificationError) else error.__cause__ or error.__context__
    if isinstance(certificate, ssl.SSLCertVerificationError) or "CERTIFICATE_VERIFY_FAILED" in str(error):
        return ToolError(
            "{host} shows a certificate that is not trusted for this name: the page is not fetched.",
            code="certificate",
            host=where,
        )
    if isinstance(error, httpcore.TimeoutException):
        return ToolError(
            "{host} did not answer within {seconds} seconds. Try again later, or use another source.",
            code="web_timeout",
            host=where,
            seconds=round(SILENCE_S),
        )
    return ToolError(
        "{host} cannot be reached or broke off ({detail}).",
        code="web_unreachable",
        host=where,
        detail=str(error)[:200] or type(error).__name__,
    )
