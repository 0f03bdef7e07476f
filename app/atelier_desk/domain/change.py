"""A change of a workspace's files that can be undone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from atelier_desk.domain.base import Model, Timestamp


class Change(Model):
    """One file or folder that a call changed.

    Attributes:
        id: sorts by time.
        root: the granted folder, absolute; ``path`` and ``moved_to`` are relative to it, ``moved_root`` is another one when it went there.
        folder: it is a folder with all it holds.
        before, after: SHA-256 of the content (of names and contents of a folder), empty where there was or is nothing.
        mode: permission bits the file had, None when there was none.
        modes: permission bits that the folders above it had, for those that were deleted with it.
        made: folders that were made for it, the topmost first.
        temporary: name beside it of what is unfinished, or waits to be deleted, for whoever clears up after a crash.
        command: a command did it, which may have done more than change files of the workspace.
        undoes: the change that this one took back; ``undone_by`` the one that took this back.
        cleaned: what it needs to be taken back was given up, by age or by size.
    """

    id: str
    workflow_id: str
    run_id: str = ""
    call_id: str = ""
    agent_name: str = ""
    at: Timestamp
    action: Literal["created", "changed", "deleted", "moved"]
    root: str
    path: str
    moved_root: str = ""
    moved_to: str = ""
    folder: bool = False
    before: str = ""
    after: str = ""
    mode: int | None = None
    modes: dict[str, int] = {}
    made: tuple[str, ...] = ()
    temporary: str = ""
    command: bool = False
    undoes: str = ""
    undone_by: str = ""
    cleaned: bool = False

    @property
    def undoable(self) -> bool:
        """Whether taking it back is offered."""
        return not (self.undoes or self.undone_by or self.cleaned)


def portions(ids: Iterable[str]) -> list[tuple[str, ...]]:
    """Ids of changes in the order in which they are undone, as many at once as take less than a second: who undoes a thousand wants to see
    how far it is, and to be able to stop."""
    newest_first = sorted(ids, reverse=True)
    return [tuple(newest_first[start : start + UNDONE_AT_ONCE]) for start in range(0, len(newest_first), UNDONE_AT_ONCE)]


UNDONE_AT_ONCE = 20
"""A change takes about 34 ms where a disk syncs slowly (``tests/bench/bench_files.py``)."""
