"""Connections to an IP address through a proxy.

HTTP CONNECT (RFC 9110, 9.3.6) and SOCKS5 (RFC 1928, 1929).
"""

from __future__ import annotations

import asyncio
import base64
import re
import ssl
from urllib.parse import unquote, urlsplit

import httpcore
from socksio import ProtocolError, socks5

from atelier_desk.domain.errors import ToolError
from atelier_desk.llm.network.proxy_and_certificates import ProxyUse

_HEAD = 16 * 1024
"""Bytes of a proxy's answer."""
_STATUS = re.compile(rb"HTTP/1\.[01] ([0-9]{3})[ \r]")
WAIT_S = 15.0


async def through(
    network: httpcore.AsyncNetworkBackend, proxy: ProxyUse, host: str, port: int, timeout: float | None
) -> httpcore.AsyncNetworkStream:
    """Connect through a proxy.

    ``timeout`` covers everything, so a proxy that sends slowly is left too.

    Raises:
        ToolError: the proxy refuses, cannot be reached, or breaks the protocol (code ``proxy``).
    """
    seconds = WAIT_S if timeout is None else timeout
    try:
        async with asyncio.timeout(seconds):
            return await _through(network, proxy, host, port, seconds)
    except (TimeoutError, httpcore.TimeoutException):
        raise _refusal(proxy, f"no answer within {seconds:.0f} s") from None
    except (httpcore.NetworkError, OSError) as error:
        raise _refusal(proxy, _plain(str(error)) or type(error).__name__) from None


async def _through(
    network: httpcore.AsyncNetworkBackend, proxy: ProxyUse, host: str, port: int, timeout: float
) -> httpcore.AsyncNetworkStream:
    parts = urlsplit(proxy.url)
    scheme = parts.scheme.lower()
    usual = {"https": 443, "socks5": 1080, "socks5h": 1080}.get(scheme, 80)
    stream = await network.connect_tcp(parts.hostname or "", parts.port or usual, timeout=timeout)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    try:
        if scheme.startswith("socks"):
            await _socks(stream, proxy, host.strip("[]"), port, user, password, timeout)
            return stream
        if scheme == "https":
            trusted = await asyncio.get_running_loop().run_in_executor(None, ssl.create_default_context)
            stream = await stream.start_tls(trusted, parts.hostname, timeout)
        await _connect(stream, proxy, f"{host}:{port}", user, password, timeout)
    except BaseException:
        await stream.aclose()
        raise
    return stream


async def _connect(
    stream: httpcore.AsyncNetworkStream, proxy: ProxyUse, target: str, user: str, password: str, timeout: float
) -> None:
    login = base64.b64encode(f"{user}:{password}".encode()).decode() if user else ""
    lines = [
        f"CONNECT {target} HTTP/1.1",
        f"Host: {target}",
        *([f"Proxy-Authorization: Basic {login}"] if login else []),
        "",
        "",
    ]
    await stream.write("\r\n".join(lines).encode(), timeout)
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        piece = await stream.read(1, timeout)  # what follows the head belongs to the server
        head += piece
        if not piece or len(head) > _HEAD:
            break
    found = _STATUS.match(head)
    if found is None:
        raise _refusal(proxy, "no answer" if not head else "not an HTTP proxy")
    if found[1] != b"200":
        raise _refusal(proxy, found[1].decode())
    if len(head) > _HEAD or not head.endswith(b"\r\n\r\n"):
        raise _refusal(proxy, "headers without end")


async def _socks(
    stream: httpcore.AsyncNetworkStream, proxy: ProxyUse, ip: str, port: int, user: str, password: str, timeout: float
) -> None:
    talk = socks5.SOCKS5Connection()
    method = socks5.SOCKS5AuthMethod.USERNAME_PASSWORD if user else socks5.SOCKS5AuthMethod.NO_AUTH_REQUIRED
    try:
        talk.send(socks5.SOCKS5AuthMethodsRequest([method]))
        await stream.write(talk.data_to_send(), timeout)
        chosen = talk.receive_data(await _exactly(stream, 2, timeout))
        if getattr(chosen, "method", None) != method:
            raise _refusal(proxy, "SOCKS5")
        if user:
            talk.send(socks5.SOCKS5UsernamePasswordRequest(user.encode(), password.encode()))
            await stream.write(talk.data_to_send(), timeout)
            said = talk.receive_data(await _exactly(stream, 2, timeout))
            if not getattr(said, "success", False):
                raise _refusal(proxy, "SOCKS5")
        talk.send(socks5.SOCKS5CommandRequest.from_address(socks5.SOCKS5Command.CONNECT, (ip, port)))
        await stream.write(talk.data_to_send(), timeout)
        head = await _exactly(stream, 5, timeout)  # the fourth or fifth byte tells the remaining length (RFC 1928, 6)
        rest = {1: 3, 4: 15, 3: head[4]}.get(head[3], -1)
        reply = talk.receive_data(head + await _exactly(stream, rest + 2, timeout)) if rest >= 0 else None
    except (ProtocolError, ValueError):
        raise _refusal(proxy, "not a SOCKS5 proxy") from None
    if getattr(reply, "reply_code", None) != socks5.SOCKS5ReplyCode.SUCCEEDED:
        raise _refusal(proxy, "SOCKS5")


async def _exactly(stream: httpcore.AsyncNetworkStream, count: int, timeout: float) -> bytes:
    data = b""
    while len(data) < count:
        piece = await stream.read(count - len(data), timeout)
        if not piece:
            raise ValueError("it ended")
        data += piece
    return data


def _plain(text: str) -> str:
    return "".join(each for each in text[:120] if each.isprintable())


def _refusal(proxy: ProxyUse, detail: str) -> ToolError:
    return ToolError(
        "The proxy {proxy} ({source}) does not connect to this server ({detail}).",
        code="proxy",
        proxy=proxy.shown,
        source=proxy.source,
        detail=detail,
    )
