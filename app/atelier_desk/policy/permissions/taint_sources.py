"""Outside sources that a team has read.

Hosts, servers, paths and commands. After that, some calls ask (``Concern.TAINTED``).
"""

from __future__ import annotations

from collections.abc import Iterable

NAMED = 5
"""Maximum number of stored names: any source counts, the names are information for the person asked."""


def merged(first: tuple[str, ...], *others: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct non-empty names, at most ``NAMED``.

    Hosts, servers and commands take precedence over files: many files may lie in one folder that the user later trusts,
    and then the others matter.
    """
    names = tuple(dict.fromkeys(name for names in (first, *others) for name in names if name))
    if len(names) <= NAMED:
        return names
    others_first = sorted(names, key=is_path)[:NAMED]
    return tuple(name for name in names if name in others_first)


def is_path(name: str) -> bool:
    """Whether a name is a file's: absolute, with ``/`` separators. Hosts, servers and commands never begin so."""
    return name.startswith("/") or name[1:3] == ":/"
