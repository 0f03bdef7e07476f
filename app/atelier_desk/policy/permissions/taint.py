"""What a team has read from outside: names of hosts, servers, paths and commands. After it, some calls ask (``Concern.TAINTED``)."""

from __future__ import annotations

from collections.abc import Iterable

NAMED = 5
"""How many are kept: that something was read decides, the names are for the person who is asked."""


def merged(first: tuple[str, ...], *others: Iterable[str]) -> tuple[str, ...]:
    """The names of all, each once, the first ``NAMED`` of them; empty ones say nothing.

    Files give way to hosts, servers and commands: many of them may lie in one folder, which the owner may come to trust, and then the
    others are what counts.
    """
    names = tuple(dict.fromkeys(name for names in (first, *others) for name in names if name))
    if len(names) <= NAMED:
        return names
    others_first = sorted(names, key=is_path)[:NAMED]
    return tuple(name for name in names if name in others_first)


def is_path(name: str) -> bool:
    """Whether a name is that of a file: absolute, with ``/`` between the parts. No host, server or command begins like one."""
    return name.startswith("/") or name[1:3] == ":/"
