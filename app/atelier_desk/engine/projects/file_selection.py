"""Choose the files to index in a folder: without ignored files, suspected secrets and targets of links."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.project import FILES_MAX, SECRET
from atelier_desk.engine.attachments.names_and_decoding import is_secret_name
from atelier_desk.support.i18n import N_
from atelier_desk.support.visible_and_shortened_text import is_storable_name
from atelier_desk.workspace.confined_root import ConfinedRoot
from atelier_desk.workspace.gitignore_walk import Walk, WalkEntry

SECONDS = 600.0
"""Time limit in seconds of a scan."""
FOUND_S = 5.0
"""Time limit in seconds of the search for the first files of a folder."""
MADE = frozenset({"node_modules", "__pycache__", "site-packages", "bower_components", "venv", "__pypackages__"})
"""Folders of installed or generated files, always excluded."""
PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp", ".gif")
"""Image extensions, read last: recognising text takes seconds, where a code file takes milliseconds."""
DENIED = N_("This folder cannot be read: the system does not allow it. Its files stay in the index.")
UNNAMED = N_("Skipped: the name is not valid UTF-8.")


@dataclass(slots=True)
class Scan:
    """Result of a scan: paths to read, skipped paths with reasons, and why it is incomplete (``Project.cut``)."""

    files: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    cut: str = ""


def scan(
    root: ConfinedRoot,
    below: Sequence[str] = (),
    stopped: Callable[[], object] = lambda: False,
    readable: Sequence[str] = (),
) -> Scan:
    """Scan a folder, or only some files and folders of it. Blocks.

    ``readable``: paths to read although they look like secrets; files in such a folder are still checked by their own
    names.

    Raises:
        ToolError: the folder itself cannot be read.
    """
    return _scan(Scan(), root, below, stopped, readable)


def any_file(root: ConfinedRoot, readable: Sequence[str] = ()) -> bool:
    """Whether the folder contains any file that would be read or named. Blocks until the first one.

    Raises:
        ToolError: the folder itself cannot be read.
    """
    found = Scan()
    _scan(found, root, (), lambda: found.files or found.left_out, readable)
    return bool(found.files or found.left_out)


def has_files(root: ConfinedRoot, least: int) -> bool:
    """Whether the folder contains this many files to read. Blocks until they are found, at most ``FOUND_S`` seconds.

    Raises:
        ToolError: the folder itself cannot be read.
    """
    found = Scan()
    return len(_scan(found, root, (), lambda: len(found.files) >= least, (), FOUND_S).files) >= least


def _scan(
    found: Scan,
    root: ConfinedRoot,
    below: Sequence[str],
    stopped: Callable[[], object],
    readable: Sequence[str],
    seconds: float = SECONDS,
) -> Scan:
    seen: set[str] = set()
    known = frozenset(readable)
    for start in below or ("",):
        walk = Walk(root, hidden=True, enters=partial(_enters, known), seconds=seconds, stopped=stopped)
        for entry in _entries(root, walk, start):
            parts = entry.path.split("/")
            closed = _closed(parts, known)
            secret = next((number for number, part in closed if is_secret_name(part)), 0)
            path = "/".join(parts[: secret or None])
            if path in seen or not MADE.isdisjoint(parts):
                continue
            seen.add(path)
            if not is_storable_name(path):
                found.left_out[path.encode(errors="backslashreplace").decode()] = UNNAMED
            elif secret:
                found.left_out[path] = SECRET
            elif entry.found.kind != "file" or any(part.startswith(".") for _number, part in closed):
                continue  # hidden files belong to programs; only their names are checked for secrets
            elif len(found.files) < FILES_MAX:
                found.files.append(entry.path)
            else:
                found.cut = "files"
                return found
        found.cut = found.cut or ("looks" if walk.cut else "")
        found.left_out.update({each: DENIED for each in walk.denied if is_storable_name(each)})
    found.files.sort(key=lambda path: (path.lower().endswith(PICTURES), path))
    return found


def _closed(parts: Sequence[str], readable: frozenset[str]) -> list[tuple[int, str]]:
    """Return the suspicious parts of a path with their numbers from 1, except allowed ones."""
    return [each for each in enumerate(parts, 1) if not readable or "/".join(parts[: each[0]]) not in readable]


def _enters(readable: frozenset[str], name: str) -> bool:
    if any(each == name or each.endswith(f"/{name}") for each in readable):
        return True
    return not (name.startswith(".") or is_secret_name(name) or name in MADE)


def _entries(root: ConfinedRoot, walk: Walk, start: str) -> Iterator[WalkEntry]:
    try:
        there = root.inspect(start) if start else None
        if start and there is None:
            return
        if there is not None and there.kind != "folder":
            folder = start.rpartition("/")[0]
            yield from (entry for entry in walk.files(folder, folders=True, depth=1) if entry.path == start)
        else:
            yield from walk.files(start, folders=True)
    except ToolError as error:
        if not start:
            raise
        if error.code == "denied":
            walk.denied.append(start)
