"""Paths whose change asks a person every time: protected names, and the program's own data."""

from __future__ import annotations

from collections.abc import Iterable

from atelier_desk.domain.paths import within
from atelier_desk.domain.protected_names import folded, in_repository, is_named, may_be
from atelier_desk.policy.permissions.call_facts import Path

__all__ = ["may_be", "protected"]


def protected(paths: Iterable[Path], own: Iterable[str] = ()) -> str:
    """The first path, as the call names it, whose change asks every time; empty when there is none.

    ``own``: absolute folders of the program's own data. Letter case and Unicode form do not count, links are followed.
    """
    folders = [folded(folder) for folder in own]
    for path in paths:
        for spelling in map(folded, path.spellings):
            if any(within(folder, spelling) for folder in folders) or is_named(spelling) or in_repository(spelling):
                return path.spellings[0]
    return ""
