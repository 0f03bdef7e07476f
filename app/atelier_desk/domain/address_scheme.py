"""Server addresses as people type them."""

from __future__ import annotations

import re
from ipaddress import ip_address

_BARE = re.compile(
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?P<port>:\d{1,5})?(?P<rest>/\S*)?"
)
_NEAR = (".local", ".lan", ".home.arpa", ".internal", ".localhost")
"""Suffixes of local network names (RFC 6762, 8375, 6761; ``lan`` is common on routers)."""


def with_scheme(address: object) -> object:
    """Add the likely scheme to an address without one: ``http`` on this machine and the local network, ``https``
    elsewhere.

    Anything that cannot be a host (a single word without dot and port) or is not text stays unchanged.
    """
    if not isinstance(address, str) or (found := _BARE.fullmatch(address.strip())) is None:
        return address
    host, port = found["host"].strip("[]").lower(), found["port"]
    try:
        number = ip_address(host)
    except ValueError:
        alone = "." not in host
        if alone and not port and host != "localhost":
            return address
        near = alone or host.endswith(_NEAR)
    else:
        near = number.is_private or number.is_loopback or number.is_link_local
    return f"{'http' if near else 'https'}://{address.strip()}"
