"""Files written by agents never lead git, when its owner runs it, to programs that nobody approved."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.protected_names import all_below, is_protected
from atelier_desk.mcp.config_import.config_locations import of_folder, of_user
from atelier_desk.workspace.instruction_files import NAMES
from atelier_desk.workspace.skills import skill_discovery
from tests.engine.conftest import Opener, send_and_wait
from tests.helpers.tool_calls import tool_call

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

EVIL = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = {canary}\n\tworktree = {tree}\n"
HEAD = "ref: refs/heads/main\n"


def write(path: str, content: str) -> tuple[str, dict[str, Any]]:
    return "write_file", {"path": path, "content": content}


def folder(path: str) -> tuple[str, dict[str, Any]]:
    return "create_directory", {"path": path}


def patch(**files: str) -> tuple[str, dict[str, Any]]:
    parts = [
        f"*** Add File: {name.replace('__', '/')}\n" + "\n".join(f"+{line}" for line in text.splitlines())
        for name, text in files.items()
    ]
    return "edit_file", {"patch": "*** Begin Patch\n" + "\n".join(parts) + "\n*** End Patch"}


SETTINGS = "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {canary}\n"
PLANTED: dict[str, tuple[list[tuple[str, dict[str, Any]]], str]] = {
    "commondir": ([folder("evil/refs"), folder("evil/objects"), write("evil/config", SETTINGS),
    write(".git/commondir", "../evil")], "."),
    "a bare repository, settings last": ([folder("docs/objects"), folder("docs/refs"), write("docs/HEAD", HEAD),
                                          write("docs/config", EVIL)], "docs"),
    "a bare repository, HEAD last": ([write("docs/config", EVIL), folder("docs/objects"), folder("docs/refs"),
                                      write("docs/HEAD", HEAD)], "docs"),
    "a bare repository, objects last": ([write("docs/config", EVIL), write("docs/HEAD", HEAD),
    folder("docs/refs/heads"),
                                         write("docs/objects/info/x", "")], "docs"),
    "a bare repository, moved together": ([write("docs/config", EVIL), write("docs/HEAD", HEAD), folder("docs/refs"),
    folder("o"),
                                           ("move_file", {"source": "o", "destination": "docs/objects"})], "docs"),
    "a bare repository, copied together": ([write("docs/config", EVIL), write("docs/HEAD", HEAD), folder("docs/refs"),
    folder("o"),
                                            ("copy_file", {"source": "o", "destination": "docs/objects"})], "docs"),
    "a bare repository in one patch": ([patch(docs__config=EVIL, docs__HEAD=HEAD, docs__refs__x="x",
    docs__objects__x="x")], "docs"),
    "settings of a bare repository": ([write("old.git/config", EVIL)], "old.git"),
    "the root, once .git is none": ([write(".git/HEAD", "x"), write("config", EVIL), folder("objects"), folder("refs"),
                                        write("HEAD", HEAD)], "."),
    "a pointer": ([folder("evil/refs"), folder("evil/objects"), write("evil/config", EVIL), write("evil/HEAD", HEAD),
                   write("lib/.git", "gitdir: ../evil")], "lib"),
    "a worktree's settings": ([write(".git/config.worktree", SETTINGS)], "."),
}  # fmt: skip
"""Calls of the file tools, and where the owner of the folder runs git afterwards."""


def place(top: Path) -> tuple[Path, Path]:
    root, canary = top / "work", top / "canary.sh"
    root.mkdir(parents=True)
    canary.write_text(f"#!/bin/sh\necho ran >>{top / 'ran'}\n")
    canary.chmod(0o755)
    for line in ("git init -q -b main", "git config extensions.worktreeConfig true", "git init -q --bare old.git"):
        subprocess.run(line.split(), cwd=root, check=True, timeout=20)
    return root, canary


def filled(value: Any, root: Path, canary: Path) -> Any:
    if isinstance(value, dict):
        return {key: filled(each, root, canary) for key, each in value.items()}
    return value.replace("{canary}", str(canary)).replace("{tree}", str(root)) if isinstance(value, str) else value


def ran(root: Path, where: str) -> bool:
    """Whether the canary runs when git is run there."""
    env = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(root.parent)}
    subprocess.run(
        ["git", "status"],
        cwd=root / where if (root / where).is_dir() else root,
        env=env,
        capture_output=True,
        timeout=20,
    )
    return (root.parent / "ran").exists()


async def attacked(
    open_atelier: Opener, root: Path, mode: ApprovalMode, calls: list[tuple[str, dict[str, Any]]], *, yes: bool
) -> None:
    steps = [[tool_call(name, f"c{number}", **arguments)] for number, (name, arguments) in enumerate(calls)]
    tools = ("write_file", "edit_file", "create_directory", "move_file", "copy_file")
    async with open_atelier([*steps, "done"]) as atelier:
        workflow = await atelier.workflows.create("w", workspace=(str(root),))
        worker = AgentConfig(name="A", provider="p", model="m", tools=tools, approval=mode)
        run_id = await send_and_wait(atelier, workflow.id, "go", agent=worker)
        while yes and (asked := await atelier.approvals.pending()):
            await atelier.approvals.approve(asked[0].id)
            await atelier.runs.wait(run_id)


@pytest.mark.parametrize("name", PLANTED)
async def test_the_attack_itself_works(open_atelier: Opener, tmp_path: Path, name: str) -> None:
    calls, where = PLANTED[name]
    root, canary = place(tmp_path)
    await attacked(
        open_atelier, root, ApprovalMode.AUTO, [(tool, filled(given, root, canary)) for tool, given in calls], yes=True
    )
    assert ran(root, where)


@pytest.mark.parametrize("mode", [ApprovalMode.EDIT, ApprovalMode.AUTO])
@pytest.mark.parametrize("name", PLANTED)
async def test_nothing_planted_runs(open_atelier: Opener, tmp_path: Path, name: str, mode: ApprovalMode) -> None:
    calls, where = PLANTED[name]
    root, canary = place(tmp_path)
    await attacked(open_atelier, root, mode, [(tool, filled(given, root, canary)) for tool, given in calls], yes=False)
    assert not ran(root, where)


def test_everything_read_as_instructions_is_protected() -> None:
    """Locations of skills and commands in a folder, instruction files, MCP servers of other programs."""
    folders = {
        *skill_discovery.PROJECT,
        *skill_discovery.USER,
        *skill_discovery.PROJECT_COMMANDS,
        *skill_discovery.USER_COMMANDS,
    }
    assert {each for each in folders if not all_below(f"/w/{each}")} == set()
    files = {
        *(f"/w/sub/{name}" for name in NAMES),
        *(str(place.path) for place in (*of_folder(Path("/w/sub")), *of_user())),
    }
    assert {each for each in files if not is_protected(each)} == set()
