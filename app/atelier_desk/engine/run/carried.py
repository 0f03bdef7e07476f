# ruff: noqa: PTH112, PTH114
"""What a call takes along with a folder: moving, copying or deleting one changes every name below it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from atelier_desk.domain.paths import within
from atelier_desk.policy.permissions.facts import Path
from atelier_desk.policy.permissions.protected import may_be, protected

MOST = 5_000
"""Entries below a folder that are looked through; a folder with more asks (reference "engine", 2g: a limit never falls through)."""


def carried(paths: Sequence[Path], own: Sequence[str] = ()) -> str:
    """The first protected name that comes, goes or arrives with a folder of the call, empty when there is none.

    A name is looked at where it lies and where it would lie: below each path of the call, also under the folder's own name. Links are not
    followed. A folder that holds one of ``own`` is never moved unasked. Raises ``OSError`` for a folder that cannot be read.
    """
    for folder in paths:
        real = folder.spellings[-1]
        if os.path.islink(folder.spellings[0]) or not os.path.isdir(real):
            continue
        if inside := next((each for each in own if within(real, each)), ""):
            return inside
        heads = [path.spellings[0] for path in paths]
        heads += [f"{head}/{folder.spellings[0].rpartition('/')[2]}" for head in heads]
        for seen, below in enumerate(_below(real)):
            if seen == MOST:
                return folder.spellings[0]
            if may_be(below.rpartition("/")[2]):
                for head in heads:
                    if protected([Path((f"{head}/{below}",))]):
                        return f"{head}/{below}"
    return ""


def _below(folder: str) -> Iterator[str]:
    """Paths of all files and folders below it, relative to it."""

    def fail(error: OSError) -> None:
        raise error

    for here, folders, files in os.walk(folder, onerror=fail):
        start = os.path.relpath(here, folder)
        for name in (*folders, *files):
            yield name if start == "." else f"{start}/{name}"
