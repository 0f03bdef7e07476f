# ruff: noqa: PTH119
"""The granted folders of a command, kept open.

Paths below are resolved without following links. A leaf: the launcher loads it as a file.
"""

import os
import stat
from collections.abc import Callable, Sequence
from typing import TypeVar

if __package__:
    from atelier_desk.workspace.processes import git_pointer_files, link_safe_file_trees
    from atelier_desk.workspace.processes.link_safe_file_trees import FOLDER, Budget, Tree
    from atelier_desk.workspace.processes.repository_state import MOST_BYTES
else:
    import git_pointer_files
    import link_safe_file_trees
    from link_safe_file_trees import FOLDER, Budget, Tree
    from repository_state import MOST_BYTES

T = TypeVar("T")


class GrantedFolders:
    """Folders that stay open until ``close``, even when renamed.

    Args:
        roots: absolute, without links; nested ones are dropped. ``open`` opens them.

    Attributes:
        first: the workspace, to which displayed paths are relative.
        handles: descriptors by path.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        self.first = roots[0] if roots else ""
        self.roots = [
            root
            for root in dict.fromkeys(roots)
            if not any(root != each and git_pointer_files.below(root, each) for each in roots)
        ]
        self.handles: dict[str, int] = {}

    def open(self) -> None:
        """Open the folders. Raises ``OSError``."""
        for root in self.roots:
            self.handles[root] = os.open(root, FOLDER)

    def close(self) -> None:
        for handle in self.handles.values():
            os.close(handle)
        self.handles = {}

    def root_of(self, path: str) -> str:
        """Return the granted folder that contains a path; empty if there is none."""
        return next((root for root in self.roots if git_pointer_files.below(path, root)), "")

    def shown(self, path: str) -> str:
        """Return a path for display."""
        name = path[len(self.first) + 1 :] if git_pointer_files.below(path, self.first) else path
        name = link_safe_file_trees.readable(name or ".")
        return "".join(character if character.isprintable() else "?" for character in name)

    def parent(self, path: str, *, clear: Callable[[int, str, str], None] | None = None) -> int | None:
        """Open the parent folder of a path without following links; None if it does not exist.

        ``clear``: removes whatever is in place of a parent folder, given its open parent, name and path; missing
        folders are then created.
        """
        root = self.root_of(path)
        handle = os.dup(self.handles[root])
        try:
            at = root
            for part in path[len(root) + 1 :].split("/")[:-1]:
                at = f"{at}/{part}"
                info = link_safe_file_trees.found(handle, part)
                if info is None or not stat.S_ISDIR(info.st_mode):
                    if clear is None:
                        os.close(handle)
                        return None
                    if info is not None:
                        clear(handle, part, at)
                    with link_safe_file_trees.writable(handle):
                        os.mkdir(part, 0o755, dir_fd=handle)
                inner = link_safe_file_trees.open_folder(part, handle)
                os.close(handle)
                handle = inner
        except BaseException:
            os.close(handle)
            raise
        return handle

    def within(self, path: str, act: Callable[[int], T]) -> T | None:
        """Call ``act`` with an open folder; None if it no longer exists."""
        parent = os.dup(self.handles[path]) if path in self.handles else self.parent(path)
        if parent is None:
            return None
        try:
            if path in self.handles:
                return act(parent)
            try:
                handle = link_safe_file_trees.open_folder(os.path.basename(path), parent)
            except (FileNotFoundError, NotADirectoryError):
                return None
            try:
                return act(handle)
            finally:
                os.close(handle)
        finally:
            os.close(parent)

    def tree(self, path: str) -> Tree:
        """Return the tree at a path. Raises ``OSError``: it is too large or unreadable."""
        folder = self.parent(path)
        if folder is None:
            return None
        try:
            return link_safe_file_trees.read(folder, os.path.basename(path), Budget(MOST_BYTES))
        except link_safe_file_trees.TooLargeError:
            raise OSError(f"{path}, which git's settings name, is larger than {MOST_BYTES // 2**20} MB") from None
        finally:
            os.close(folder)
