"""Parse addresses, and decide which machines they may lead to.

An address is parsed once, by these rules alone, and the parsed form is used to connect: two parsers that
disagree would be a way around the checks. Numeric hosts are accepted in their usual form only.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Literal, NoReturn
from urllib.parse import quote, urljoin

from atelier_desk.domain.errors import ToolError

LONGEST = 2_000
"""Characters of an address."""
_FORM = re.compile(r"(https?)://([^/?#]*)([^?#]*)(\?[^#]*)?(?:#.*)?", re.IGNORECASE | re.DOTALL)
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
_PORT = re.compile(r"[0-9]{1,5}", re.ASCII)
PORTS = {"http": 80, "https": 443}
_OWN_NAMES = (".localhost", ".local", ".localdomain", ".internal", ".intranet", ".lan", ".home", ".home.arpa", ".corp",
".private", ".test",
              ".invalid", ".example", ".onion", ".alt")  # fmt: skip
"""Name endings that no public server has.

Sources: RFC 6761, 6762, 7686, 8375, 9476, ICANN's ``internal``, and names used by routers and offices.
"""

Kind = Literal["public", "own", "never"]
"""``own``: this machine and its networks.

``never``: an invalid target, or one that issues keys.
"""
IP = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Address:
    """A parsed address.

    ``host`` is a name in lower-case ASCII or an IP address (IPv6 without brackets); ``target`` is path and
    query.
    """

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """Host, and port unless it is the default one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        return self.origin + self.target

    def link(self, text: str) -> Address:
        """Resolve a link or redirect found at this address; raises like ``read``."""
        return read(urljoin(self.url, text.strip()))

    def same_place(self, other: Address) -> bool:
        """Whether both belong to one site.

        That is the same host, with or without ``www.``, each on the default port or both on the same one.
        """
        usual = self.port == PORTS[self.scheme] and other.port == PORTS[other.scheme]
        return self.host.removeprefix("www.") == other.host.removeprefix("www.") and (usual or self.port == other.port)


def read(text: str) -> Address:
    """Parse an address.

    Raises:
        ToolError: it cannot be fetched (code ``bad_address``); the text says why.
    """
    if len(text) > LONGEST:
        _refuse(text, f"it has {len(text)} characters of at most {LONGEST}")
    if any(ord(each) <= 0x20 or 0x7F <= ord(each) < 0xA0 for each in text) or "\\" in text:
        _refuse(text, "it has a space, a backslash or a control character in it")
    found = _FORM.fullmatch(text)
    if found is None:
        other = _SCHEME.match(text)
        _refuse(
            text,
            f"{other[1]}: is not fetched, only http and https are"
            if other
            else "it must begin with https:// or http://",
        )
    scheme, authority = found[1].lower(), found[2]
    if "@" in authority:
        _refuse(text, "it has a user name or password in it; leave them out")
    host, port = _split(text, authority)
    number = PORTS[scheme] if not port else int(port) if _PORT.fullmatch(port) else 0
    if not 1 <= number <= 65_535:
        _refuse(text, f"{port!r} is not a port from 1 to 65535")
    path = quote(found[3] or "/", safe="%/:@!$&'()*+,;=~-._|")
    query = quote(found[4] or "", safe="%/?:@!$&'()*+,;=~-._|[]")
    return Address(scheme, host, number, path + query)


def _split(text: str, authority: str) -> tuple[str, str]:
    if authority.startswith("["):
        inside, bracket, port = authority[1:].partition("]")
        if not bracket or (port and not port.startswith(":")):
            _refuse(text, "its host is not an IPv6 address in brackets")
        try:
            if "%" in inside:
                raise ValueError
            return ipaddress.IPv6Address(inside).compressed, port[1:]
        except ValueError:
            _refuse(text, "its host is not an IPv6 address in brackets")
    host, _colon, port = authority.partition(":")
    return _name(text, host), port


def _name(text: str, host: str) -> str:
    import idna

    if "%" in host:
        _refuse(text, "its host has a percent sign in it")
    try:
        name = host.lower() if host.isascii() else idna.encode(host, uts46=True, std3_rules=True).decode()
    except (idna.IDNAError, UnicodeError):
        _refuse(text, "its host is not a name that a server can have")
    name = name.removesuffix(".")
    labels = name.split(".")
    if not name or len(name) > 253 or not all(map(_LABEL.fullmatch, labels)):
        _refuse(text, "its host is not a name that a server can have" if name else "it has no host")
    if _NUMBER.fullmatch(labels[-1]):
        try:
            return str(ipaddress.IPv4Address(name))
        except ValueError:
            _refuse(text, "its host is a number in an unusual form; write four numbers with dots between them")
    return name


def _refuse(text: str, why: str) -> NoReturn:
    shown = "".join(each if each.isprintable() else "?" for each in text[:200])
    raise ToolError(
        "{address} is not an address that can be fetched: {why}.", code="bad_address", address=repr(shown), why=why
    )


def number(host: str) -> IP | None:
    """The host's IP address; None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def is_own_name(host: str) -> bool:
    """Whether a name must be local: it has no dot, or an ending that is not public."""
    return "." not in host or f".{host}".endswith(_OWN_NAMES)


_V4: tuple[tuple[str, Kind], ...] = (
    ("0.0.0.0/8", "never"), ("10.0.0.0/8", "own"), ("100.64.0.0/10", "own"), ("127.0.0.0/8", "own"),
    ("169.254.0.0/16", "own"),
    ("172.16.0.0/12", "own"), ("192.0.0.0/24", "never"), ("192.0.2.0/24", "never"), ("192.88.99.0/24", "never"),
    ("192.168.0.0/16", "own"),
    ("198.18.0.0/15", "never"), ("198.51.100.0/24", "never"),
    ("203.0.113.0/24", "never"), ("224.0.0.0/4", "never"), ("240.0.0.0/4", "never"),
)  # fmt: skip
"""IANA's registry of special addresses (RFC 6890 and later)."""
_V6: tuple[tuple[str, Kind], ...] = (
    ("::1/128", "own"), ("fc00::/7", "own"), ("fe80::/10", "own"), ("2001::/23", "never"), ("2001:db8::/32", "never"),
    ("2002::/16", "never"),
    ("3fff::/20", "never"),
)  # fmt: skip
"""``2001::/23`` contains Teredo and ORCHID, ``2002::/16`` is 6to4.

Both contain an IPv4 address that somebody else can choose.
"""
_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_METADATA = frozenset(
    map(ipaddress.ip_address,
    ("169.254.169.254", "169.254.170.2", "169.254.170.23", "168.63.129.16", "100.100.100.200", "192.0.0.192",
                               "169.254.42.42", "fd00:ec2::254", "fd20:ce::254"))
)  # fmt: skip
"""Clouds' metadata services, which issue a machine's keys: blocked whatever rules say."""
_NETWORKS = tuple((ipaddress.ip_network(text), kind) for text, kind in (*_V4, *_V6))


def kind_of(ip: IP) -> Kind:
    """Kind of an IP address; an IPv4 address inside an IPv6 one counts."""
    if ip in _METADATA:
        return "never"
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            return kind_of(ip.ipv4_mapped)
        inside = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if ip in _NAT64:
            return "public" if kind_of(inside) == "public" else "never"
        if (int(ip) >> 32) & 0xFCFFFFFF == 0x5EFE and kind_of(inside) != "public":  # ISATAP, RFC 5214
            return "never"
    found = next((kind for network, kind in _NETWORKS if ip.version == network.version and ip in network), None)
    if found is not None:
        return found
    return "public" if isinstance(ip, ipaddress.IPv4Address) or ip in _GLOBAL_V6 else "never"


def usual_port(port: int) -> bool:
    """Whether public web servers use the port.

    Other services use ports below 1024, and a request could be crafted to mean something to them.
    """
    return port in (80, 443) or port >= 1024


__all__ = ["LONGEST", "PORTS", "Address", "Kind", "is_own_name", "kind_of", "number", "read", "usual_port"]
