"""Undo changes. Others' later changes are only overwritten on a person's request, and are then stored too."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from atelier_desk.domain.errors import AtelierError, ConflictError, NotFoundError, ToolError
from atelier_desk.domain.file_change import Change
from atelier_desk.support.i18n import N_
from atelier_desk.workspace.checkpoints.undoable_file_operations import Author, WorkspaceFiles
from atelier_desk.workspace.path_resolution import WorkspacePath


@dataclass(frozen=True, slots=True)
class UndoResult:
    """Result for one change: ``problem`` is why it was not undone, None if it was."""

    change: Change
    problem: AtelierError | None = None


@contextlib.contextmanager
def all_or_none(files: WorkspaceFiles) -> Iterator[list[Change]]:
    """Make several changes atomic: those added to the list are undone and forgotten if the block fails."""
    with files.lock:
        made: list[Change] = []
        try:
            yield made
        except BaseException:
            for change in reversed(made):
                with contextlib.suppress(AtelierError, OSError):
                    by = undo_change(files, change)
                    files.store.remove(change)
                    if by != change.id:
                        files.store.remove(files.store.get(change.workflow_id, by))
            raise


def undo(files: WorkspaceFiles, changes: Iterable[Change], *, force: bool = False) -> list[UndoResult]:
    """Undo changes, newest first.

    ``force``: even over others' later changes, which are recorded as changes themselves.
    """
    done = []
    with files.lock:
        for change in sorted(changes, key=lambda each: each.id, reverse=True):
            if change.undone_by:
                continue
            try:
                undo_change(files, change, force=force)
                done.append(UndoResult(change))
            except AtelierError as error:
                done.append(UndoResult(change, _gone(change) if error.code == "workspace_gone" else error))
    return done


def undo_change(files: WorkspaceFiles, change: Change, *, force: bool = False) -> str:
    """Undo one change and record that; return the id of the undoing change, or its own.

    Raises:
        ConflictError: ``changed``: the file is not as the change left it; ``damaged``: the stored data is damaged;
            neither with ``force``.
        NotFoundError: its content is no longer stored.
        AtelierError: the file cannot be written.
    """
    if change.cleaned:
        raise NotFoundError(N_("{path}: its previous content is no longer stored."), path=change.path)
    try:
        return _undo_change(files, change, force)
    except ToolError as error:
        if error.code in ("changed", "exists") and not force:
            raise _conflict(change.path) from error
        raise


def _undo_change(files: WorkspaceFiles, change: Change, force: bool) -> str:
    author = Author(change.workflow_id, undoes=change.id)
    other = Author(change.workflow_id)
    """Author of the changes that displace somebody else's version; they are listed and undoable."""
    here = WorkspacePath(Path(change.root), change.path, change.path)
    by: Change | None = None
    match change.action:
        case _ if _is_as_before(files, change):
            # A kill came before the undo was recorded, or somebody reverted it by hand.
            by = next((each for each in files.store.of(change.workflow_id) if each.undoes == change.id), None)
        case "created":
            own = _expect(files, change.root, change.path, change.after, force)
            by = files.delete(author if own else other, here, was=change.after if own else "")
        case "changed":
            own = _expect(files, change.root, change.path, change.after, force, follow=True)
            content = files.store.content(change.before)
            by = files.write(author if own else other, here, content, mode=change.mode, was=change.after if own else "")
        case "deleted":
            _make_room(files, here, force, change)
            by = files.bring_back(author, change, force=force)
        case "moved":
            there = WorkspacePath(Path(change.moved_root), change.moved_to, change.moved_to)
            _expect(files, change.moved_root, change.moved_to, change.after, force)
            _make_room(files, here, force, change)
            by = files.move(author, there, here)[-1]
    files.complete_undo(change, by)
    return by.id if by is not None else change.id


def _is_as_before(files: WorkspaceFiles, change: Change) -> bool:
    """Whether everything is as it was before the change."""
    root = files.root(change.root)
    now = files.digest_at(root, change.path, follow=change.action == "changed")
    if change.action == "moved" and files.digest_at(files.root(change.moved_root), change.moved_to, follow=False):
        return False
    return now == change.before and (change.action != "changed" or change.before != change.after)


def _expect(files: WorkspaceFiles, root: str, path: str, wanted: str, force: bool, *, follow: bool = False) -> bool:
    """Whether the file is as the change left it. Raises ``ConflictError`` if not, unless ``force``."""
    own = files.digest_at(files.root(root), path, follow=follow) == wanted
    if not own and not force:
        raise _conflict(path)
    return own


def _make_room(files: WorkspaceFiles, place: WorkspacePath, force: bool, change: Change) -> None:
    """Make sure that the place of a restored file is free; with ``force``, move what is there to the trash."""
    if files.digest_at(files.root(place.root), place.path, follow=False):
        if not force:
            raise _conflict(place.path)
        files.delete(Author(change.workflow_id), place)


def _gone(change: Change) -> NotFoundError:
    root = next((each for each in (change.root, change.moved_root) if each and not Path(each).is_dir()), change.root)
    return NotFoundError(
        N_("The folder {folder} was not found: it was moved or deleted, or its disk is not connected."),
        code="workspace_gone",
        folder=root,
    )


def _conflict(path: str) -> ConflictError:
    return ConflictError(
        N_(
            "{path} has been changed again in the meantime. Undoing would lose that change. Leave the file "
            "as it is, or undo anyway."
        ),
        code="changed",
        path=path,
    )
