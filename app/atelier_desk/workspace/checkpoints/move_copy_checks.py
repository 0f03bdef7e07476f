"""Checks before a workspace file or folder is moved or copied."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from atelier_desk.domain.errors import ToolError
from atelier_desk.workspace.confined_root import ConfinedRoot, FoundFile
from atelier_desk.workspace.path_resolution import WorkspacePath

RootOf = Callable[[Path], ConfinedRoot]
"""The granted folder of a path, confined."""
Checked = tuple[FoundFile, FoundFile | None]


def movable(root_of: RootOf, source: WorkspacePath, target: WorkspacePath, *, overwrite: bool = False) -> Checked:
    """Check a move: return what it would move, and what it would put into the trash.

    Raises:
        ToolError: it is not possible; the code says why.
    """
    root, other = root_of(source.root), root_of(target.root)
    there = other.inspect(target.path, follow=False)
    here = root.inspect(source.path, follow=False)
    if here is None:
        raise ToolError("{path} does not exist.", code="not_found", path=source.shown)
    if there is not None and here.identity == there.identity:
        raise ToolError("{path} and {other} are the same file.", code="same", path=source.shown, other=target.shown)
    if there is not None and (not overwrite or there.kind == "folder"):
        raise _exists_error(target, there)
    if target.root == source.root and f"{target.path}/".startswith(f"{source.path}/"):
        raise ToolError("{path} cannot be moved into itself.", code="into_itself", path=source.shown)
    root.refuse_root(source.path)
    return here, there


def copyable(root_of: RootOf, source: WorkspacePath, target: WorkspacePath, *, overwrite: bool) -> Checked:
    """Check a copy: return what it would copy, and what it would put into the trash.

    Raises:
        ToolError: it is not possible; the code says why.
    """
    there = root_of(target.root).inspect(target.path, follow=False)
    here = root_of(source.root).inspect(source.path)
    if here is None:
        raise ToolError("{path} does not exist.", code="not_found", path=source.shown)
    if here.kind == "special" or here.kind == "link":
        raise ToolError(
            "{path} is neither a file nor a folder: it is not copied.", code="not_a_file", path=source.shown
        )
    if there is not None and there.identity == here.identity:
        raise ToolError("{path} and {other} are the same file.", code="same", path=source.shown, other=target.shown)
    if there is not None and (not overwrite or there.kind == "folder"):
        raise _exists_error(target, there)
    if target.root == source.root and f"{target.path}/".startswith(f"{source.path}/" if source.path else ""):
        raise ToolError("{path} cannot be copied into itself.", code="into_itself", path=source.shown)
    return here, there


def missing_folders(root: ConfinedRoot, folder: str) -> tuple[str, ...]:
    """Return the missing folders that have to be created, topmost first."""
    parts = folder.split("/") if folder else []
    paths = ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]
    return tuple(path for path in paths if root.inspect(path) is None)


def _exists_error(target: WorkspacePath, there: FoundFile) -> ToolError:
    """Return the error for a destination that exists."""
    if there.kind == "folder":
        return ToolError(
            "{path} exists already, and is a folder: choose another name.", code="exists", path=target.shown
        )
    return ToolError(
        "{path} exists already: set overwrite to replace it, or choose another name.", code="exists", path=target.shown
    )
