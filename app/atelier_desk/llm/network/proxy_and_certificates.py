"""Connection set-up: proxy from the environment, trusted certificates, and the meaning of failures below HTTP.

Decided here instead of in the HTTP library, which reads the same variables but cannot tell which one was wrong.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import re
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import certifi

from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import ProviderError, UsageError
from atelier_desk.llm.error_conversion import ErrorLocation, provider_error
from atelier_desk.llm.secrets import remember
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    import httpx

E = TypeVar("E", bound=BaseException)

MAX_IDLE_CONNECTIONS = 64
"""Maximum idle connections kept open per server: three workflows with fifteen sub-agents each, and some more."""
SUSPENDED_S = 5.0
"""Seconds by which the wall clock runs ahead of the monotonic one after suspension.

A changed clock only costs a new connection.
"""
PROXY_SCHEMES = ("http", "https", "socks5", "socks5h")
_UNTRUSTED = frozenset({18, 19, 20, 21})
"""OpenSSL's verification codes for a chain without a trusted root (openssl-verification-options, "DIAGNOSTICS")."""
_NO_NETWORK = frozenset({errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTUNREACH, errno.EHOSTDOWN})
_NOT_TLS = frozenset(
    {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG"}
)


@dataclass(frozen=True, slots=True)
class ProxyUse:
    """The proxy for a server.

    Attributes:
        url: with name and password, if needed.
        shown: without them.
        variable: its environment variable; empty if from the system's settings.
    """

    url: str
    shown: str
    variable: str

    @property
    def source(self) -> str:
        return self.variable or _("the system settings")


def checked_base_url(url: str) -> str:
    """Return the URL without a trailing slash.

    Raises:
        UsageError: not an absolute http or https URL, or one with a name and password, which would end up in logs.
    """
    url = url.strip().rstrip("/")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        clean = not parts.username and not parts.password and not parts.query and not parts.fragment
        clean = clean and not any(map(str.isspace, url))
    except ValueError:
        usable = clean = False
    if not usable or not clean:
        raise UsageError(
            N_(
                "The address must look like https://host:port/path, with a port up to 65535 and without spaces, a user "
                "name, password or query; the key and the API version have their own fields."
            ),
            code="base_url",
        )
    return url


class Suspension:
    """Detects suspension of the machine.

    Earlier connections may be gone, and monotonic clocks stand still meanwhile, including the one that expires idle
    connections.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._before = self._gap()

    def passed(self) -> bool:
        """Whether the machine was suspended since the last call."""
        before, self._before = self._before, self._gap()
        return self._before - before > SUSPENDED_S

    def _gap(self) -> float:
        return self._clock.now().timestamp() - self._clock.monotonic()


def is_loopback(url: str) -> bool:
    """Whether a URL points to this machine."""
    host = (urlsplit(url).hostname or "").removesuffix(".")
    if host == "localhost" or host.endswith(".localhost"):  # RFC 6761, 6.3
        return True
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        return False
    return (getattr(number, "ipv4_mapped", None) or number).is_loopback


def _without_proxy(host: str, port: int | None) -> bool:
    """Whether ``NO_PROXY`` covers a host in a form that the standard library does not support.

    Domain wildcards (``*.corp.example``), IPv6 addresses with or without brackets, and networks (``10.0.0.0/8``,
    ``fd00::/8``).
    """
    from urllib.request import getproxies_environment

    entries = [entry.strip() for entry in getproxies_environment().get("no", "").split(",")]
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        domains = [entry[1:].lower().partition(":") for entry in entries if entry.startswith("*.")]
        return any(
            host.lower().endswith(domain) and wanted in ("", str(port or "")) for domain, _colon, wanted in domains
        )
    for text in entries:
        wanted = ""
        if text.startswith("["):
            text, _bracket, rest = text[1:].partition("]")
            wanted = rest.removeprefix(":") if rest.startswith(":") else ""
            text += rest if rest.startswith("/") else ""
        try:
            covers = number in ipaddress.ip_network(text, strict=False)
        except ValueError:
            continue
        if covers and wanted in ("", str(port or "")):
            return True
    return False


def find_proxy(where: ErrorLocation, base_url: str) -> ProxyUse | None:
    """Return the proxy for a server: ``HTTP_PROXY``, ``HTTPS_PROXY`` or ``ALL_PROXY`` (or the system's), unless
    ``NO_PROXY`` covers it.

    Never for this machine itself. ``socks://``, which GNOME sets, means ``socks5://``.

    Raises:
        ProviderError: the variable's value is not a usable proxy (code ``proxy``).
    """
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(base_url)
    if is_loopback(base_url) or proxy_bypass(parts.netloc) or _without_proxy(parts.hostname or "", parts.port):
        return None
    proxies = getproxies()
    kind = parts.scheme if proxies.get(parts.scheme) else "all"
    value = proxies.get(kind, "").strip()
    if not value:
        return None
    variable = next((name for name in (f"{kind}_proxy", f"{kind}_PROXY".upper()) if os.environ.get(name)), "")
    url = value if "://" in value else f"http://{value}"
    url = re.sub(r"^socks://", "socks5://", url, flags=re.IGNORECASE)
    shown = re.sub(r"//[^/]*@", "//", url)
    try:
        split = urlsplit(url)
        port = split.port
        usable = split.scheme.lower() in PROXY_SCHEMES and bool(split.hostname) and port != 0
    except ValueError:
        usable = False
    if not usable:
        use = ProxyUse("", re.sub(r"[^/]*@", "", value), variable)
        raise _unusable_proxy(where, use, parts.hostname)
    for secret in (split.username, split.password):
        remember(secret or "")
    return ProxyUse(url, shown.rstrip("/"), variable)


def make_client(
    where: ErrorLocation, base_url: str, ca_file: str, connect_s: float
) -> tuple[httpx.AsyncClient, ProxyUse | None]:
    """Return a client for one server, and its proxy. Blocks while reading certificates.

    Redirects are disabled: they could send the key elsewhere.

    Raises:
        ProviderError: configured proxy or certificates are unusable (code ``proxy`` or ``certificate``).
    """
    import httpx

    proxy = find_proxy(where, base_url)
    tls = (
        _tls(where, ca_file)
        if "https" in (urlsplit(base_url).scheme, urlsplit(proxy.url).scheme if proxy else "")
        else _no_tls()
    )
    try:
        through = (
            None
            if proxy is None
            else httpx.Proxy(proxy.url, ssl_context=tls if proxy.url.lower().startswith("https:") else None)
        )
    except (httpx.InvalidURL, ValueError):
        assert proxy is not None
        raise _unusable_proxy(where, proxy, urlsplit(base_url).hostname) from None
    client = httpx.AsyncClient(
        verify=tls,
        proxy=through,
        timeout=httpx.Timeout(None, connect=connect_s),
        limits=httpx.Limits(
            max_connections=None, max_keepalive_connections=MAX_IDLE_CONNECTIONS, keepalive_expiry=30.0
        ),
        follow_redirects=False,
        trust_env=False,
        headers={"user-agent": "Atelier"},
    )
    return client, proxy


def check_ca_file(provider: str, file: str) -> None:
    """Check that the certificates of a CA file can be read.

    Raises:
        ProviderError: they cannot (code ``certificate``).
    """
    _load(_no_tls(), ErrorLocation(provider), file, "ca_file")


def transport_error(
    where: ErrorLocation, error: Exception, *, answered: bool, proxy: ProxyUse | None = None
) -> ProviderError:
    """Return the error for a failure below HTTP; anything else is a programming error and re-raised.

    A service may charge for a request when its connection is lost after it was established.
    """
    import httpx

    failure = _transport_error(where, error, answered=answered, proxy=proxy)
    lost = (httpx.ReadError, httpx.WriteError, httpx.ReadTimeout, httpx.WriteTimeout, httpx.RemoteProtocolError)
    failure.charged = failure.charged or isinstance(error, lost)
    return failure


def _transport_error(
    where: ErrorLocation, error: Exception, *, answered: bool, proxy: ProxyUse | None
) -> ProviderError:
    import httpx
    from socksio.exceptions import SOCKSError

    if not isinstance(error, (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, SOCKSError, OSError, UnicodeError)):
        raise error
    detail = "no connection in time" if isinstance(error, httpx.ConnectTimeout) else _reason(error)
    if isinstance(error, (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError)):
        return provider_error(where, "bad_request", type(error).__name__)
    if answered:
        return provider_error(where, "truncated", detail)
    certificate = _cause(error, ssl.SSLCertVerificationError)
    if certificate is not None:
        say = "certificate" if certificate.verify_code in _UNTRUSTED else "certificate_wrong"
        return provider_error(
            where, "certificate", certificate.verify_message, say=say, host=urlsplit(where.url).netloc
        )
    tls = _cause(error, ssl.SSLError)
    if tls is not None and tls.reason in _NOT_TLS:
        return provider_error(where, "unreachable", tls.reason, say="tls", recoverable=False)
    if proxy is not None:
        return _proxy_error(where, proxy, detail)
    if not is_loopback(where.url):
        host = urlsplit(where.url).hostname or ""
        if _cause(error, socket.gaierror) is not None:
            return provider_error(where, "unreachable", detail, say="offline", host=host)
        lost = _cause(error, OSError)
        if lost is not None and lost.errno in _NO_NETWORK:
            return provider_error(where, "unreachable", detail, say="no_network", host=host)
    return provider_error(where, "unreachable", detail)


def proxy_failure(where: ErrorLocation, error: BaseException, proxy: ProxyUse) -> ProviderError:
    """Return the error for a proxy that does not answer, refuses a request, or has an unusable address."""
    return _proxy_error(where, proxy, _reason(error))


def no_answer(where: ErrorLocation, seconds: float, proxy: ProxyUse | None) -> ProviderError:
    """Return the error for silence before an answer."""
    if proxy is None:
        return provider_error(where, "timeout", f"{seconds:g} s")
    return provider_error(
        where, "timeout", f"{seconds:g} s", say="proxy_timeout", proxy=proxy.shown, variable=proxy.source
    )


def proxy_refusal(where: ErrorLocation, proxy: ProxyUse, status: int) -> ProviderError:
    """Return the error for the proxy's own answer: it requires a name and password (407)."""
    return _proxy_error(where, proxy, f"HTTP {status}: user name and password", recoverable=False)


def _unusable_proxy(where: ErrorLocation, proxy: ProxyUse, host: str | None) -> ProviderError:
    say = "proxy_value" if proxy.variable else "proxy_value_system"
    return _proxy_error(where, proxy, say=say, recoverable=False, host=host)


def _proxy_error(
    where: ErrorLocation, proxy: ProxyUse, detail: str = "", *, recoverable: bool = True, **named: Any
) -> ProviderError:
    known: dict[str, Any] = {"proxy": proxy.shown, "variable": proxy.source, "recoverable": recoverable}
    return provider_error(where, "proxy", detail, **known, **named)


def _tls(where: ErrorLocation, ca_file: str) -> ssl.SSLContext:
    """Return the trusted authorities.

    The usual ones and those of a CA file, otherwise of ``SSL_CERT_FILE`` or ``SSL_CERT_DIR``, if set.
    """
    context = _no_tls()
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if ca_file:
        context.load_verify_locations(cafile=certifi.where())
        _load(context, where, ca_file, "ca_file")
    elif file:
        _load(context, where, file, "ca_variable", variable="SSL_CERT_FILE")
    elif folder:
        if not Path(folder).is_dir():
            raise _unreadable(where, folder, "no such folder", "ca_variable", variable="SSL_CERT_DIR")
        context.load_verify_locations(capath=folder)
    else:
        context.load_verify_locations(cafile=certifi.where())
    return context


def _no_tls() -> ssl.SSLContext:
    """Return a context without trusted authorities, as a base and for servers without TLS: it reads no certificates."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _load(context: ssl.SSLContext, where: ErrorLocation, file: str, say: str, **named: str) -> None:
    try:
        context.load_verify_locations(cafile=Path(file).expanduser())
    except ssl.SSLError:
        detail = "no certificate in PEM form in it"
    except (OSError, ValueError) as error:
        detail = getattr(error, "strerror", None) or str(error)
    else:
        return
    raise _unreadable(where, file, detail, say, **named)


def _unreadable(where: ErrorLocation, file: str, detail: str, say: str, **named: str) -> ProviderError:
    return provider_error(where, "certificate", detail, say=say, file=file, **named)


def unusable_certificates(where: ErrorLocation, error: Exception) -> ProviderError:
    """Return the error for unreadable authorities, from a variable or the system, without a CA file of its own."""
    for variable in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        if file := os.environ.get(variable):
            return _unreadable(where, file, _reason(error), "ca_variable_alone", variable=variable)
    return _unreadable(where, "", _reason(error), "system_certificates")


def _reason(error: BaseException) -> str:
    """Return the system's own reason ("Connection refused"), which asyncio and the HTTP library hide."""
    found = _cause(error, OSError)
    if found is not None and found.errno and not isinstance(found, (socket.gaierror, ssl.SSLError)):
        return os.strerror(found.errno)
    return (found.strerror if found is not None else "") or str(error) or type(error).__name__


def _cause(error: BaseException, kind: type[E]) -> E | None:
    """Return the innermost error of a kind among an error and its causes."""
    return next((each for each in reversed(list(_chain(error))) if isinstance(each, kind)), None)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            yield from error.exceptions
        error = error.__cause__ or error.__context__
