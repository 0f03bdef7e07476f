"""Instruction files of folders. Not for a listing: it loads the rules of paths and the formats of the files."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from atelier_desk.domain.errors import AtelierError
from atelier_desk.domain.folder_instructions import FolderInstructions
from atelier_desk.domain.permission import PermissionRule
from atelier_desk.policy.permissions.path_denials import bans
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.workspace.checkpoints.protected_file_guard import settle_all
from atelier_desk.workspace.checkpoints.undoable_file_operations import WorkspaceFiles
from atelier_desk.workspace.confined_root import ConfinedRoot
from atelier_desk.workspace.instruction_files import instructions, paths
from atelier_desk.workspace.path_restrictions import Denials
from atelier_desk.workspace.skills.skill_discovery import in_project

log = logging.getLogger(__name__)

__all__ = ["names", "present", "settle_all"]


async def present(
    files: WorkspaceFiles, trusted: Sequence[str], folders: Sequence[str], rules: Sequence[PermissionRule]
) -> tuple[FolderInstructions, ...]:
    """Return the present instructions of trusted folders; unreadable folders have none.

    ``rules``: those of the run with these ``folders``; files that they deny are omitted.
    """
    found: list[FolderInstructions] = []
    denials = Denials(bans(rules), folders)
    for folder in trusted:
        try:
            found += await in_tool_thread(instructions, files.root(folder), denials)
        except (AtelierError, OSError) as error:
            log.info("the instructions of a folder cannot be read: %s", error)
    return tuple(found)


def names(root: ConfinedRoot) -> list[str]:
    """Return the instruction files of a folder, including skills, as relative paths."""
    return [*paths(root), *(found.path for found in in_project(root))]
