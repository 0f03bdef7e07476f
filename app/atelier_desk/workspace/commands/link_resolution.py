"""Resolve the files that a line names, following links: the only disk access needed to assess a line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from glob import glob
from os.path import isdir, lexists, normpath, realpath
from pathlib import Path

from atelier_desk.domain.path_containment import within
from atelier_desk.workspace.bounded_walk import WalkLimit, is_folder, walk
from atelier_desk.workspace.commands.judge import File
from atelier_desk.workspace.commands.link_following_programs import follows_links
from atelier_desk.workspace.commands.parsing import Simple

_JOINED = re.compile(r"[=:,@]")
"""Separators between an option and its file, or several files in one word: ``--files-from=x``, ``@x``, ``a:b``."""


def outside(files: tuple[File, ...], root: Path, folder: Path) -> str:
    """Return the first file, as written, outside ``root``.

    Empty if there is none. Relative names start at ``folder``.
    """
    for file in files:
        names = glob(file.name, root_dir=folder, include_hidden=True) if file.globs else []  # noqa: PTH207
        if any(not inside(folder / name, root) for name in [file.name, *names]):
            return file.name
    return ""


def led_out(command: Simple, folder: Path, roots: Iterable[str]) -> bool:
    """Whether a word names a file that is in a granted folder by its spelling, but outside of all by a link.

    For a program that follows links inside folders, links in named folders count too, as do folders too large to scan.
    ``roots``: the granted folders, as spelled and with links resolved.
    """
    tops = tuple(roots)
    limit = WalkLimit(entries=_ENTRIES, seconds=_SECONDS) if follows_links(command.arguments) else None
    seen: set[str] = set()
    for name in _names(command, folder):
        path = str(folder / name)
        if lexists(path) and any(within(top, normpath(path)) for top in tops):
            real = realpath(path)
            if not any(within(top, real) for top in tops) or (
                limit is not None and _leads_out(real, tops, limit, seen)
            ):
                return True
    return False


def _leads_out(top: str, roots: tuple[str, ...], limit: WalkLimit, seen: set[str]) -> bool:
    """Whether a link in a folder, directly or through further links, leads out of all granted folders."""
    waiting = [top]
    while waiting:
        start = waiting.pop()
        if start in seen or not isdir(start):  # noqa: PTH112
            continue
        seen.add(start)
        for _folder, _value, entries, enter in walk(start, None, limit):
            for entry in entries:
                if entry.is_symlink():
                    real = realpath(entry.path)
                    if not any(within(root, real) for root in roots):
                        return True
                    waiting.append(real)
                elif is_folder(entry) and entry.path not in seen:
                    seen.add(entry.path)
                    enter((entry.path, None))
    return bool(limit.unseen)


def _names(command: Simple, folder: Path) -> Iterator[str]:
    """Yield possible file names in the words after a program, whichever of its options take a file."""
    for word in command.words[1:]:
        text = word.text
        if "\0" in text or len(text) > _LONGEST:
            continue
        yield from {text, *_JOINED.split(text)} - {""}
        if text.startswith("-") and not text.startswith("--") and len(text) <= _ATTACHED:
            # -Tx, also after other letters
            yield from (text[index:] for index in range(2, len(text)))
        if word.globs:
            yield from glob(text, root_dir=folder, include_hidden=True)  # noqa: PTH207


_LONGEST = 4096
"""Maximum characters of a path (PATH_MAX)."""
_ENTRIES = 200_000
_SECONDS = 2.0
"""Time limit in seconds for scanning folders for links."""
_ATTACHED = 512
"""Maximum characters of a short-option word that is searched for a file name."""


def inside(path: Path, root: Path) -> bool:
    """Whether a path lies in a folder after resolving all links in both."""
    return Path(realpath(path)).is_relative_to(realpath(root))
