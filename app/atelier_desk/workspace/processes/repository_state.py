# ruff: noqa: PTH119
"""Recorded state of one repository.

What git executes in it, and what makes it a repository. A leaf: the launcher loads it as a file.
"""

import os
import re
import stat
from typing import Any

if __package__:
    from atelier_desk.workspace.processes import link_safe_file_trees, repository_scan
    from atelier_desk.workspace.processes.link_safe_file_trees import Budget, Identity, Tree
else:
    import link_safe_file_trees
    import repository_scan
    from link_safe_file_trees import Budget, Identity, Tree

MOST_BYTES = 8 * 1024 * 1024
"""Maximum bytes of hooks and settings; with more, a command is not started."""
SETTINGS = ("config", "config.worktree")
OURS = ("hooks", "commondir", *SETTINGS)
"""Parts of a repository that git executes, or that say what it executes."""
MODES = ("HEAD", "objects", "refs")
"""Parts that git must be able to read, or it looks for a repository elsewhere."""
LAYOUT = frozenset((
    "HEAD", "objects", "refs", "config", "config.worktree", "hooks", "info", "description", "branches", "packed-refs",
    "logs", "index",
    "FETCH_HEAD", "ORIG_HEAD", "modules", "worktrees", "commondir", "gitdir", "shallow", "gc.log", "gc.pid", "lfs",
    "reftable",
))  # fmt: skip
"""Parts of a bare repository."""
HOOKS = (
    "applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg",
    "commit-msg",
    "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update", "proc-receive",
    "post-receive",
    "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc", "post-rewrite", "sendemail-validate",
    "fsmonitor-watchman",
    "p4-changelist", "p4-prepare-changelist", "p4-post-changelist", "p4-pre-submit", "post-index-change",
)  # fmt: skip
"""githooks(5)."""
_HEAD = re.compile(rb"ref:\s*refs/[^\n]+|[0-9a-f]{40}(?:[0-9a-f]{24})?")
_UNFINISHED = (
    ("rebase-merge/git-rebase-todo", rb"(?m)^[ \t]*(?:exec|x)\s.*$"),
    ("rebase-merge/strategy", rb"[^\n]*[/\\][^\n]*"),
    ("sequencer/todo", rb"(?m)^[ \t]*(?:exec|x)\s.*$"),
    ("sequencer/opts", rb"[^\n]*[/\\][^\n]*"),
)
"""Files of an unfinished rebase or cherry-pick with lines that run a program when it is continued (sequencer.c).

A strategy is part of a program's name, and with a slash may lead to any file.
"""


class Repository:
    """A repository before the command. Kept open until ``close``, so that its inode is not reused if it is deleted."""

    def __init__(self, path: str, handle: int) -> None:
        self.path = path
        self.handle = -1
        self.identity: Identity = repository_scan.identity(handle)
        budget = Budget(MOST_BYTES)
        self.mode = os.fstat(handle).st_mode
        try:
            with link_safe_file_trees.writable(handle):
                self.trees = {name: link_safe_file_trees.read(handle, name, budget) for name in OURS}
                self.head = head_of(handle)
                self.linked = (
                    repository_scan.leads_to(f"{path}/commondir", "commondir") if self.trees["commondir"] else None
                )
                self.modes = {
                    name: info.st_mode for name in MODES if (info := link_safe_file_trees.found(handle, name))
                }
                self.unfinished = unfinished(handle)
        except link_safe_file_trees.TooLargeError:
            raise OSError(f"hooks and settings of {path} are larger than {MOST_BYTES // 2**20} MB together") from None
        self.handle = os.dup(handle)

    @property
    def state(self) -> tuple[object, ...]:
        """Return the state that another launcher passes to ``adopt``."""
        return self.mode, self.trees, self.head, self.linked, self.modes, self.unfinished

    def adopt(self, state: tuple[Any, ...]) -> None:
        self.mode, self.trees, self.head, self.linked, self.modes, self.unfinished = state

    def close(self) -> None:
        os.close(self.handle)

    @property
    def is_main(self) -> bool:
        return os.path.basename(self.path) == ".git"


def head_of(handle: int) -> Tree:
    try:
        return link_safe_file_trees.read(handle, "HEAD", Budget(4096))
    except OSError:
        return ("other", 0)


def is_valid(head: Tree) -> bool:
    """Whether git accepts this ``HEAD`` (path.c, validate_headref)."""
    match head:
        case ("link", target):
            return bool(target.startswith("refs/"))
        case ("file", mode, content):
            return bool(mode & 0o400) and _HEAD.match(content) is not None
    return False


def unfinished_in(handle: int) -> dict[str, frozenset[bytes]]:
    found: dict[str, frozenset[bytes]] = {}
    for path, pattern in _UNFINISHED:
        name, _slash, file = path.partition("/")
        if link_safe_file_trees.found(handle, name) is None:
            continue
        try:
            inner = link_safe_file_trees.open_folder(name, handle)
            try:
                tree = link_safe_file_trees.read(inner, file, Budget(MOST_BYTES))
            finally:
                os.close(inner)
        except OSError:
            tree = ("other", 0)
        if tree is not None:
            found[path] = frozenset(re.findall(pattern, tree[2]) if tree[0] == "file" else (b"no file",))
    return found


def unfinished(handle: int) -> frozenset[bytes]:
    return frozenset(line for lines in unfinished_in(handle).values() for line in lines)


def is_repository(folder: int, name: str) -> bool:
    """Whether a folder contains more than settings and hooks: it is then not copied."""
    info = link_safe_file_trees.found(folder, name)
    return name == ".git" and info is not None and stat.S_ISDIR(info.st_mode)
