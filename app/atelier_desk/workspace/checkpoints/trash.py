"""Move a file or folder to the trash and back: by rename, or between disks by a verified copy.

Between disks nothing is ever visible half-done. Into the trash, the copy is made first; then the original is renamed
beside itself and deleted once the change is recorded. Back, the copy has a temporary name until it is complete.
"""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from atelier_desk.domain.errors import ConflictError, ToolError
from atelier_desk.domain.file_change import Change
from atelier_desk.support.i18n import N_
from atelier_desk.workspace import file_copying
from atelier_desk.workspace.atomic_rename import rename_new
from atelier_desk.workspace.checkpoints.checkpoint_files import CheckpointFiles
from atelier_desk.workspace.confined_root import ConfinedRoot

CONTENT = "content"
"""Name of the deleted file in the change's own trash folder."""


def put(folder: int, name: str, trash: int, beside: str) -> None:
    """Move something from an open folder to the trash.

    Args:
        beside: its name in ``folder`` if the trash is on another disk, where it stays until the change is recorded.

    Raises:
        OSError; ToolError: it is still in its place.
    """
    try:
        rename_new(folder, name, trash, CONTENT)
        return
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    copied = file_copying.copy_verified(folder, name, trash, CONTENT)
    try:
        rename_new(folder, name, folder, beside)
        if file_copying.digest_of(folder, beside) != copied:
            # Somebody wrote to it during the copy.
            file_copying.delete(trash, CONTENT)
            file_copying.copy_verified(folder, beside, trash, CONTENT)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            rename_new(folder, beside, folder, name)
        file_copying.delete(trash, CONTENT)
        raise


def put_back(folder: int, name: str, trash: int, beside: str) -> None:
    """Undo ``put``. Raises ``FileExistsError``: the name is taken again, and the file stays in the trash."""
    if _there(folder, beside):
        rename_new(folder, beside, folder, name)
        file_copying.delete(trash, CONTENT)
    else:
        rename_new(trash, CONTENT, folder, name)


def bring_back(folder: int, name: str, trash: int, beside: str, expected: str) -> None:
    """Restore something from the trash without replacing anything. From another disk, the trash keeps its copy.

    Args:
        beside: its name in ``folder`` until it is complete.
        expected: the hash it must have.

    Raises:
        OSError: EEXIST when the place is taken; EIO when the copy differs: nothing was changed.
    """
    try:
        rename_new(trash, CONTENT, folder, name)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        file_copying.copy_verified(trash, CONTENT, folder, beside, expected=expected)
        try:
            rename_new(folder, beside, folder, name)
        except BaseException:
            file_copying.delete(folder, beside)
            raise
    os.fsync(folder)


def settle(kept: CheckpointFiles, root: ConfinedRoot, change: Change) -> Change | None:
    """Resolve a deletion interrupted by a kill or an error: return the change if it was made, None if nothing changed.

    In doubt, the file stays in the trash. Raises ``ToolError``: the workspace is missing, or the disk fails.
    """
    recorded = kept.recorded(change)
    try:
        with (
            root.located(change.path, follow=False) as (folder, name),
            kept.trash_folder(change.id, make=True) as trash,
        ):
            if change.temporary and _there(folder, change.temporary):
                made = change if recorded else _settle_aside(folder, name, trash, change)
                if made is not None:
                    kept.save(made)
                    file_copying.delete(folder, change.temporary)
                return made
            if recorded or not _there(trash, CONTENT):
                return change if recorded else None
            if not _there(folder, name):
                return change
            # The copy may be incomplete, or somebody took the name: then the trash has the only version.
            copied = change.temporary and os.fstat(folder).st_dev != os.fstat(trash).st_dev
            return None if copied or file_copying.digest_of(folder, name) == change.before else change
    except ToolError as error:
        if error.code not in ("not_found", "not_a_folder"):
            raise
        return change if recorded or os.path.lexists(kept.trash(change.id) / CONTENT) else None


def _settle_aside(folder: int, name: str, trash: int, change: Change) -> Change | None:
    """Like ``settle`` for an original beside its place.

    Not yet known is whether it is the right file, and its copy complete.
    """
    found = file_copying.digest_of(folder, change.temporary)
    if found == change.before and file_copying.digest_of(trash, CONTENT) == found:
        return change
    try:
        rename_new(folder, change.temporary, folder, name)
    except FileExistsError:
        # Somebody took the name: the file stays listed as deleted and can be restored.
        file_copying.delete(trash, CONTENT)
        file_copying.copy_verified(folder, change.temporary, trash, CONTENT)
        return change.model_copy(update={"before": found, "undoes": change.undoes if found == change.before else ""})
    return None


def verify(trash: int, change: Change, where: Path) -> None:
    """Compare the trash with what was deleted. Raises ``ConflictError`` (``damaged``)."""
    found = file_copying.digest_of(trash, CONTENT)
    if not found:
        raise ToolError(N_("The deleted data is no longer stored."), code="not_found")
    if found != change.before:
        raise ConflictError(
            N_(
                "{path}: the copy of the deleted data in {folder} has changed. The disk is damaged, or a program "
                "wrote to the copy. Check the copy; to restore it as it is, undo anyway."
            ),
            code="damaged",
            path=change.path,
            folder=where,
        )


def _there(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
