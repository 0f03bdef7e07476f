"""Every setting that git knows × eight reading commands × six locations: no program runs, and no outside file is
shown.

The full product of which ``tests/engine/run/test_hostile_repositories.py`` runs a sample. Through the engine, with
the real git and no sandbox.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.model_messages import ToolCall
from atelier_desk.workspace.commands.harmless_git_config_keys import is_known
from atelier_desk.workspace.processes import sandbox_contents
from tests.engine.conftest import open_atelier
from tests.engine.run.hostile_repository_settings import ASKS, LINE, RUNS, Tried, quiet, refused, rows, settings, tried
from tests.helpers.git_repositories import git
from tests.helpers.hostile_repositories import Hostile
from tests.helpers.tool_calls import tool_call

__all__ = ["open_atelier", "tried"]
pytestmark = pytest.mark.skipif(
    shutil.which("git") is None or not sandbox_contents.available(), reason="needs git and a sandbox"
)
COMMANDS = (
    "git status -b", "git diff", "git log -p -2", "git show", "git ls-files -m", "git shortlog HEAD",
    "git branch -a -v",
    "git describe --always",
)  # fmt: skip
HERE = (("", ""), ("sub", ""), ("", "sub"), ("bare.git", ""), ("tree", ""), ("mod", ""))
"""Locations by ``cd`` and by ``cwd``: the workspace itself, a nested repository both ways, a bare one, a work
tree, a submodule.
"""
PARTS = 12
CHOSEN = range(PARTS) if os.environ.get("ATELIER_GIT_SETTINGS") == "all" else (11,)
"""The full product takes more than ten minutes on two cores; without ``ATELIER_GIT_SETTINGS=all`` a twelfth of it
is run.
"""
AT_ONCE = 25
"""Number of settings in one repository, for the test that runs git with all of them."""


def product() -> list[ToolCall]:
    made: list[ToolCall] = []
    for command in COMMANDS:
        for cd, cwd in HERE:
            line = f"cd {cd} && {command}" if cd else command
            arguments: dict[str, Any] = {"command": line, "modifies_files": False, **({"cwd": cwd} if cwd else {})}
            made.append(tool_call("run_command", f"c{len(made):02}", **arguments))
    return made


def documented() -> list[str]:
    """All settings in git's documentation as rows, with the canary as value; placeholders in names are ``evil``."""
    said = subprocess.run(("git", "help", "--config"), capture_output=True, check=True, text=True, timeout=20).stdout
    found: dict[str, None] = {}
    for name in said.split():
        if "." in name:
            start, _, end = name.partition("<")
            parts = [start, "evil", end.rpartition(">")[2]] if end else [name.replace("*", "evil")]
            found["".join(parts) + " P"] = None
    return list(found)


def is_asked_about(row: str) -> bool:
    section, _, rest = row.split(" ")[0].partition(".")
    middle, dot, key = rest.rpartition(".")
    name = f"{section.lower()}.{middle}{dot}{key.lower()}"
    return not is_known(name, "/outside/canary") or name == "core.worktree"


def all_rows(table: str, *, asked: bool) -> list[str]:
    return list(dict.fromkeys((*rows(table), *(row for row in documented() if is_asked_about(row) is asked))))


@pytest.mark.parametrize("part", CHOSEN)
async def test_which_settings_need_approval(tried: Tried, tmp_path: Path, part: int) -> None:
    named = all_rows(ASKS, asked=True)
    assert len(named) >= 100
    each = enumerate(named[part::PARTS])
    made = [(row, tried.template.copy(tmp_path / f"w{number}", settings(row, tried.template))) for number, row in each]
    ended = await tried(*made, asked=[product()])
    quiet(tried.template, ended)
    for row, ends in ended.items():
        assert len(ends) == 48
        # All but the bare repository, which git does not recognise as one.
        assert sum(refused(ends)) >= 40, (row, [end.get("error") for end in ends])


async def test_settings_that_git_runs_with(tried: Tried, tmp_path: Path) -> None:
    """All known settings, many in one repository."""
    template = tried.template
    together = [row for row in all_rows(RUNS, asked=False) if works(row, template, tmp_path / "one")]
    made = []
    for begin in range(0, len(together), AT_ONCE):
        said = b"".join(settings(row, template) for row in together[begin : begin + AT_ONCE])
        made.append((f"t{begin}", template.copy(tmp_path / f"t{begin}", said)))
    ended = await tried(*made, asked=[product()])
    quiet(template, ended)
    # Where the combination makes git fail to read its settings, it is not run.
    ran = [ends for ends in ended.values() if not any(refused(ends))]
    assert 2 * len(ran) > len(ended), {
        name: [end.get("error") for end in ends if any(refused([end]))] for name, ends in ended.items()
    }


@pytest.mark.parametrize("part", CHOSEN)
async def test_values_that_git_cannot_read(tried: Tried, tmp_path: Path, part: int) -> None:
    """They end git before it reads the next setting, so they are tested alone."""
    template = tried.template
    named = all_rows(RUNS, asked=False)[part::PARTS]
    alone = [row for row in named if not works(row, template, tmp_path / "one")]
    line = [tool_call("run_command", command=LINE, modifies_files=False)]
    made = [(row, template.copy(tmp_path / f"a{number}", settings(row, template))) for number, row in enumerate(alone)]
    quiet(template, await tried(*made, asked=[line]))


def works(row: str, place: Hostile, file: Path) -> bool:
    """Whether git runs with a setting."""
    file.write_bytes(settings(row, place))
    asked = (("rev-parse", "--is-inside-work-tree"), ("log", "-1", "--format=%H"), ("ls-files",))
    said = [git("-c", f"include.path={file}", *words, cwd=place.root, check=False) for words in asked]
    for mark in place.marks.iterdir():
        # Without Atelier, git does run some of these programs.
        mark.unlink()
    return all(said)
