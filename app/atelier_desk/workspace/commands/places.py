"""Where the files that a line names really lie, links followed: the one look at the disk that judging a line needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from glob import glob
from os.path import lexists, normpath, realpath
from pathlib import Path

from atelier_desk.domain.paths import within
from atelier_desk.workspace.commands.judge import File
from atelier_desk.workspace.commands.line import Simple

_JOINED = re.compile(r"[=:,@]")
"""Between an option and the file it names, or several files in one word: ``--files-from=x``, ``@x``, ``a:b``."""


def outside(files: tuple[File, ...], root: Path, folder: Path) -> str:
    """The first file, as it is written, that lies outside of ``root``; empty when none does. Relative names start at ``folder``."""
    for file in files:
        names = glob(file.name, root_dir=folder, include_hidden=True) if file.globs else []  # noqa: PTH207
        if any(not inside(folder / name, root) for name in [file.name, *names]):
            return file.name
    return ""


def led_out(command: Simple, folder: Path, roots: Iterable[str]) -> bool:
    """Whether a word of any program names a file that is in a granted folder by its spelling, and outside of all by a link.

    ``roots``: the granted folders, as they are spelled and with links followed.
    """
    tops = tuple(roots)
    for name in _names(command, folder):
        path = str(folder / name)
        if lexists(path) and any(within(top, normpath(path)) for top in tops):
            real = realpath(path)
            if not any(within(top, real) for top in tops):
                return True
    return False


def _names(command: Simple, folder: Path) -> Iterator[str]:
    """What the words behind a program may name, whichever of its options take a file."""
    for word in command.words[1:]:
        text = word.text
        if "\0" in text or len(text) > _LONGEST:
            continue
        yield from {text, *_JOINED.split(text)} - {""}
        if text.startswith("-") and not text.startswith("--") and len(text) <= _ATTACHED:
            # -Tx, also behind other letters
            yield from (text[place:] for place in range(2, len(text)))
        if word.globs:
            yield from glob(text, root_dir=folder, include_hidden=True)  # noqa: PTH207


_LONGEST = 4096
"""Characters of a path (PATH_MAX)."""
_ATTACHED = 512
"""Of a word of short options in which a file is looked for."""


def inside(path: Path, root: Path) -> bool:
    """Whether a path lies in a folder when every link in both is followed."""
    return Path(realpath(path)).is_relative_to(realpath(root))
