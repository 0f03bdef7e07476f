# ruff: noqa: PTH112, PTH114, PTH208
"""What a call includes with a folder: moving, copying or deleting one affects every name below it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from atelier_desk.domain.path_containment import within
from atelier_desk.domain.protected_names import may_be
from atelier_desk.policy.permissions.call_facts import Path, protected
from atelier_desk.workspace.bounded_walk import WalkLimit, walk
from atelier_desk.workspace.processes.repository_scan import MARKS, is_layout

ENTRIES = 5_000
"""Maximum entries visited below a folder; larger folders ask (exceeding a limit never permits a call)."""

_OF_REPOSITORIES = MARKS | {"config", "config.worktree", "hooks", "info"}


def made_repository(paths: Sequence[Path]) -> str:
    """Return the first folder that is, or becomes by this call, a git repository without being called ``.git``.

    Its settings name programs, which git runs for anybody who calls it there. Empty for none; anything in a ``.git``
    has a protected name.
    """
    named: dict[str, set[str]] = {}
    for path in paths:
        for spelling in path.spellings if path.inside else ():
            folder, name = os.path.split(spelling.rstrip("/"))
            while name:
                named.setdefault(folder, set()).update(_folded([name]))
                folder, name = os.path.split(folder)
    touched = (folder for folder, names in named.items() if names & _OF_REPOSITORIES)
    return next((folder for folder in touched if is_layout(named[folder] | _there(folder))), "")


def _there(folder: str) -> set[str]:
    try:
        return _folded(os.listdir(folder))
    except OSError:
        return set()


def _folded(names: Iterable[str]) -> set[str]:
    """Fold case like git, independently of the file system."""
    return {"HEAD" if name.casefold() == "head" else name.casefold() for name in names}


def protected_inside(paths: Sequence[Path], own: Sequence[str]) -> str:
    """Return the first protected name that a folder of the call adds, removes or moves; empty for none.

    Names are checked at their present and future places: below each path of the call, also under the folder's own name.
    Links are not followed. Moving a folder that contains one of ``own`` always asks. Raises ``OSError`` for an
    unreadable folder.
    """
    for folder in paths:
        real = folder.spellings[-1]
        if os.path.islink(folder.spellings[0]) or not os.path.isdir(real):
            continue
        if inside := next((each for each in own if within(real, each)), ""):
            return inside
        heads = [path.spellings[0] for path in paths]
        heads += [f"{head}/{folder.spellings[0].rpartition('/')[2]}" for head in heads]
        limit = WalkLimit(entries=ENTRIES)
        for _folder, above, entries, enter in walk(real, "", limit, strict=True):
            for entry in entries:
                below = f"{above}{entry.name}"
                named = (f"{head}/{below}" for head in heads) if may_be(entry.name) else ()
                if found := next((name for name in named if protected([Path((name,))])), ""):
                    return found
                if entry.is_dir(follow_symlinks=False):
                    enter((entry.path, f"{below}/"))
        if limit.unseen:
            return folder.spellings[0]
    return ""
