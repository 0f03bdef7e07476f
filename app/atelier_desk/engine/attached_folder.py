"""A folder that a person attaches: the list of its files, then what stands in them, the near and short ones first.

The beginning of this text is useful wherever it ends, as a model with a small window is given no more of it; the rest is read on with
``read_attachment``. Nothing behind links is read, nor what ``.gitignore`` leaves out, nor files whose names look like secrets: these are
named, so that nobody takes them for missing.
"""

from __future__ import annotations

from pathlib import Path

from atelier_desk.domain import limits
from atelier_desk.domain.errors import ToolError, UsageError
from atelier_desk.engine.attached_text import binary, decode, looks_secret, shown_name
from atelier_desk.engine.run.sanitize import mended
from atelier_desk.support.i18n import N_
from atelier_desk.workspace.root import ConfinedRoot
from atelier_desk.workspace.walk import Walk, WalkEntry

SECONDS = 5.0
"""Longest that one folder is looked through."""
FILE_READ = 1_000_000
"""Bytes of the largest file whose text is taken."""
FILE_TEXT = 20_000
"""Characters of one file."""
TEXT = 1_000_000
"""Characters of all files together."""


def folder_text(path: Path, name: str) -> tuple[str, tuple[str, ...]]:
    """The text of a folder, and the files left out of it because they look like secrets, by their places in it. Blocks.

    Args:
        name: what the folder is called to people.

    Raises:
        UsageError: it cannot be read.
    """
    root = ConfinedRoot(path)
    walk = Walk(root, seconds=SECONDS)
    found: list[WalkEntry] = []
    more = False
    try:
        for entry in walk.files():
            if len(found) == limits.ATTACHED_ENTRIES:
                more = True
                break
            found.append(entry)
    except ToolError as error:
        raise UsageError(N_("{path} cannot be read: {reason}"), path=name, reason=str(error)) from None
    found.sort(key=lambda entry: entry.path)
    secret = {entry.path for entry in found if any(map(looks_secret, (path.name, *entry.path.split("/"))))}
    texts, untold = _texts(root, walk, [entry for entry in found if entry.path not in secret])
    lines = [f"{shown_name(entry.path)} ({entry.found.size} bytes)" for entry in found] or ["(no files)"]
    if more:
        lines.append(f"[Only the first {limits.ATTACHED_ENTRIES} files are listed.]")
    elif walk.cut:
        lines.append(f"[{walk.cut}]")
    if secret:
        lines.append(f"[Left out, because they look as if they held secrets: {', '.join(map(shown_name, sorted(secret)))}]")
    if untold:
        lines.append(f"[{untold} of the files are no text, too large, or did not fit: they are listed only.]")
    return mended("\n".join(lines)) + "".join(texts), tuple(sorted(secret))


def _texts(root: ConfinedRoot, walk: Walk, files: list[WalkEntry]) -> tuple[list[str], int]:
    """The framed texts, and how many files have none here."""
    texts: list[str] = []
    room, untold = TEXT, 0
    for entry in sorted(files, key=lambda entry: (entry.path.count("/"), entry.found.size)):
        if room <= 0 or entry.found.size > FILE_READ or walk.seconds_left < 0:
            untold += 1
            continue
        try:
            text = decode(root.read(entry.path, FILE_READ))[0]
        except ToolError:  # gone or closed meanwhile
            untold += 1
            continue
        if binary(text):
            untold += 1
            continue
        most = min(FILE_TEXT, room)
        cut = f"\n[{most} of its {len(text)} characters.]" if len(text) > most else ""
        texts.append(f"\n\n--- {shown_name(entry.path)} ---\n{mended(text[:most]).rstrip()}{cut}")
        room -= len(texts[-1])
    return texts, untold
