"""A person's decision about held files: "Keep" puts one in its place, "Discard" deletes it."""

from __future__ import annotations

from pathlib import Path

from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.file_change import Change
from atelier_desk.domain.held_file import HeldFile
from atelier_desk.support.visible_and_shortened_text import readable_name
from atelier_desk.workspace.checkpoints.held_files import in_the_way
from atelier_desk.workspace.checkpoints.undoable_file_operations import FILE, Author, WorkspaceFiles
from atelier_desk.workspace.confined_root import ConfinedRoot
from atelier_desk.workspace.path_resolution import WorkspacePath


def accept(files: WorkspaceFiles, workflow_id: str, id: str) -> Change | None:
    """Put a held file in its place and return the undoable change; blocks.

    Returns None for links, folders, large files and non-UTF-8 names, which a change cannot describe: whatever they
    replace is held instead.

    Raises:
        NotFoundError: there is no such held file.
        ConflictError: ``changed``: something else is in its place, or a folder above became a link.
        ToolError: it cannot be written.
    """
    with files.lock:
        held = files.held.get(workflow_id, id)
        root = files.root(held.root)
        above = (Path(held.root, each) for each in Path(held.on_disk).parents)
        if link := next((each for each in above if each != Path(held.root) and each.is_symlink()), None):
            # It was no link when the file was held, and would redirect the file elsewhere.
            raise in_the_way(held, readable_name(link.relative_to(held.root).as_posix()))
        target = WorkspacePath(Path(held.root), held.on_disk, held.path)
        there = files.digest_at(root, held.on_disk, follow=False)
        if there and there == held.content:
            files.held.delete(held)
            return None
        if there not in ("", held.replaces):
            raise in_the_way(held)
        author = Author(workflow_id, held.run_id, held.call_id, held.agent_name)
        data = files.held.read(held, FILE)
        existing = root.inspect(held.on_disk, follow=False)
        if data is None or held.raw or (existing is not None and existing.kind != "file"):
            if there and held.raw:
                _hold_too(files, held, root)
            elif there:
                files.delete(author, target, was=there)
            files.held.put(held, root)
            files.held.delete(held)
            return None
        try:
            change = files.write(author, target, data, new=not there, mode=files.held.mode(held), was=there)
        except ToolError as error:
            if error.code in ("changed", "exists"):
                raise in_the_way(held) from error
            raise
        files.held.delete(held)
        return change


def _hold_too(files: WorkspaceFiles, held: HeldFile, root: ConfinedRoot) -> None:
    record = files.held_record(
        Author(held.workflow_id, held.run_id, held.call_id, held.agent_name), root.folder, held.on_disk, by=held.author
    )
    with root.located(held.on_disk, follow=False) as (folder, name):
        files.held.move_out(record.model_copy(update={"replaces": held.content}), folder, name)


def discard(files: WorkspaceFiles, workflow_id: str, id: str) -> HeldFile:
    """Permanently delete a held file; blocks. Raises ``NotFoundError``: there is no such held file."""
    with files.lock:
        held = files.held.get(workflow_id, id)
        files.held.delete(held)
        return held
