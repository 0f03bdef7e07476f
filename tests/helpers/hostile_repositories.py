"""Repositories with settings that run a program of an attacker, made by the real git."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.helpers.git_repositories import commit, git

PLACES = ("", "sub", "bare.git", "tree", "mod")
"""Repositories of ``Hostile`` below the workspace: its own, a nested one, a bare one, a linked work tree, a
submodule."""
CONFIGS = (".git/config", "sub/.git/config", "bare.git/config", ".git/modules/mod/config")
ATTRIBUTES = b"* filter=evil diff=evil merge=evil\n*.b filter=a=b diff=a=b\n*.c filter=\xff\xfe diff=\xff\xfe\n"


@dataclass(frozen=True)
class Hostile:
    """A workspace from an untrusted source, with the same settings in all of its repositories.

    Attributes:
        root: the workspace.
        outside: a folder next to it with the files ``secret`` and ``settings``, which name the canary.
        marks: where the canary leaves marks when it runs.
    """

    root: Path
    outside: Path
    marks: Path

    @classmethod
    def template(cls, top: Path) -> Hostile:
        """A template to copy, without hostile settings."""
        root, outside, marks = top / "template", top / "outside", top / "marks"
        for folder in (outside, marks):
            folder.mkdir()
        canary = outside / "canary"
        canary.write_text(f'#!/bin/sh\n: > "{marks}/$$"\necho CANARY; cat "{outside}/secret"\n')
        canary.chmod(0o755)
        (outside / "secret").write_text("s3cret <s3cret@example.org>\n")
        (outside / "settings").write_text(
            f'[filter "evil"]\n\tclean = {canary}\n[diff "evil"]\n\ttextconv = {canary}\n'
        )
        commit(root)
        commit(root / "sub")
        git("submodule", "add", "-q", str(commit(outside / "mod")), "mod", cwd=root)
        git("clone", "-q", "--bare", "--template=", str(root / "sub"), str(root / "bare.git"), cwd=root)
        git("add", ".gitmodules", "mod", cwd=root)
        git("commit", "-q", "-m", "second", cwd=root)
        for folder in (root, root / "sub", root / "mod"):
            for name in ("new.txt", "new.b", "new.c"):
                (folder / name).write_text("staged\n")
            git("add", ".", cwd=folder)
            (folder / "f.txt").write_text("two\n")
            for name in ("new.b", "new.c"):
                (folder / name).write_text("changed\n")
            (folder / ".gitattributes").write_bytes(ATTRIBUTES)
        return cls(root, outside, marks)

    def copy(self, root: Path, settings: bytes = b"") -> Hostile:
        """A copy elsewhere, with a linked work tree, and ``settings`` appended to each configuration."""
        shutil.copytree(self.root, root, symlinks=True)
        git("worktree", "add", "-q", "--detach", "tree", cwd=root)
        (root / "tree/f.txt").write_text("two\n")
        (root / "tree/.gitattributes").write_bytes(ATTRIBUTES)
        for name in CONFIGS:
            with (root / name).open("ab") as file:
                file.write(settings)
        return Hostile(root, self.outside, self.marks)
