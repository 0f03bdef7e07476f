"""An undoable change of workspace files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from atelier_desk.domain.base_model import Model, Timestamp


class Change(Model):
    """One file or folder changed by a call.

    Attributes:
        id: sorts by time.
        root: the granted folder, absolute; ``path`` and ``moved_to`` are relative to it, ``moved_root`` is the other
            one if it was moved there.
        folder: a folder with all its content.
        before, after: SHA-256 of the content (of names and contents of a folder), empty if there was or is none.
        mode: previous permission bits, None if there were none.
        modes: permission bits of parent folders that were deleted with it.
        made: parent folders that were created, topmost first.
        temporary: name of an unfinished or discarded file beside it, for cleaning up after a crash.
        command: made by a command, which may have affected more than workspace files.
        undoes: the change that this one reverted; ``undone_by``: the one that reverted this.
        cleaned: the data for undoing it was deleted, by age or size.
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
        """Whether undoing it is offered."""
        return not (self.undoes or self.undone_by or self.cleaned)


def portions(ids: Iterable[str]) -> list[tuple[str, ...]]:
    """Split ids of changes, in undo order, into portions of less than a second, for progress and cancelling."""
    newest_first = sorted(ids, reverse=True)
    return [
        tuple(newest_first[start : start + UNDONE_AT_ONCE]) for start in range(0, len(newest_first), UNDONE_AT_ONCE)
    ]


UNDONE_AT_ONCE = 20
"""A change takes about 34 ms on a disk that syncs slowly (``tests/bench/bench_workspace_files.py``)."""
