"""What a command changes in a workspace: remembered before it, compared after it, kept so that it can be taken back.

A command says nothing of the files it writes, so all are looked at. Not covered: what ignore files leave out, what is inside of ``.git``,
links, files over ``ONE_BYTES``, and what lies beyond ``ALL_BYTES``, ``CHANGES`` or twice ``SECONDS``. Files whose
names are not UTF-8 are named, and cannot be taken back. What others change in the meantime counts as the command's.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.result_parts import FileChange
from atelier_desk.support.text import can_be_kept, readable_name
from atelier_desk.workspace.checkpoints.files import Author, WorkspaceFiles
from atelier_desk.workspace.diffs import file_change
from atelier_desk.workspace.path_resolution import WorkspacePath
from atelier_desk.workspace.root import FoundFile
from atelier_desk.workspace.walk import Walk

ONE_BYTES = 1024 * 1024
ALL_BYTES = 32 * 1024 * 1024
CHANGES = 500
SECONDS = 3.0
"""Of one look at all folders together, and of reading what stands in their files."""


@dataclass(frozen=True, slots=True)
class ChangedSet:
    """What was changed: ``parts`` are for the card; ``lost`` are files, as a person calls them, that cannot be taken back.

    ``partly``: not everything was looked at, so more may have changed. ``gone``: granted folders that are not there any more.
    """

    parts: tuple[FileChange, ...] = ()
    lost: tuple[str, ...] = ()
    partly: bool = False
    gone: tuple[str, ...] = ()


class CommandChanges:
    """The files of some granted folders as they are now. All calls block.

    Args:
        roots: the granted folders, the first one being where relative paths start.
    """

    def __init__(self, files: WorkspaceFiles, roots: Sequence[Path]) -> None:
        self._files, self._roots = files, roots
        self._held: dict[tuple[Path, str], bytes] = {}
        self._found, self._partly, _gone = self._look()
        left, until = ALL_BYTES, time.monotonic() + SECONDS
        # Who works on files works on the newest: where there is no time for all, those can be taken back.
        newest = sorted((item for item in self._found.items() if item[1].kind == "file"), key=lambda item: item[1].modified, reverse=True)
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
        """Keep what is otherwise now, as changes of ``author``."""
        now, partly, gone = self._look()
        partly = partly or self._partly
        parts: list[FileChange] = []
        lost: list[str] = []
        for key in sorted({*self._found, *now}):
            before, after = self._found.get(key), now.get(key)
            if before == after or (partly and (before is None or after is None)) or key[0] in gone:
                # Of what was not looked at nobody knows whether it is new; a folder that was moved away took its files along.
                continue
            if any(each is not None and each.kind != "file" for each in (before, after)):
                continue
            part = self._kept(author, key, before, after) if len(parts) < CHANGES else None
            if part is None:
                lost.append(self._shown(*key))
            elif part.before != part.after:
                parts.append(part)
        return ChangedSet(tuple(parts), tuple(lost), partly, tuple(str(root) for root in self._roots if root in gone))

    def _kept(self, author: Author, key: tuple[Path, str], before: FoundFile | None, after: FoundFile | None) -> FileChange | None:
        """One change; None for one whose contents are not known, or which no record can name."""
        root, path = key
        if not can_be_kept(path):
            return None
        old = self._held.get(key) if before is not None else None
        new = self._read(root, path) if after is not None else None
        if (before is not None and old is None) or (after is not None and new is None):
            return None
        shown = self._shown(root, path)
        if old != new or (before is not None and after is not None and before.mode != after.mode):
            mode = before.mode if before is not None else None
            gone = self._modes(root, path) if after is None else {}
            self._files.note(author, WorkspacePath(root, path, shown), old, new, mode=mode, modes=gone, made=self._made(root, path))
        return file_change(shown, old, new)

    def _made(self, root: Path, path: str) -> tuple[str, ...]:
        """The folders above a file that were not there before, the topmost first."""
        return tuple(each for each in _above(path) if (root, each) not in self._found)

    def _modes(self, root: Path, path: str) -> dict[str, int]:
        """The permission bits that the folders above a file had."""
        return {each: found.mode for each in _above(path) if (found := self._found.get((root, each))) is not None}

    def _look(self) -> tuple[dict[tuple[Path, str], FoundFile], bool, set[Path]]:
        """What is there, whether that is not everything, and the granted folders that are not there."""
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
    """The folders above a file, the topmost first."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: end + 1]) for end in range(len(parts))]
