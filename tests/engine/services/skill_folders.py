"""Skills in the folders of a person and of a project."""

from __future__ import annotations

from pathlib import Path

import pytest

from atelier_desk.domain.model_messages import ToolCall
from atelier_desk.engine import Atelier
from tests.engine.conftest import send_and_wait
from tests.engine.runs.sample_runs import agent
from tests.helpers.tool_calls import tool_call

SKILL = "---\nname: {name}\ndescription: {description}\n{more}---\n{body}\n"


def write(
    folder: Path,
    name: str,
    *,
    description: str = "",
    body: str = "Do it.",
    more: str = "",
    place: str = ".agents/skills",
) -> Path:
    file = folder / place / name / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(SKILL.format(name=name, description=description or f"Does {name}.", body=body, more=more))
    return file


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "someone"
    folder.mkdir()
    monkeypatch.setenv("ATELIER_HOME", str(folder))
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def take_up(name: str, id: str = "c1") -> ToolCall:
    return tool_call("activate_skill", id, name=name)


async def turn(atelier: Atelier, workflow_id: str, text: str = "Go", **fields: object) -> str:
    run_id = await send_and_wait(atelier, workflow_id, text, agent=agent(**fields))
    return run_id
