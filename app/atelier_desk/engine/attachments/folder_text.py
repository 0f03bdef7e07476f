"""An attached folder: the list of its files, then their texts, shallow and short ones first.

The beginning of the text is useful wherever it is cut, because a model with a small context gets no more;
``read_attachment`` returns the rest. Targets of links, ignored files, and files whose names look like secrets are not
read but named.
"""

from __future__ import annotations

from pathlib import Path

from atelier_desk.domain import limits
from atelier_desk.domain.errors import ToolError, UsageError
from atelier_desk.engine.attachments.names_and_decoding import binary, decode, is_secret_name, shown_name
from atelier_desk.engine.run.lone_surrogates import sanitized
from atelier_desk.support.i18n import N_
from atelier_desk.workspace.confined_root import ConfinedRoot
from atelier_desk.workspace.gitignore_walk import Walk, WalkEntry

SECONDS = 5.0
"""Time limit in seconds for scanning a folder."""
FILE_READ = 1_000_000
"""Maximum bytes of a file whose text is included."""
FILE_TEXT = 20_000
"""Maximum characters of one file."""
TEXT = 1_000_000
"""Maximum characters of all files together."""


def folder_text(path: Path, name: str) -> tuple[str, tuple[str, ...]]:
    """Return the text of a folder, and the paths of files excluded because they look like secrets. Blocks.

    Args:
        name: display name of the folder.

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
    secret = {entry.path for entry in found if any(map(is_secret_name, (path.name, *entry.path.split("/"))))}
    texts, untold = _texts(root, walk, [entry for entry in found if entry.path not in secret])
    lines = [f"{shown_name(entry.path)} ({entry.found.size} bytes)" for entry in found] or ["(no files)"]
    if more:
        lines.append(f"[Only the first {limits.ATTACHED_ENTRIES} files are listed.]")
    elif walk.cut:
        lines.append(f"[{walk.cut}]")
    if secret:
        lines.append(
            f"[Left out, because they look as if they held secrets: {', '.join(map(shown_name, sorted(secret)))}]"
        )
    if untold:
        lines.append(f"[{untold} of the files are no text, too large, or did not fit: they are listed only.]")
    return sanitized("\n".join(lines)) + "".join(texts), tuple(sorted(secret))


def _texts(root: ConfinedRoot, walk: Walk, files: list[WalkEntry]) -> tuple[list[str], int]:
    """Return the framed texts, and the number of files without text."""
    texts: list[str] = []
    room, untold = TEXT, 0
    for entry in sorted(files, key=lambda entry: (entry.path.count("/"), entry.found.size)):
        if room <= 0 or entry.found.size > FILE_READ or walk.seconds_left < 0:
            untold += 1
            continue
        try:
            text = decode(root.read(entry.path, FILE_READ))[0]
        except ToolError:  # deleted or protected meanwhile
            untold += 1
            continue
        if binary(text):
            untold += 1
            continue
        most = min(FILE_TEXT, room)
        cut = f"\n[{most} of its {len(text)} characters.]" if len(text) > most else ""
        texts.append(f"\n\n--- {shown_name(entry.path)} ---\n{sanitized(text[:most]).rstrip()}{cut}")
        room -= len(texts[-1])
    return texts, untold
