"""Commands that flood, fork or lack a program: each ends, reports why, and leaves nothing behind."""

from __future__ import annotations

import os
import shutil

import pytest

from atelier_desk.workspace.processes import command_environment
from tests.tools.shell.conftest import Bench
from tests.tools.shell.leftover_processes import left


async def test_a_command_that_floods_its_output_ends(bench: Bench) -> None:
    result = await bench.run("yes flooding", timeout_ms=30_000)
    assert result.data["code"] == "ended"
    assert "printed" in result.data["error"]
    assert result.data["output"].startswith("flooding\n")
    assert len(result.data["output"]) < 100_000
    assert left("yes flooding") == []


async def test_a_command_that_forks_ends(bench: Bench) -> None:
    """A bounded one: 400 processes that continue, each in its own session."""
    mark = f"6{os.getpid()}"
    (bench.root / "forks.sh").write_text(f"for each in $(seq 400); do setsid sleep {mark} & done\nwait\n")
    result = await bench.run("bash forks.sh", timeout_ms=30_000)
    assert result.data["code"] == "ended"
    assert "processes" in result.data["error"]
    assert left(f"sleep {mark}") == []


async def test_without_bash_one_command_still_runs(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    found = command_environment.program
    monkeypatch.setattr(
        command_environment,
        "program",
        lambda name, *place, **more: "" if name == "bash" else found(name, *place, **more),
    )
    assert (await bench.run("cat in.txt")).data["output"] == "b\na\nb\n"
    refused = await bench.run("cat in.txt | sort")
    assert refused.data["code"] == "no_shell"


async def test_a_missing_git_is_reported(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    found = command_environment.program
    monkeypatch.setattr(
        command_environment,
        "program",
        lambda name, *place, **more: "" if name == "git" else found(name, *place, **more),
    )
    for tool in ("git_status", "git_diff"):
        result = await bench.call(tool)
        assert result.data["code"] == "not_found"
        assert "git" in result.data["error"]


async def test_a_missing_folder_is_reported(bench: Bench) -> None:
    shutil.rmtree(bench.root)
    result = await bench.run("ls")
    assert result.data["code"] == "no_workspace"
    assert "not there any more" in result.data["error"]
