"""Paths whose change always asks: protected names, and the program's own data."""

from __future__ import annotations

from collections.abc import Iterable

from atelier_desk.domain.path_containment import within
from atelier_desk.domain.protected_names import folded, in_repository, is_named, may_be
from atelier_desk.policy.permissions.call_facts import Path

__all__ = ["may_be", "protected"]


def protected(paths: Iterable[Path], own: Iterable[str] = ()) -> str:
    """Return the first path, as the call names it, whose change always asks; empty if there is none.

    ``own``: absolute folders of the program's own data. Case and Unicode form are ignored, links are resolved.
    """
    folders = [folded(folder) for folder in own]
    for path in paths:
        for spelling in map(folded, path.spellings):
            if any(within(folder, spelling) for folder in folders) or is_named(spelling) or in_repository(spelling):
                return path.spellings[0]
    return ""
