"""Repositories for tests, made by the real git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

WHO = (
    "-c",
    "user.name=Ann",
    "-c",
    "user.email=ann@example.org",
    "-c",
    "init.defaultBranch=main",
    "-c",
    "protocol.file.allow=always",
)


def git(*arguments: str, cwd: Path, home: Path | None = None, check: bool = True) -> str:
    """Run git as in a terminal; without ``home`` there are no personal settings."""
    environ = {"HOME": str(home or "/nonexistent"), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(("git", *WHO, *arguments), cwd=cwd, env=environ, check=check, capture_output=True, timeout=20)
    return done.stdout.decode("utf-8", "replace")


def commit(folder: Path, **files: str) -> Path:
    """A repository with one commit; ``files`` by name without ``.txt``."""
    folder.mkdir(parents=True, exist_ok=True)
    git("init", "-q", "--template=", cwd=folder)
    for name, text in (files or {"f": "one\n"}).items():
        (folder / f"{name}.txt").write_text(text)
    git("add", ".", cwd=folder)
    git("commit", "-q", "-m", "first", cwd=folder)
    return folder
