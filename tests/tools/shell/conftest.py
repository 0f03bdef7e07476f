"""A folder to work in, with a program that leaves a mark when it runs, and calls of the shell tools in it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.tools.base import ToolContext, ToolResult
from atelier_desk.tools.registry.default_registry import create_default_tool_registry
from atelier_desk.tools.registry.registry import ToolRegistry
from atelier_desk.tools.registry.tool_services import ToolServices
from atelier_desk.workspace.checkpoints.protected_file_guard import ProtectedFiles
from atelier_desk.workspace.processes import sandbox_contents


@dataclass
class Bench:
    """Attributes: ``root`` the workspace, ``outside`` a folder next to it, ``marks`` where the canary leaves its
    marks; ``says_yes``: a person approved the settings of every repository.
    """

    root: Path
    outside: Path
    marks: Path
    registry: ToolRegistry
    services: ToolServices
    progress: list[str]
    says_yes: bool = False

    @property
    def context(self) -> ToolContext:
        return ToolContext(
            workflow_id="w", run_id="r", call_id="c", workspace=self.root, progress=lambda percent,
            text: self.progress.append(text),
            settings_allowed=lambda rule: self.says_yes,
        )  # fmt: skip

    async def call(self, tool: str, context: ToolContext | None = None, **arguments: Any) -> ToolResult:
        result = await self.registry.execute(tool, arguments, context or self.context)
        assert isinstance(result, ToolResult)
        return result

    async def run(self, command: str, **arguments: Any) -> ToolResult:
        return await self.call("run_command", command=command, modifies_files=False, **arguments)

    def call_of(self, command: str, **arguments: Any) -> Any:
        tool = self.registry.get_tool("run_command")
        assert tool is not None
        return self.registry.prepare(tool, {"command": command, "modifies_files": False, **arguments}).described

    @property
    def canary_marks(self) -> list[str]:
        """The marks of the canary."""
        return sorted(path.name for path in self.marks.iterdir())

    def elsewhere(self, workflow_id: str) -> ToolContext:
        return replace(self.context, workflow_id=workflow_id)

    def git(self, *arguments: str, cwd: Path | None = None) -> None:
        """git as its owner runs it, without the machine owner's settings."""
        home = {"HOME": str(self.outside), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
        who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "init.defaultBranch=main")
        subprocess.run(
            ["git", *who, *arguments], cwd=cwd or self.root, env=home, check=True, capture_output=True, timeout=20
        )


@pytest.fixture
async def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    root, outside, marks = tmp_path / "work", tmp_path / "outside", tmp_path / "marks"
    for folder in (root, outside, marks):
        folder.mkdir()
    canary = root / "canary"
    canary.write_text(f'#!/bin/sh\n: > "{marks}/$$"\ncat /dev/null\n')
    canary.chmod(0o755)
    for name in ("in.txt", "b.txt", "gone.txt"):
        (root / name).write_text("b\na\nb\n")
    (outside / "secret").write_text("s3cret\n")
    (tmp_path / "secret").write_text("s3cret\n")
    monkeypatch.setenv("HOME", str(outside))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    services = ToolServices()
    made = Bench(root, outside, marks, create_default_tool_registry(services), services, [])
    yield made
    if services.commands is not None:
        await services.commands.aclose()


@pytest.fixture
def nothing_is_mounted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that would otherwise be read-only for the command can be changed, as on systems without mounts."""
    monkeypatch.setattr(sandbox_contents, "PROTECTED_GIT_FILES", ())
    monkeypatch.setattr(sandbox_contents, "PINNED", "")
    monkeypatch.setattr(ProtectedFiles, "read_only", property(lambda self: (), lambda self, found: None), raising=False)
