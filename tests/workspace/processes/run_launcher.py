"""Run commands through the launcher: as this user or another one, with namespaces or as if the system had none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.workspace.processes import landlock_sandbox
from atelier_desk.workspace.processes.command_process import Limits, Order, sandbox_text

NOBODY = 65534
FOLDER = Path(landlock_sandbox.__file__).parent
WITHOUT = """
import ctypes, os, sys
sys.path.insert(0, sys.argv[1])
import seccomp_filter
seccomp_filter.ALWAYS = {"namespaces": "unshare"}
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
seccomp_filter.install(libc, works=True, network=False, alone=True)
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Runs a program without namespaces, as where the system's settings refuse them."""


@dataclass(frozen=True)
class Launched:
    """The outcome of a command. ``report`` is the launcher's report about it."""

    status: int
    output: str
    report: dict[str, Any]


@cache
def interpreter(user: int | None) -> str:
    """A Python that another user can run; skips the test where there is none."""
    groups: list[int] | None = None if user is None else []
    for file in (sys.executable, "/usr/bin/python3"):
        try:
            ran = subprocess.run([file, "-I", "-c", "import ctypes, mmap"], user=user, group=user, extra_groups=groups)
        except (PermissionError, FileNotFoundError):
            continue
        if ran.returncode == 0:
            return file
    return pytest.skip("no other user can run a Python here")


def launch(
    words: Sequence[str],
    folder: Path,
    *,
    box: Mapping[str, Any] | None,
    user: int | None = None,
    namespaces: bool = True,
    limits: Limits = Limits(),
    environment: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
) -> Launched:
    """Run a command to its end. ``before``: a program and its arguments that finally start the launcher."""
    if user is not None and os.geteuid():
        pytest.skip("only root can become somebody else")
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), **(environment or {})}
    with tempfile.TemporaryFile() as file, tempfile.TemporaryFile() as said_to:
        report = said_to.fileno()
        said = sandbox_text(Order(words[0], tuple(words), folder, environ, limits, box), report, file)
        python = interpreter(user)
        said = (*before, python, *said[1:])
        if not namespaces:
            said = (python, "-I", "-c", WITHOUT, str(FOLDER), *said)
        ran = subprocess.run(
            said, cwd=folder, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True,
            timeout=60, check=False, start_new_session=True, pass_fds=(report, file.fileno()),
            user=user, group=user, extra_groups=None if user is None else [],
        )  # fmt: skip
        said_to.seek(0)
        return Launched(ran.returncode, ran.stdout, json.loads(said_to.read() or b"{}"))
