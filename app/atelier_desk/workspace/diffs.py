"""What changed between two contents of a file, as people and models read it."""

from __future__ import annotations

import difflib
import hashlib

from atelier_desk.domain.parts import FileChange
from atelier_desk.workspace.text import decode

_MOST_LINES = 20_000
"""Lines of a file that are compared line by line: difflib takes a second for more."""
DIFF = 60_000
"""Characters of a diff that are kept with a call."""


def digest(data: bytes) -> str:
    """The SHA-256 of a content, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def unified(before: str, after: str, path: str) -> tuple[str, int, int]:
    """A unified diff with three lines of context, and how many lines were added and removed."""
    old, new = before.splitlines(), after.splitlines()
    if max(len(old), len(new)) > _MOST_LINES:
        return "", max(0, len(new) - len(old)), max(0, len(old) - len(new))
    lines = list(difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm=""))
    added = sum(1 for line in lines[2:] if line.startswith("+"))
    removed = sum(1 for line in lines[2:] if line.startswith("-"))
    text = "\n".join(lines)
    if len(text) > DIFF:
        text = text[:DIFF].rpartition("\n")[0] + "\n… the rest of the diff is left out"
    return text, added, removed


def file_change(path: str, before: bytes | None, after: bytes | None, *, moved_to: str = "") -> FileChange:
    """The change as a part of a result; None stands for no file."""
    action = "moved" if moved_to else "created" if before is None else "deleted" if after is None else "changed"
    old, new = decode(before or b""), decode(after or b"")
    diff, added, removed = "", 0, 0
    if old is not None and new is not None and before != after:
        diff, added, removed = unified(old.text, new.text, moved_to or path)
    return FileChange(
        action=action,  # type: ignore[arg-type]
        path=path,
        moved_to=moved_to,
        diff=diff,
        added=added,
        removed=removed,
        before=digest(before) if before is not None else "",
        after=digest(after) if after is not None else "",
    )
