"""Which files of a folder are read: those that ``.gitignore`` and the like leave, without what looks like a secret, and nothing behind
links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.text import can_be_kept
from atelier_desk.engine.attached_text import looks_secret
from atelier_desk.i18n import N_
from atelier_desk.workspace.root import ConfinedRoot
from atelier_desk.workspace.walk import Entry, Walk

FILES = 50_000
"""Files of one project."""
SECONDS = 600.0
"""For one look through the folders."""
MADE = frozenset({"node_modules", "__pycache__", "site-packages", "bower_components", "venv", "__pypackages__"})
"""Folders of what was installed or made by programs, left out wherever no ignore file says so."""
PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp", ".gif")
"""They come last: reading their text takes seconds, where a file of code takes milliseconds."""
SECRET = N_("Left out: it looks as if it held a secret.")
UNNAMED = N_("Left out: its name is not text (UTF-8).")


@dataclass(slots=True)
class Scan:
    """What was found: paths to read, paths left out with the reason, and why not all was looked at."""

    files: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    cut: str = ""


def scan(root: ConfinedRoot, below: Sequence[str] = (), stopped: Callable[[], object] = lambda: False) -> Scan:
    """Look through a folder, or only at some files and folders of it. Blocks.

    Raises:
        ToolError: the folder itself cannot be read.
    """
    found = Scan()
    seen: set[str] = set()
    for start in below or ("",):
        walk = Walk(root, hidden=True, enters=_enters, seconds=SECONDS, stopped=stopped)
        for entry in _entries(root, walk, start):
            parts = entry.path.split("/")
            secret = next((number for number, part in enumerate(parts, 1) if looks_secret(part)), 0)
            path = "/".join(parts[: secret or None])
            if path in seen or not MADE.isdisjoint(parts):
                continue
            seen.add(path)
            if not can_be_kept(path):
                found.left_out[path.encode(errors="backslashreplace").decode()] = UNNAMED
            elif secret:
                found.left_out[path] = SECRET
            elif entry.found.kind != "file" or any(part.startswith(".") for part in parts):
                continue  # hidden files are the programs' own; they are looked at for the names of secrets alone
            elif len(found.files) < FILES:
                found.files.append(entry.path)
            else:
                found.cut = f"only the first {FILES} files are read"
                return found
        found.cut = found.cut or walk.cut
    found.files.sort(key=lambda path: (path.lower().endswith(PICTURES), path))
    return found


def _enters(name: str) -> bool:
    return not (name.startswith(".") or looks_secret(name) or name in MADE)


def _entries(root: ConfinedRoot, walk: Walk, start: str) -> Sequence[Entry]:
    try:
        there = root.look(start) if start else None
        if start and there is None:
            return ()
        if there is not None and there.kind != "folder":
            folder = start.rpartition("/")[0]
            return [entry for entry in walk.files(folder, folders=True, depth=1) if entry.path == start]
        return list(walk.files(start, folders=True))
    except ToolError:
        if start:
            return ()
        raise
