# ruff: noqa: PTH118
"""Decide which repositories cannot run a program. A leaf: the launcher loads it as a file."""

import os
from collections.abc import Callable

if __package__:
    from atelier_desk.workspace.processes import git_pointer_files, git_settings_parsing, repository_scan
    from atelier_desk.workspace.processes.link_safe_file_trees import Identity
    from atelier_desk.workspace.processes.repository_state import SETTINGS, Repository
else:
    import git_pointer_files
    import git_settings_parsing
    import repository_scan
    from link_safe_file_trees import Identity
    from repository_state import SETTINGS, Repository


class Harmless:
    """Checks settings and hooks. ``root_of``: returns the granted folder of a path, empty if there is none."""

    def __init__(self, git: git_settings_parsing.Git, root_of: Callable[[str], str]) -> None:
        self._git, self._root_of = git, root_of
        self._known: dict[Identity, bool] = {}

    def was(self, repository: Repository, path: str) -> bool:
        """Whether a recorded repository had neither hooks nor settings that could run a program."""
        who = repository.identity
        if who not in self._known:
            self._known[who] = self._runs_nothing(repository, path)
        return self._known[who]

    def elsewhere(self, path: str, *, linked: bool = True) -> bool:
        """Whether a repository without a record has none now. ``linked``: it may share those of another one."""
        try:
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                repository = Repository(path, handle)
            finally:
                os.close(handle)
        except OSError:
            return False
        repository.close()
        common = git_pointer_files.target(f"{path}/commondir", "commondir") if repository.trees["commondir"] else ""
        # git follows no further (setup.c, get_common_dir_noenv).
        return self._runs_nothing(repository, path) and (
            not common or not linked or self.elsewhere(common, linked=False)
        )

    def own_files(self, entry: tuple[str, str, str | None], path: str, who: Identity) -> bool:
        """Whether an entry says where the files of a submodule are, and they are there."""
        if entry[1] != "core.worktree" or not entry[2]:
            return False
        top = os.path.realpath(os.path.join(path, entry[2]))
        return bool(self._root_of(top)) and repository_scan.leads_to(f"{top}/.git", ".git") == who

    def _runs_nothing(self, repository: Repository, path: str) -> bool:
        *files, hooks = (repository.trees[name] for name in (*SETTINGS, "hooks"))
        texts = [b"" if tree is None else tree[2] if tree[0] == "file" else None for tree in files]
        entries = [self._git.of_text(text) if text else [] if text == b"" else None for text in texts]
        plain = hooks is None or (hooks[0] == "folder" and all(name.endswith(".sample") for name in hooks[2]))
        return plain and all(
            each is not None
            and all(
                git_settings_parsing.harmless(entry) or self.own_files(entry, path, repository.identity)
                for entry in each
            )
            for each in entries
        )
