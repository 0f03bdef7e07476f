"""Instructions that a folder brings along: ``AGENTS.md`` at its top and further down, ``CLAUDE.md`` where there is none.

The forms are those of agents.md (the file nearest to what is worked on wins) and of Claude Code (``@path`` in a ``CLAUDE.md`` stands for
that file). Whoever asks makes sure that the folder is trusted. Nothing outside of it is read.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.instructions import FolderInstructions
from atelier_desk.domain.protected_names import DEPENDENCIES
from atelier_desk.workspace.root import ConfinedRoot
from atelier_desk.workspace.text import decode
from atelier_desk.workspace.walk import Walk

NAMES = ("AGENTS.md", "CLAUDE.md")
"""The first one that a folder has is read."""
FILE = 16_000
"""Characters of one file with all it imports."""
TOTAL = 40_000
"""Characters of all files of a folder."""
FILES = 20
DEPTH = 6
"""Folders below the granted one in which files are looked for."""
IMPORTS = 5
"""How deep imports import; the number of Claude Code's documentation."""
IMPORTED = 100
"""Imports of one file, those of its imports among them, that are looked for."""
SECONDS = 1.0
_BYTES = 256 * 1024
_IMPORT = re.compile(r"(?<![\w`@])@((?:~?/|\.{0,2}/)?[\w.\-]+(?:/[\w.\- ]*[\w.\-])*)")
_CODE = re.compile(r"(```.*?```|~~~.*?~~~|`[^`\n]*`)", re.DOTALL)


def instructions(root: ConfinedRoot) -> list[FolderInstructions]:
    """The files of a granted folder, its own first, then those further down in the order of their paths; blocks."""
    found: list[FolderInstructions] = []
    left = TOTAL
    for path in paths(root):
        if left <= 0 or len(found) == FILES:
            break
        text = _text(root, path)
        if text is None or not text.strip():
            continue
        if posixpath.basename(path) == "CLAUDE.md":
            text = _with_imports(root, path, text, (path,), _Room(FILE - len(text)))
        most = min(FILE, left)
        kept = text if len(text) <= most else text[:most].rpartition("\n")[0]
        found.append(FolderInstructions(folder=str(root.folder), path=path, text=kept.strip(), cut=len(kept) < len(text)))
        left -= len(kept)
    return found


def paths(root: ConfinedRoot) -> list[str]:
    """The files that are read, without reading them: one a folder, what ``.gitignore`` leaves out not among them."""
    names: dict[str, set[str]] = {}
    # Packages bring such files, which nobody was asked about.
    for entry in Walk(root, seconds=SECONDS, enters=lambda name: name not in DEPENDENCIES).files(depth=DEPTH):
        folder, _slash, name = entry.path.rpartition("/")
        if name in NAMES:
            names.setdefault(folder, set()).add(name)
    return [posixpath.join(folder, next(name for name in NAMES if name in names[folder])) for folder in sorted(names)]


def _text(root: ConfinedRoot, path: str) -> str | None:
    try:
        text = decode(root.read(path, _BYTES))
    except ToolError:
        return None
    return text.text.replace("\r\n", "\n") if text is not None else None


@dataclass
class _Room:
    """What may still be imported. All of a file's imports share it: files that import each other many times would otherwise be read
    millions of times."""

    characters: int
    files: int = IMPORTED


def _with_imports(root: ConfinedRoot, path: str, text: str, above: tuple[str, ...], room: _Room) -> str:
    """The text with every ``@path`` outside of code replaced by that file; one that is not there, or outside, stays as it is written."""
    if len(above) > IMPORTS:
        return text

    def imported(match: re.Match[str]) -> str:
        written = match[1].rstrip(".")
        if written.startswith(("/", "~")):
            return match[0]
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(path), written))
        if wanted in above or wanted.startswith("../") or room.files <= 0:
            return match[0]
        room.files -= 1
        inside = _text(root, wanted)
        if inside is None or len(inside) > room.characters:
            return match[0]
        room.characters -= len(inside)
        return f"{match[0]}\n\n{_with_imports(root, wanted, inside, (*above, wanted), room).strip()}\n"

    # Every second part is code, in which an @ is an @.
    parts = _CODE.split(text)
    return "".join(part if number % 2 else _IMPORT.sub(imported, part) for number, part in enumerate(parts))
