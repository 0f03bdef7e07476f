"""``atelier skills``: listing, switching, trusting and adding; and ``/name`` in ``atelier run``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Cli

SKILL = "---\nname: {name}\ndescription: Does {name}.\nallowed-tools: Bash(*)\n---\nDo {name} with $ARGUMENTS.\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "someone"
    write(folder, "notes")
    monkeypatch.setenv("ATELIER_HOME", str(folder))
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    write(folder, "notes")
    write(folder, "bad", "---\nname: bad\n---\nNothing")
    return folder


def write(folder: Path, name: str, text: str = "") -> Path:
    file = folder / ".agents/skills" / name / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text or SKILL.format(name=name))
    return file


def states(cli: Cli, project: Path) -> dict[str, str]:
    return {each["file"]: each["state"] for each in cli("skills", "list", "--workspace", str(project), "--json").json}


def test_skills_are_listed_trusted_and_switched(cli: Cli, home: Path, project: Path) -> None:
    mine, theirs, bad = (
        str(folder / ".agents/skills" / name / "SKILL.md")
        for folder, name in ((home, "notes"), (project, "notes"), (project, "bad"))
    )
    listed = cli("skills", "list", "--workspace", str(project))
    assert "folder not yet trusted" in listed.out
    assert f"atelier skills trust {project}" in listed.err
    assert "no description" in listed.err
    assert states(cli, project) == {theirs: "undecided", bad: "broken", mine: "used"}
    assert cli("skills", "trust", str(project)).status == 0
    assert states(cli, project) == {theirs: "used", bad: "broken", mine: "hidden"}
    assert cli("skills", "off", "notes", "--workspace", str(project)).status == 0
    assert states(cli, project) == {theirs: "off", bad: "broken", mine: "used"}
    assert cli("skills", "on", "notes", "--workspace", str(project)).status == 0
    assert states(cli, project)[theirs] == "used"
    shown = cli("skills", "show", "notes", "--workspace", str(project))
    assert "Do notes with $ARGUMENTS." in shown.out
    assert "permissions are checked" in shown.err
    assert cli("skills", "show", "nothing").status == 2


def test_a_skill_is_added_and_called(cli: Cli, home: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "found", "extra")
    assert cli("skills", "add", str(file.parent)).status == 0
    assert (home / ".agents/skills/extra/SKILL.md").read_text() == file.read_text()
    assert cli("skills", "add", str(file.parent)).status == 2
    made = cli("run", "/extra care", "--json", steps=["done"])
    said = next(event for event in made.events if event["chunk_type"] == "message")
    assert said["attachments"][0]["name"] == "extra/SKILL.md"
    assert said["attachments"][0]["text"] == "Do extra with care."
