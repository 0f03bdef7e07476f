"""While git inspects a repository for one run's call, other runs continue, and the run itself can be stopped."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine import Atelier
from atelier_desk.workspace import repository_inspection
from atelier_desk.workspace.processes import command_environment
from tests.engine.conftest import Opener
from tests.helpers.tool_calls import tool_call

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the git that waits is a script of the shell")

CALL = [tool_call("run_command", command="git status", modifies_files=False)]


@pytest.fixture
def pipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A git that reports that it runs, and then waits until somebody writes into a pipe."""
    started, released = tmp_path / "started", tmp_path / "released"
    os.mkfifo(started)
    os.mkfifo(released)
    programs = tmp_path / "programs"
    programs.mkdir()
    fake = programs / "git"
    fake.write_text(f"#!/bin/sh\necho asked > {started}\nread line < {released}\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setattr(command_environment, "SYSTEM_FOLDERS", (str(programs),))
    monkeypatch.setattr(repository_inspection, "TIMEOUT_S", 3600.0)
    return started, released


async def read(pipe: Path) -> str:
    return await asyncio.to_thread(pipe.read_text)


async def release(pipes: tuple[Path, Path]) -> None:
    """Let every current and later git for the call continue."""
    started, released = pipes
    await asyncio.to_thread(released.write_text, "go\n")
    assert started.is_fifo()


@asynccontextmanager
async def judging(atelier: Atelier, tmp_path: Path, pipes: tuple[Path, Path]) -> AsyncIterator[str]:
    """A run whose call is being judged; yields its id, and lets its git end."""
    (tmp_path / "work").mkdir()
    agent = AgentConfig(name="A", provider="p", model="m", tools=("run_command",), approval=ApprovalMode.SELECTIVE)
    workflow = await atelier.workflows.create("slow", workspace=(str(tmp_path / "work"),))
    run_id = await atelier.runs.send(workflow.id, "go", agent=agent)
    assert await read(pipes[0]) == "asked\n"
    try:
        yield run_id
    finally:
        await release(pipes)


async def test_another_run_continues_while_git_does_not_answer(
    open_atelier: Opener, tmp_path: Path, pipes: tuple[Path, Path]
) -> None:
    async with open_atelier([CALL, "the other answer", "done"]) as atelier:
        async with judging(atelier, tmp_path, pipes) as waiting:
            other = await atelier.workflows.create("other")
            plain = AgentConfig(name="B", provider="p", model="m")
            run_id = await atelier.runs.send(other.id, "hello", agent=plain)
            state = await atelier.runs.wait(run_id)
            assert state.status is RunStatus.COMPLETED
            assert not await atelier.approvals.pending(), "git has not answered yet"
        state = await atelier.runs.wait(waiting)
        [asked] = await atelier.approvals.pending()
        assert (asked.run_id, asked.reason) == (waiting, "repository"), "what git does not say is asked about"


async def test_a_run_can_be_stopped_while_git_does_not_answer(
    open_atelier: Opener, tmp_path: Path, pipes: tuple[Path, Path]
) -> None:
    async with open_atelier([CALL, "done"]) as atelier, judging(atelier, tmp_path, pipes) as waiting:
        await atelier.runs.cancel(waiting)
        state = await atelier.runs.wait(waiting)
        assert state.status is RunStatus.CANCELLED
        assert not await atelier.approvals.pending()
