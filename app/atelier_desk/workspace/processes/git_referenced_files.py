# ruff: noqa: PTH117, PTH118, PTH119, PTH120
"""Files and hook folders in the granted folders that git settings name: recorded before a command.

A leaf: the launcher loads it as a file.
"""

import os
from collections.abc import Collection, Sequence

if __package__:
    from atelier_desk.workspace.processes import (  # fmt: skip
        git_pointer_files,
        git_settings_parsing,
        granted_folder_handles,
        link_safe_file_trees,
        repository_scan,
        repository_state,
    )
    from atelier_desk.workspace.processes.link_safe_file_trees import Tree
    from atelier_desk.workspace.processes.repository_state import MOST_BYTES
else:
    import git_pointer_files
    import git_settings_parsing
    import granted_folder_handles
    import link_safe_file_trees
    import repository_scan
    import repository_state
    from link_safe_file_trees import Tree
    from repository_state import MOST_BYTES


class NamedFiles:
    """What settings name in the granted folders, and every link on the way to it.

    Attributes:
        trees: by path: the work tree it belongs to, and its original tree.
        everywhere: relative hook folders named by the user's own settings.
        relative: relative hook folders named by repository settings: git looks for them in each work tree.
    """

    def __init__(self, git: git_settings_parsing.Git, folders: granted_folder_handles.GrantedFolders) -> None:
        self._git, self._folders, self._roots = git, folders, folders.roots
        self.trees: dict[str, tuple[str, Tree]] = {}
        self.everywhere: list[str] = []
        self.relative: list[str] = []

    def settings(self, file: str, content: bytes, tops: Sequence[str], depth: int = 0) -> None:
        """Record what a settings file names."""
        if depth > 10 or not git_settings_parsing.may_name_files(content):
            return
        entries = self._git.of_text(content) or []
        elsewhere = [
            os.path.join(os.path.dirname(file), value) for _, key, value in entries if key == "core.worktree" and value
        ]
        self.relative += [each for each in git_settings_parsing.hook_folders(entries) if not os.path.isabs(each)]
        self._named_by(entries, file, [*tops, *map(os.path.normpath, elsewhere)], depth)

    def _named_by(self, entries: git_settings_parsing.Entries, file: str, tops: Sequence[str], depth: int = 0) -> None:
        for path in git_settings_parsing.included(entries, file):
            self.follow(path, os.path.dirname(file))
            content = git_pointer_files.content(path, MOST_BYTES)
            if content is not None:
                self.settings(path, content, tops, depth + 1)
        for folder in git_settings_parsing.hook_folders(entries):
            for top in tops:
                self._hooks(os.path.join(top, folder), top)

    def _hooks(self, folder: str, top: str) -> None:
        """Record a hook folder; of one that contains the whole work tree, only what git executes in it."""
        real = list(repository_scan.places_on_the_way(folder))[-1]
        if git_pointer_files.below(top, real) or any(git_pointer_files.below(root, real) for root in self._roots):
            for name in repository_state.HOOKS:
                self.follow(f"{folder}/{name}", top)
            return
        self.follow(folder, top)
        above = os.path.dirname(real)
        if os.path.basename(real) == "_" and not git_pointer_files.below(top, above):
            # Its content calls the hooks beside it (husky).
            self.follow(above, top)

    def around(self, root: str, tops: Sequence[str], read: Collection[str]) -> None:
        """Record what the user's settings, and those of a repository above, name in the granted folders.

        ``read``: repositories whose settings were already read for their own work trees.
        """
        entries = [each for each in self._git.of_folder(root) if os.path.dirname(os.path.normpath(each[0])) not in read]
        for file in {origin for origin, _key, _value in entries}:
            self.follow(file, os.path.dirname(file))
        above = root
        while above != "/" and not os.path.lexists(f"{above}/.git"):
            above = os.path.dirname(above)
        self._named_by(entries, "", [*tops, *([above] if above != "/" else [])])
        self.everywhere += [each for each in git_settings_parsing.hook_folders(entries) if not os.path.isabs(each)]

    def follow(self, path: str, top: str, *, links: bool = False) -> None:
        """Record a path in the granted folders and every link on the way; with ``links``, only the links."""
        places = list(repository_scan.places_on_the_way(path))
        for place in places[:-1] if links else places:
            if place in self.trees or not self._folders.root_of(place) or place in self._roots:
                continue
            tree = self._folders.tree(place)
            self.trees[place] = (top, tree)
            for folder, target in link_safe_file_trees.links(tree, place):
                if place != path or (tree and tree[0] != "link"):
                    self.follow(os.path.join(folder, target), top)
