# ruff: noqa: PTH118, PTH120
"""Remove files that git would execute, keeping copies. A leaf: the launcher loads it as a file.

Each held item is a folder: the content under its own name, and ``held.json`` with ``path`` (absolute, in the
workspace), ``root`` (its granted folder) and ``why`` (``changed`` for a modified file that was restored, ``new`` for a
new one). Keeping means moving the content to ``path``, discarding means deleting the folder.
"""

import json
import os
import time
from collections.abc import Callable

if __package__:
    from atelier_desk.workspace.processes import link_safe_file_trees
    from atelier_desk.workspace.processes.link_safe_file_trees import FOLDER, Budget, Tree
else:
    import link_safe_file_trees
    from link_safe_file_trees import FOLDER, Budget, Tree

MOST_HELD = 64 * 1024 * 1024
"""Maximum bytes held per command; the rest stays in the workspace under another name."""


class Holder:
    """Held items of one command.

    Args:
        folder: where they are stored; created when needed. None leaves them in the workspace under another name.
        root_of: returns the granted folder of a path; ``shown``: its display name.

    Attributes:
        held: ``path`` for display, ``file`` where the content is, ``why``.
    """

    def __init__(self, folder: str, root_of: Callable[[str], str], shown: Callable[[str], str]) -> None:
        self._folder, self._root_of, self._shown = folder, root_of, shown
        self._space = Budget(MOST_HELD)
        self.held: list[dict[str, str]] = []
        self._trees: dict[str, Tree] = {}

    def hold(self, folder: int, name: str, path: str, why: str) -> None:
        """Remove something and keep a copy that no link of the command leads to."""
        info = link_safe_file_trees.found(folder, name)
        if info is None:
            return
        # Rename first: a command that is still running could change it during the copy.
        aside = free_name(folder, f"{name}.held")
        with link_safe_file_trees.writable(folder):
            os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
        left, file = self._space.left, ""
        try:
            tree = link_safe_file_trees.read(folder, aside, self._space)
            if tree[0] == "other" or self._trees.get(path) == tree:
                # Same as last time: there is already a copy.
                link_safe_file_trees.remove(folder, aside)
                return
            file = self._copied(name, tree, path, why)
            if file:
                self._trees[path] = tree
                link_safe_file_trees.remove(folder, aside)
        except OSError:
            self._space.left = left
        # Too large, or no folder: it stays there under its other name.
        file = file or os.path.join(os.path.dirname(path), aside)
        self.held.append({"path": self._shown(path), "file": link_safe_file_trees.readable(file), "why": why})

    def _copied(self, name: str, tree: Tree, path: str, why: str) -> str:
        if not self._folder:
            return ""
        place = os.path.join(self._folder, f"{time.time_ns()}-{os.getpid()}-{len(self.held)}")
        try:
            os.makedirs(place, 0o700)  # noqa: PTH103
            handle = os.open(place, FOLDER)
            try:
                said = {"path": path, "root": self._root_of(path), "why": why}
                link_safe_file_trees.write(handle, "held.json", ("file", 0o600, json.dumps(said).encode()))
                inside = name if name != "held.json" else f"{name}.held"
                link_safe_file_trees.write(handle, inside, tree)
            finally:
                os.close(handle)
        except OSError:
            return ""
        return os.path.join(place, inside)


def free_name(folder: int, name: str) -> str:
    """Return a free name in an open folder."""
    names = set(os.listdir(folder))
    return next(free for number in range(1, 100_000) if (free := f"{name}-{number}") not in names)
