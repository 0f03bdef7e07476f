"""Resolve a path to a granted folder and a relative path, from its text only."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from atelier_desk.domain.errors import ToolError
from atelier_desk.support.visible_and_shortened_text import name_on_disk, readable_name

PATH = 4_096
"""Maximum characters of a path, as in Linux."""
NAME_BYTES = 255


@dataclass(frozen=True, slots=True)
class WorkspacePath:
    """A path below a granted folder.

    Attributes:
        root: the granted folder, absolute.
        path: parts joined by ``/``, without ``.`` and ``..``; empty for the folder itself.
        shown: for display to models and people: relative to the first granted folder, else absolute.
    """

    root: Path
    path: str
    shown: str

    def below(self, name: str) -> WorkspacePath:
        """Return a file or folder in this one; ``name`` may have several parts."""
        shown = readable_name(name) if self.shown == "." else f"{self.shown.rstrip('/')}/{readable_name(name)}"
        return WorkspacePath(self.root, f"{self.path}/{name}" if self.path else name, shown)


def place(text: str, roots: Sequence[Path]) -> WorkspacePath:
    """Resolve a path.

    Relative paths start at the first folder of ``roots``; absolute ones, and those from ``~``, must lie in one of them.
    ``..`` is removed textually, before links are resolved: the displayed path is the one that is opened.

    Raises:
        ToolError: ``no_workspace``, ``bad_path`` or ``outside``, in words for the model.
    """
    if not roots:
        raise ToolError(NO_WORKSPACE, code="no_workspace")
    if not text:
        raise ToolError(
            "The path is empty. Give a path relative to the workspace, for example src/main.py.", code="bad_path"
        )
    if "\0" in text or len(text) > PATH or any(0xD800 <= ord(letter) <= 0xDFFF for letter in text):
        raise ToolError(
            "That is no path: it is too long, or it holds characters that no file name can have.", code="bad_path"
        )
    if any(len(os.fsencode(name_on_disk(part))) > NAME_BYTES for part in text.split("/")):
        raise ToolError(
            "A name in the path has more than {most} bytes, which no file can have.", code="bad_path", most=NAME_BYTES
        )
    written = os.path.expanduser(text) if text == "~" or text.startswith("~/") else text  # noqa: PTH111 (a Path would lose the rest)
    if not written.startswith("/"):
        plain = posixpath.normpath(written)
        if plain == ".." or plain.startswith("../"):
            raise _outside(text, roots)
        return WorkspacePath(roots[0], "" if plain == "." else name_on_disk(plain), plain)
    plain = "/" + posixpath.normpath(written).lstrip("/")
    for root in roots:
        for spelling in dict.fromkeys((root.as_posix(), os.path.realpath(root))):
            inside = plain == spelling or plain.startswith(spelling.rstrip("/") + "/")
            if inside:
                below = plain[len(spelling.rstrip("/")) :].strip("/")
                shown = (below or ".") if root == roots[0] else (root / below).as_posix()
                return WorkspacePath(root, name_on_disk(below), shown)
    raise _outside(text, roots)


def first_outside(texts: Iterable[str], roots: Sequence[Path]) -> ToolError | None:
    """Return the error of the first path outside the granted folders; None if there is none. Links are not resolved."""
    try:
        for text in texts:
            place(text, roots)
    except ToolError as error:
        return error
    return None


NO_WORKSPACE = (
    "This workflow has no folder to work in. The user can grant one: in the window in the pane Files, or with "
    "--workspace DIR on the command line. Ask for it, or go on without files."
)


def _outside(text: str, roots: Sequence[Path]) -> ToolError:
    return ToolError(
        (
            "{path} is outside the workspace. You can reach what lies in {folders}, by paths relative to the first "
            "folder."
        ),
        code="outside",
        path=text[:200],
        folders=", ".join(str(root) for root in roots),
    )
