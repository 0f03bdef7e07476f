"""Checks of the machine: Qt, imported in a process that may crash, and the sandbox of commands."""

from __future__ import annotations

import sys
from pathlib import Path

import PySide6
import pytest

from atelier_desk.engine.maintenance import system_checks
from atelier_desk.workspace.processes import sandbox_contents


@pytest.mark.parametrize(
    ("module", "status", "words"),
    [
        ("", "ok", f"PySide6 {PySide6.__version__} can be imported."),
        ("raise ImportError('libEGL.so.1: cannot open')", "fail", "ImportError: libEGL.so.1: cannot open"),
        ("import os; os.abort()", "fail", "it ended its process before it was done (signal 6)"),
        ("import time; time.sleep(600)", "fail", "Importing PySide6 takes too long."),
    ],
)
async def test_qt_is_imported_in_another_process_and_failures_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, status: str, words: str
) -> None:
    if module:
        (tmp_path / "PySide6").mkdir()
        (tmp_path / "PySide6" / "__init__.py").write_text(module)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(system_checks, "QT_IMPORT_S", 2.0 if "sleep" in module else 60.0)
    found = await system_checks.qt(deep=True)
    assert (found.status, found.message) == (status, words)
    assert ("libegl1" in found.fix) == (status == "fail" and "too long" not in words)


async def test_without_a_request_no_process_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere")
    assert (await system_checks.qt(deep=False)).status == "ok"


@pytest.mark.parametrize(("there", "status", "said"), [(True, "ok", "are confined"), (False, "warn", "Not sandboxed")])
def test_whether_commands_are_confined(monkeypatch: pytest.MonkeyPatch, there: bool, status: str, said: str) -> None:
    monkeypatch.setattr(sandbox_contents, "available", lambda: there)
    check = system_checks.command_sandbox()
    assert (check.status, said in check.message) == (status, True)


LINUX_ONLY = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="namespaces are Linux's")


@LINUX_ONLY
@pytest.mark.parametrize(
    ("processes", "proc", "mounts", "signals", "status", "said"),
    [
        (True, True, True, True, "ok", ["see only their own processes"]),
        (True, False, True, True, "ok", ["the names of other programs but cannot reach those"]),
        (True, True, True, False, "ok", ["Read-only commands could stop your other programs"]),
        (False, False, True, True, "ok", ["fakeroot and PostgreSQL"]),
        (False, False, False, True, "ok", ["fakeroot and PostgreSQL", "are only restored after a command has run"]),
        (False, False, False, False, "warn", ["fakeroot and PostgreSQL", "can stop your other programs"]),
    ],
)
def test_which_parts_of_the_sandbox_this_system_supports(
    monkeypatch: pytest.MonkeyPatch,
    processes: bool,
    proc: bool,
    mounts: bool,
    signals: bool,
    status: str,
    said: list[str],
) -> None:
    for name, value in {
        "available": True, "has_processes": processes, "has_proc": proc, "has_mounts": mounts, "holds_signals": signals,
    }.items():  # fmt: skip
        monkeypatch.setattr(sandbox_contents, name, lambda value=value: value)
    check = system_checks.command_sandbox()
    assert check.status == status
    assert bool(check.fix) is (status == "warn")
    for each in said:
        assert each in check.message
