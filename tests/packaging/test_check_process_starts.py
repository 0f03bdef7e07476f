"""The check that processes are started only in two packages and in listed modules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("import subprocess", "subprocess"),
        ("import subprocess as s, sys", "subprocess"),
        ("def f():\n    from subprocess import run", "subprocess"),
        ("import multiprocessing.pool", "multiprocessing"),
        ("from concurrent.futures import ProcessPoolExecutor", "ProcessPoolExecutor"),
        ("import concurrent.futures as f\nf.ProcessPoolExecutor()", "ProcessPoolExecutor"),
        ("import asyncio\nasyncio.create_subprocess_exec('x')", "create_subprocess_exec"),
        ("from asyncio import create_subprocess_shell as go", "create_subprocess_shell"),
        ("loop.subprocess_exec(a)", "subprocess_exec"),
        ("import os\nos.posix_spawnp('x')", "os.posix_spawnp"),
        ("import os\ngo = os.execv", "os.execv"),
        ("from os import fork", "fork"),
        ("from PySide6.QtCore import QObject, QProcess", "QProcess"),
        ("from PySide6 import QtCore\nQtCore.QProcess()", "QProcess"),
        ("import os\nos.getpid(), os.environ, model.system, run.execute()", None),
        ("'subprocess'", None),
    ],
)
def test_ways_to_start_a_process_are_found(load: Callable[[str], ModuleType], source: str, what: str | None) -> None:
    assert {each for _line, each in load("check_process_starts").starts(source)} == ({what} if what else set())


def test_an_unlisted_module_and_an_unneeded_entry_are_reported(
    load: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    for name in ("support/worker/requests_to_child.py", "web/new.py", "web/listed.py", "web/plain.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a = 1" if "plain" in name else "a = 1\nimport subprocess")
    found = load("check_process_starts").problems(
        tmp_path, {"web/listed.py": "so", "web/plain.py": "so", "web/gone.py": "so"}
    )
    assert [each.partition(": ")[0] for each in found] == ["web/new.py:2", "web/gone.py", "web/plain.py"]
