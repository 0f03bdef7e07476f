"""Paths inside a project's folder, and the text of its files."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from atelier_desk.domain.errors import AtelierError, UsageError
from atelier_desk.domain.project import Project
from atelier_desk.support.i18n import N_
from atelier_desk.workspace.confined_root import ConfinedRoot
from atelier_desk.workspace.text_files import decode

SOURCE_BYTES = 16 * 1024 * 1024
"""Maximum bytes of a source file that is shown."""


def relative_path(project: Project, path: str) -> str:
    """Return a path relative to the project's root, with ``/``.

    Raises:
        UsageError: it is outside.
    """
    path_on_disk = os.path.normpath(os.path.join(project.root, os.path.expanduser(path)))  # noqa: PTH111, PTH118
    inside = os.path.relpath(path_on_disk, project.root)
    if inside == ".." or inside.startswith("../"):
        raise UsageError(N_("{path} is not in the project folder {root}."), path=path, root=project.root)
    return "" if inside == "." else Path(inside).as_posix()


def is_inside(path: str, folder: str) -> bool:
    """Whether a relative path is the folder or lies inside it; an empty folder contains everything."""
    return not folder or path == folder or path.startswith(f"{folder}/")


def read_text(root: str, path: str, closed: tuple[Path, ...]) -> str:
    """Read a text file below a root; no path may lie in a ``closed`` folder. Raises ``UsageError`` for other files."""
    text = decode(ConfinedRoot(Path(root), closed, real=True).read(path, SOURCE_BYTES))
    if text is None:
        raise UsageError(N_("{name} is not a text file."), name=path)
    return "\n".join(text.lines)


def notebook_text(text: str) -> str:
    """The cells of a notebook as one text; text that is no notebook is returned unchanged."""
    from atelier_desk.knowledge.parsing.documents.notebook import plain

    with contextlib.suppress(AtelierError):  # no longer a notebook: shown as it is
        return plain(text)
    return text
