"""Which files of a folder are read: those that ``.gitignore`` and the like leave, without what looks like a secret, and nothing behind
links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.project import FILES_MAX, SECRET
from atelier_desk.engine.attached_text import looks_secret
from atelier_desk.support.i18n import N_
from atelier_desk.support.text import can_be_kept
from atelier_desk.workspace.root import ConfinedRoot
from atelier_desk.workspace.walk import Walk, WalkEntry

SECONDS = 600.0
"""For one look through the folders."""
MADE = frozenset({"node_modules", "__pycache__", "site-packages", "bower_components", "venv", "__pypackages__"})
"""Folders of what was installed or made by programs, left out wherever no ignore file says so."""
PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp", ".gif")
"""They come last: reading their text takes seconds, where a file of code takes milliseconds."""
DENIED = N_("This folder cannot be looked into: the system does not allow it. What is known of its files is kept.")
UNNAMED = N_("Left out: its name is not text (UTF-8).")


@dataclass(slots=True)
class Scan:
    """What was found: paths to read, paths left out with the reason, and why not all was looked at (``Project.cut``)."""

    files: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    cut: str = ""


def scan(
    root: ConfinedRoot, below: Sequence[str] = (), stopped: Callable[[], object] = lambda: False, readable: Sequence[str] = ()
) -> Scan:
    """Look through a folder, or only at some files and folders of it. Blocks. ``readable``: what looks like a secret and is read, or gone
    into, all the same; what is in such a folder is looked at by its own name.

    Raises:
        ToolError: the folder itself cannot be read.
    """
    return _looked(Scan(), root, below, stopped, readable)


def any_file(root: ConfinedRoot, readable: Sequence[str] = ()) -> bool:
    """Whether there is a file in the folder that would be read or named. Blocks until the first one.

    Raises:
        ToolError: the folder itself cannot be read.
    """
    found = Scan()
    _looked(found, root, (), lambda: found.files or found.left_out, readable)
    return bool(found.files or found.left_out)


def _looked(found: Scan, root: ConfinedRoot, below: Sequence[str], stopped: Callable[[], object], readable: Sequence[str]) -> Scan:
    seen: set[str] = set()
    known = frozenset(readable)
    for start in below or ("",):
        walk = Walk(root, hidden=True, enters=partial(_enters, known), seconds=SECONDS, stopped=stopped)
        for entry in _entries(root, walk, start):
            parts = entry.path.split("/")
            closed = _closed(parts, known)
            secret = next((number for number, part in closed if looks_secret(part)), 0)
            path = "/".join(parts[: secret or None])
            if path in seen or not MADE.isdisjoint(parts):
                continue
            seen.add(path)
            if not can_be_kept(path):
                found.left_out[path.encode(errors="backslashreplace").decode()] = UNNAMED
            elif secret:
                found.left_out[path] = SECRET
            elif entry.found.kind != "file" or any(part.startswith(".") for _number, part in closed):
                continue  # hidden files are the programs' own; they are looked at for the names of secrets alone
            elif len(found.files) < FILES_MAX:
                found.files.append(entry.path)
            else:
                found.cut = "files"
                return found
        found.cut = found.cut or ("looks" if walk.cut else "")
        found.left_out.update({each: DENIED for each in walk.denied if can_be_kept(each)})
    found.files.sort(key=lambda path: (path.lower().endswith(PICTURES), path))
    return found


def _closed(parts: Sequence[str], readable: frozenset[str]) -> list[tuple[int, str]]:
    """The parts of a path with their numbers from 1, but for those that a person let in."""
    return [each for each in enumerate(parts, 1) if not readable or "/".join(parts[: each[0]]) not in readable]


def _enters(readable: frozenset[str], name: str) -> bool:
    if any(each == name or each.endswith(f"/{name}") for each in readable):
        return True
    return not (name.startswith(".") or looks_secret(name) or name in MADE)


def _entries(root: ConfinedRoot, walk: Walk, start: str) -> Sequence[WalkEntry]:
    try:
        there = root.look(start) if start else None
        if start and there is None:
            return ()
        if there is not None and there.kind != "folder":
            folder = start.rpartition("/")[0]
            return [entry for entry in walk.files(folder, folders=True, depth=1) if entry.path == start]
        return list(walk.files(start, folders=True))
    except ToolError as error:
        if not start:
            raise
        if error.code == "denied":
            walk.denied.append(start)
        return ()
