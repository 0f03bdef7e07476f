"""What a team has read from outside: names of hosts, servers, paths and commands. After it, some calls ask (``Concern.TAINTED``)."""

from __future__ import annotations

from collections.abc import Iterable

NAMED = 5
"""How many are kept: that something was read decides, the names are for the person who is asked."""


def merged(first: tuple[str, ...], *others: Iterable[str]) -> tuple[str, ...]:
    """The names of all, each once, the first ``NAMED`` of them; empty ones say nothing."""
    if len(first) >= NAMED:
        return first
    return tuple(dict.fromkeys(name for names in (first, *others) for name in names if name))[:NAMED]
