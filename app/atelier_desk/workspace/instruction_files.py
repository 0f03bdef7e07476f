"""Instruction files of a folder: ``AGENTS.md`` at its top and below, or ``CLAUDE.md`` where that is missing.

Formats: agents.md (the file nearest to the work takes precedence) and Claude Code (``@path`` in a ``CLAUDE.md``
includes that file). The caller makes sure that the folder is trusted. Files outside it, files that a rule denies, and
secrets are not read but named.
"""

from __future__ import annotations

import os
import posixpath
import re
from dataclasses import dataclass

from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.folder_instructions import FolderInstructions
from atelier_desk.domain.path_containment import within
from atelier_desk.domain.protected_names import DEPENDENCIES
from atelier_desk.workspace.confined_root import ConfinedRoot
from atelier_desk.workspace.denied_file_search import home_folder, real
from atelier_desk.workspace.gitignore_walk import Walk
from atelier_desk.workspace.path_restrictions import Denials
from atelier_desk.workspace.processes.secret_locations import SECRETS
from atelier_desk.workspace.text_files import decode

NAMES = ("AGENTS.md", "CLAUDE.md")
"""The first existing one of a folder is read."""
FILE = 16_000
"""Maximum characters of one file including its imports."""
TOTAL = 40_000
"""Maximum characters of all files of a folder."""
FILES = 20
DEPTH = 6
"""Depth below the granted folder to which files are searched."""
IMPORTS = 5
"""Maximum nesting of imports, as in Claude Code's documentation."""
IMPORTED = 100
"""Maximum imports of one file, including nested ones."""
SECONDS = 1.0
_BYTES = 256 * 1024
_IMPORT = re.compile(r"(?<![\w`@])@((?:~?/|\.{0,2}/)?(?:[\w.\-]|\\ )+(?:/(?:[\w.\-]|\\ )+)*)")
"""A path ends at the first space, as in Claude Code; spaces in names are escaped with a backslash."""
_CODE = re.compile(r"(```.*?```|~~~.*?~~~|`[^`\n]*`)", re.DOTALL)


def instructions(root: ConfinedRoot, denials: Denials | None = None) -> list[FolderInstructions]:
    """Return the files of a granted folder, its own first, then those below in order of their paths; blocks.

    ``denials``: files that rules deny are only named.
    """
    reader = _Reader(root, denials or Denials())
    found: list[FolderInstructions] = []
    left = TOTAL
    for path in paths(root):
        if left <= 0 or len(found) == FILES:
            break
        text = f"({why})" if (why := reader.refusal(path)) else reader.text(path)
        if text is None or not text.strip():
            continue
        if posixpath.basename(path) == "CLAUDE.md":
            text = _with_imports(reader, path, text, (path,), _Room(FILE - len(text)))
        most = min(FILE, left)
        shortened = text if len(text) <= most else text[:most].rpartition("\n")[0]
        found.append(
            FolderInstructions(
                folder=str(root.folder), path=path, text=shortened.strip(), cut=len(shortened) < len(text)
            )
        )
        left -= len(shortened)
    return found


def paths(root: ConfinedRoot) -> list[str]:
    """Return the paths of the files without reading them: one per folder, without ignored ones."""
    names: dict[str, set[str]] = {}
    # Installed packages contain such files, which nobody reviewed.
    for entry in Walk(root, seconds=SECONDS, enters=lambda name: name not in DEPENDENCIES).files(depth=DEPTH):
        folder, _slash, name = entry.path.rpartition("/")
        if name in NAMES:
            names.setdefault(folder, set()).add(name)
    return [posixpath.join(folder, next(name for name in NAMES if name in names[folder])) for folder in sorted(names)]


class _Reader:
    """Reads files of one folder, except secret and denied ones."""

    def __init__(self, root: ConfinedRoot, denials: Denials) -> None:
        self._root, self._denials = root, denials
        top, home = real(root.folder), home_folder()
        places = (real(f"{home}/{name}") for name in SECRETS)
        # If a person granted such a place itself, it may be read.
        self._secret = [place for place in places if within(top, place) and place != top]

    def refusal(self, path: str) -> str:
        """Return why a file is not read, in words for an agent; empty if it may be."""
        full_path = f"{self._root.folder}/{path}"
        led = real(full_path)
        if not os.path.lexists(full_path):
            return ""
        if not within(real(self._root.folder), led):
            return "left out: it leads out of this folder through a link"
        if rule := self._denials.rule_against(full_path):
            return f"left out: the permission rule “{rule}” denies reading it"
        return (
            "left out: keys and passwords are kept there" if any(within(place, led) for place in self._secret) else ""
        )

    def text(self, path: str) -> str | None:
        """Return its content; None if it is not readable text."""
        try:
            text = decode(self._root.read(path, _BYTES))
        except ToolError:
            return None
        return text.text.replace("\r\n", "\n") if text is not None else None


@dataclass
class _Room:
    """Remaining imports, shared by all imports of a file.

    Files that import each other repeatedly would otherwise be read millions of times.
    """

    characters: int
    files: int = IMPORTED


def _with_imports(reader: _Reader, path: str, text: str, above: tuple[str, ...], room: _Room) -> str:
    """Replace every ``@path`` outside code by that file.

    Missing files and files outside stay as written; a refusal is noted after the path.
    """
    if len(above) > IMPORTS:
        return text

    def imported(match: re.Match[str]) -> str:
        written = match[1].rstrip(".").replace("\\ ", " ")
        if written.startswith(("/", "~")):
            return match[0]
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(path), written))
        if wanted in above or wanted.startswith("../") or room.files <= 0:
            return match[0]
        room.files -= 1
        if why := reader.refusal(wanted):
            return f"{match[0]} ({why})"
        inside = reader.text(wanted)
        if inside is None or len(inside) > room.characters:
            return match[0]
        room.characters -= len(inside)
        return f"{match[0]}\n\n{_with_imports(reader, wanted, inside, (*above, wanted), room).strip()}\n"

    # Every second part is code, where @ is literal.
    parts = _CODE.split(text)
    return "".join(part if number % 2 else _IMPORT.sub(imported, part) for number, part in enumerate(parts))
