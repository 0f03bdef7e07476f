"""Detect what a command changed in a workspace, by comparing before and after, so that it can be undone.

A command does not report the files it writes, so all are compared. Not covered: ignored files, the inside of ``.git``,
links, files over ``ONE_BYTES``, and everything beyond ``ALL_BYTES``, ``CHANGES`` or twice ``SECONDS``. Files with
non-UTF-8 names are reported but cannot be restored. Changes that others make meanwhile are attributed to the command.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.result_parts import FileChange
from atelier_desk.support.visible_and_shortened_text import is_storable_name, readable_name
from atelier_desk.workspace.checkpoints.undoable_file_operations import Author, WorkspaceFiles
from atelier_desk.workspace.confined_root import FoundFile
from atelier_desk.workspace.diffs import file_change
from atelier_desk.workspace.gitignore_walk import Walk
from atelier_desk.workspace.path_resolution import WorkspacePath

ONE_BYTES = 1024 * 1024
ALL_BYTES = 32 * 1024 * 1024
CHANGES = 500
SECONDS = 3.0
"""Time limit for one scan of all folders together, and for reading their files."""


@dataclass(frozen=True, slots=True)
class ChangedSet:
    """Changes made by a command.

    ``parts`` are for display; ``lost`` are files, by display name, that cannot be restored. ``partly``: not everything
    was scanned, so more may have changed. ``gone``: granted folders that no longer exist.
    """

    parts: tuple[FileChange, ...] = ()
    lost: tuple[str, ...] = ()
    partly: bool = False
    gone: tuple[str, ...] = ()


class CommandChanges:
    """Snapshot of the files in some granted folders. All calls block.

    Args:
        roots: the granted folders; relative paths start at the first.
    """

    def __init__(self, files: WorkspaceFiles, roots: Sequence[Path]) -> None:
        self._files, self._roots = files, roots
        self._held: dict[tuple[Path, str], bytes] = {}
        self._found, self._partly, _gone = self._scan()
        left, until = ALL_BYTES, time.monotonic() + SECONDS
        # Newest files first: if time runs out, at least recent work can be restored.
        newest = sorted(
            (item for item in self._found.items() if item[1].kind == "file"),
            key=lambda item: item[1].modified,
            reverse=True,
        )
        for key, found in newest:
            if found.size > min(ONE_BYTES, left):
                continue
            if time.monotonic() > until:
                break
            content = self._read(*key) if found.size else b""
            if content is not None:
                self._held[key] = content
                left -= len(content)

    def compare(self, author: Author) -> ChangedSet:
        """Record the differences since the snapshot as changes of ``author``."""
        now, partly, gone = self._scan()
        partly = partly or self._partly
        parts: list[FileChange] = []
        lost: list[str] = []
        for key in sorted({*self._found, *now}):
            before, after = self._found.get(key), now.get(key)
            if before == after or (partly and (before is None or after is None)) or key[0] in gone:
                # Files that were not scanned may not be new; a moved folder took its files along.
                continue
            if any(each is not None and each.kind != "file" for each in (before, after)):
                continue
            part = self._change(author, key, before, after) if len(parts) < CHANGES else None
            if part is None:
                lost.append(self._shown(*key))
            elif part.before != part.after:
                parts.append(part)
        return ChangedSet(tuple(parts), tuple(lost), partly, tuple(str(root) for root in self._roots if root in gone))

    def _change(
        self, author: Author, key: tuple[Path, str], before: FoundFile | None, after: FoundFile | None
    ) -> FileChange | None:
        """Record one change; None if its contents are unknown or no record can name it."""
        root, path = key
        if not is_storable_name(path):
            return None
        old = self._held.get(key) if before is not None else None
        new = self._read(root, path) if after is not None else None
        if (before is not None and old is None) or (after is not None and new is None):
            return None
        shown = self._shown(root, path)
        if old != new or (before is not None and after is not None and before.mode != after.mode):
            mode = before.mode if before is not None else None
            gone = self._modes(root, path) if after is None else {}
            self._files.note(
                author, WorkspacePath(root, path, shown), old, new, mode=mode, modes=gone, made=self._made(root, path)
            )
        return file_change(shown, old, new)

    def _made(self, root: Path, path: str) -> tuple[str, ...]:
        """Return the folders above a file that did not exist before, topmost first."""
        return tuple(each for each in _above(path) if (root, each) not in self._found)

    def _modes(self, root: Path, path: str) -> dict[str, int]:
        """Return the previous permission bits of the folders above a file."""
        return {each: found.mode for each in _above(path) if (found := self._found.get((root, each))) is not None}

    def _scan(self) -> tuple[dict[tuple[Path, str], FoundFile], bool, set[Path]]:
        """Return the present files, whether the scan was incomplete, and missing granted folders."""
        found: dict[tuple[Path, str], FoundFile] = {}
        gone: set[Path] = set()
        left, partly = SECONDS, False
        for root in self._roots:
            walk = Walk(self._files.root(root), hidden=True, seconds=left)
            try:
                found |= {(root, entry.path): entry.found for entry in walk.files(folders=True)}
            except ToolError as error:
                if error.code == "workspace_gone":
                    gone.add(root)
                else:
                    partly = True
            partly, left = partly or bool(walk.cut), max(0.0, walk.seconds_left)
        return found, partly, gone

    def _read(self, root: Path, path: str) -> bytes | None:
        try:
            return self._files.root(root).read(path, ONE_BYTES)
        except (ToolError, OSError):
            return None

    def _shown(self, root: Path, path: str) -> str:
        return readable_name(path if root == self._roots[0] else f"{root.as_posix().rstrip('/')}/{path}")


def _above(path: str) -> list[str]:
    """Return the folders above a file, topmost first."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: end + 1]) for end in range(len(parts))]
