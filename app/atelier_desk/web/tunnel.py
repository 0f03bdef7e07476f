"""Through a proxy to a number: HTTP ``CONNECT`` (RFC 9110, 9.3.6) and SOCKS5 (RFC 1928, 1929)."""

from __future__ import annotations

import base64
import ssl
from urllib.parse import unquote, urlsplit

import httpcore

from atelier_desk.domain.errors import ToolError
from atelier_desk.llm.wire.transport import ProxyUse

_HEAD = 16 * 1024
"""Bytes of a proxy's answer."""


async def through(
    network: httpcore.AsyncNetworkBackend, proxy: ProxyUse, host: str, port: int, timeout: float | None
) -> httpcore.AsyncNetworkStream:
    """A connection to a number by way of a proxy; raises ``ToolError`` (code ``proxy``) when it refuses."""
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
            stream = await stream.start_tls(ssl.create_default_context(), parts.hostname, timeout)
        await _connect(stream, proxy, f"{host}:{port}", user, password, timeout)
    except BaseException:
        await stream.aclose()
        raise
    return stream


async def _connect(
    stream: httpcore.AsyncNetworkStream, proxy: ProxyUse, target: str, user: str, password: str, timeout: float | None
) -> None:
    login = base64.b64encode(f"{user}:{password}".encode()).decode() if user else ""
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}", *([f"Proxy-Authorization: Basic {login}"] if login else []), "", ""]
    await stream.write("\r\n".join(lines).encode(), timeout)
    head = b""
    while b"\r\n\r\n" not in head and len(head) < _HEAD:
        piece = await stream.read(1, timeout)  # what comes after the head belongs to the server
        if not piece:
            break
        head += piece
    status = head.split(b" ", 2)[1:2]
    if status != [b"200"]:
        raise _refusal(proxy, status[0].decode("ascii", "replace") if status else "no answer")


async def _socks(
    stream: httpcore.AsyncNetworkStream, proxy: ProxyUse, ip: str, port: int, user: str, password: str, timeout: float | None
) -> None:
    from socksio import socks5

    talk = socks5.SOCKS5Connection()
    method = socks5.SOCKS5AuthMethod.USERNAME_PASSWORD if user else socks5.SOCKS5AuthMethod.NO_AUTH_REQUIRED
    talk.send(socks5.SOCKS5AuthMethodsRequest([method]))
    await stream.write(talk.data_to_send(), timeout)
    chosen = talk.receive_data(await stream.read(2, timeout))
    if getattr(chosen, "method", None) != method:
        raise _refusal(proxy, "SOCKS5")
    if user:
        talk.send(socks5.SOCKS5UsernamePasswordRequest(user.encode(), password.encode()))
        await stream.write(talk.data_to_send(), timeout)
        said = talk.receive_data(await stream.read(2, timeout))
        if not getattr(said, "success", False):
            raise _refusal(proxy, "SOCKS5")
    talk.send(socks5.SOCKS5CommandRequest.from_address(socks5.SOCKS5Command.CONNECT, (ip, port)))
    await stream.write(talk.data_to_send(), timeout)
    reply = talk.receive_data(await stream.read(4096, timeout))
    if getattr(reply, "reply_code", None) != socks5.SOCKS5ReplyCode.SUCCEEDED:
        raise _refusal(proxy, "SOCKS5")


def _refusal(proxy: ProxyUse, detail: str) -> ToolError:
    return ToolError(
        "The proxy {proxy} ({source}) does not connect to this server ({detail}).",
        code="proxy",
        proxy=proxy.shown,
        source=proxy.source,
        detail=detail,
    )
