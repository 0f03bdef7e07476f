"""Where the files that a line names really lie, links followed: the one look at the disk that judging a line needs."""

from __future__ import annotations

from glob import glob
from os.path import realpath
from pathlib import Path

from atelier_desk.workspace.commands.judge import File


def outside(files: tuple[File, ...], root: Path, folder: Path) -> str:
    """The first file, as it is written, that lies outside of ``root``; empty when none does. Relative names start at ``folder``."""
    for file in files:
        names = glob(file.name, root_dir=folder, include_hidden=True) if file.globs else []  # noqa: PTH207
        if any(not inside(folder / name, root) for name in [file.name, *names]):
            return file.name
    return ""


def inside(path: Path, root: Path) -> bool:
    """Whether a path lies in a folder when every link in both is followed."""
    return Path(realpath(path)).is_relative_to(realpath(root))
