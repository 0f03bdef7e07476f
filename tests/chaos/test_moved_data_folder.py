"""The data folder is renamed, replaced or deleted while a run, a team or an import works in it.

The process ends with status 1 and an error message, what replaced the folder is unchanged, and the folder has
everything that was acknowledged. ``ATELIER_MOVES`` sets the number of replacements (default 20).
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import os
import random
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.engine import Atelier
from atelier_desk.llm.secrets import KeyVault
from tests.chaos import team_worker
from tests.chaos.run_worker import AppendLine

ROOT = Path(__file__).resolve().parents[2]
MOVES = int(os.environ.get("ATELIER_MOVES", "20"))
COMMANDS = {
    "run": ("run", "make many calls", "--agent", "Worker", "--on-approval", "allow"),
    "team": ("run", "set sail", "--agent", "Root", "--on-approval", "allow"),
    "import": ("workflows", "import", "big.json", "--on-conflict", "rename"),
}
WAYS = ("renamed", "replaced", "deleted")
ROWS = 400
"""Reports of the imported workflow."""
LONGEST_S = 0.6
MOST_EVENTS = 60
"""The largest number of events that a run or a team acknowledges before the folder is moved."""


@dataclass
class MoveFigures:
    """Moves while the process worked, moves after it had finished, and violations."""

    moves: int = 0
    too_late: int = 0
    acknowledged: int = 0
    destroyed: int = 0
    lost: int = 0
    silent: int = 0


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``data``: a folder with agents and a workflow; ``other``: another one; ``big.json``: a workflow to import."""
    folder = tmp_path_factory.mktemp("samples")
    asyncio.run(_prepare(folder))
    return folder


async def _prepare(folder: Path) -> None:
    async with Atelier.open(folder / "data", vault=KeyVault(environ={})) as atelier:
        atelier.registry.register(AppendLine(folder / "effects"))
        for name in team_worker.ROLES:
            await atelier.agents.save(team_worker.agent(name))
        await atelier.agents.save(
            AgentConfig(name="Worker", provider="local", model="scripted", tools=("append_line", "TodoTool"))
        )
        workflow = await atelier.workflows.create("big")
        for number in range(ROWS):
            await atelier.reports.write(workflow.id, f"report {number}", f"text {number} " * 200)
        (folder / "big.json").write_text(await atelier.workflows.export(workflow.id), "utf-8")
        await atelier.workflows.delete(workflow.id)
    async with Atelier.open(folder / "other", vault=KeyVault(environ={})) as atelier:
        other = await atelier.workflows.create("precious")
        await atelier.reports.write(other.id, "Plan", "the only copy")


def content(folder: Path) -> dict[str, str]:
    """The hash of every file."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def move(folder: Path, samples: Path, command: str, way: str, chance: random.Random, figures: MoveFigures) -> None:
    """Start a command, move its data folder away in the middle, and check the result."""
    data, away = folder / "data", folder / "away"
    shutil.copytree(samples / "data", data)
    shutil.copy(samples / "big.json", folder / "big.json")
    environ = {**os.environ, "ATELIER_CALLS": "400", "PYTHONPATH": str(ROOT)}
    words = [
        sys.executable,
        "-m",
        "tests.chaos.moved_data_folder_worker",
        str(folder / "effects"),
        "--data-dir",
        str(data),
        *COMMANDS[command],
    ]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, env=environ, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n", process.communicate()[1][-2000:]
        begun = []
        for _event in range(chance.randint(1, MOST_EVENTS) if command != "import" else 0):
            begun.append(process.stdout.readline())
        time.sleep(chance.uniform(0, LONGEST_S) if command == "import" else chance.uniform(0, LONGEST_S / 10))
        if way == "deleted":
            while data.exists():  # the process may put a file into a folder just before that is deleted
                shutil.rmtree(data, ignore_errors=True)
        else:
            data.rename(away)
        if way == "replaced":
            shutil.copytree(samples / "other", folder / "next")
            (folder / "next").rename(data)
        output, said = process.communicate(timeout=120)
    acknowledged = {int(line.split()[1]) for line in [*begun, *output.splitlines()] if line.startswith("ack ")}
    if process.returncode == 0:
        figures.too_late += 1
    else:
        figures.moves += 1
        figures.silent += process.returncode != 1 or "was renamed, replaced or deleted" not in said
    figures.acknowledged += len(acknowledged)
    if way == "replaced":
        figures.destroyed += content(data) != content(samples / "other")
    else:
        figures.destroyed += data.exists()
    if way != "deleted":
        figures.lost += len(acknowledged - asyncio.run(_numbers(away)))


async def _numbers(folder: Path) -> set[int]:
    async with Atelier.open(folder, vault=KeyVault(environ={})) as atelier:
        return {
            event.seq for workflow in await atelier.workflows.list() async for event in atelier.runs.replay(workflow.id)
        }


@pytest.mark.timeout(3600)
def test_the_folder_is_moved_under_a_run_a_team_and_an_import(tmp_path: Path, samples: Path) -> None:
    figures, chance = MoveFigures(), random.Random(20261127)
    for number, (way, command) in enumerate(itertools.cycle(itertools.product(WAYS, COMMANDS))):
        if figures.moves >= MOVES:
            break
        assert figures.too_late <= 2 * MOVES, figures
        folder = tmp_path / str(number)
        folder.mkdir()
        before = (figures.destroyed, figures.lost, figures.silent)
        move(folder, samples, command, way, chance, figures)
        assert (figures.destroyed, figures.lost, figures.silent) == before == (0, 0, 0), (command, way, figures)
        shutil.rmtree(folder)
    print(f"\n{figures}")
    assert figures.acknowledged
