"""Held files are restored or discarded by a person, and read-only files are reported as such."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from atelier_desk.domain.result_parts import HeldPart
from atelier_desk.workspace.checkpoints import held_file_decisions
from atelier_desk.workspace.checkpoints.protected_file_guard import settle_all
from atelier_desk.workspace.checkpoints.undoable_file_operations import WorkspaceFiles
from atelier_desk.workspace.processes import sandbox_contents
from tests.tools.shell.conftest import Bench
from tests.tools.shell.git_file_attacks import PLAIN, Attack, Person, by_the_tool

pytestmark = pytest.mark.skipif(not sandbox_contents.available(), reason="this system has no sandbox")


async def test_a_person_restores_or_discards_held_files(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = Person(tmp_path / "with", Attack(PLAIN, "true", works=False))
    data = person.top / "data"
    files = bench.services.files = WorkspaceFiles(data / "checkpoints", (data,))
    told: list[str] = []
    files.announce_held = told.append
    results = []
    for name in ("lib", "other"):
        step = f"git init -q {name}; git -C {name} config core.fsmonitor {person.canary}"
        (person.root / "make.sh").write_text(step)
        monkeypatch.setenv("HOME", str(person.home))
        bench.root, bench.services.hidden = person.root, (data,)
        results.append(await bench.run("sh make.sh"))
    assert [result.data["held"] for result in results] == [["lib/.git/config"], ["other/.git/config"]]
    assert told == ["w", "w"]
    lib, other = files.held.of("w")
    assert [(each.path, bool(each.replaces), each.call_id) for each in (lib, other)] == [
        ("lib/.git/config", True, "c"),
        ("other/.git/config", True, "c"),
    ]
    assert [part.path for part in results[0].parts if isinstance(part, HeldPart)] == ["lib/.git/config"]
    assert not list((data / "checkpoints/held/-launcher").iterdir()), "handed over"
    assert person.calls_git() == []
    held_file_decisions.discard(files, "w", other.id)
    held_file_decisions.accept(files, "w", lib.id)
    assert str(person.canary) in (person.root / "lib/.git/config").read_text(), "it is the person's own wish now"
    assert "fsmonitor" not in (person.root / "other/.git/config").read_text()
    assert files.held.of("w") == []


async def test_files_held_before_a_kill_are_found_and_survive_cleaning(bench: Bench, tmp_path: Path) -> None:
    data = tmp_path / "data"
    left = data / "checkpoints/held/-launcher/1-2-0"
    left.mkdir(parents=True)
    (left / "held.json").write_text(
        json.dumps({"path": str(bench.root / "lib/.git/config"), "root": str(bench.root), "why": "new"})
    )
    (left / "config").write_text("[core]\n\tfsmonitor = x\n")
    (left.parent / "1-2-1").mkdir()
    files = WorkspaceFiles(data / "checkpoints", (data,))
    files.held.delete_workflows(files.held.workflows())
    settle_all(files)
    (held,) = files.held.of("w")
    assert (held.path, held.workflow_id) == ("lib/.git/config", "")
    held_file_decisions.accept(files, "w", held.id)
    assert (bench.root / "lib/.git/config").read_text() == "[core]\n\tfsmonitor = x\n"


@pytest.mark.parametrize(
    "line",
    [
        "git config core.hooksPath .husky",
        "git push -q -u . main:x",
        "git remote add a b",
        "echo x >.git/hooks/update",
        "true",
    ],
)
async def test_read_only_settings_are_named(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    """As with npm's ``prepare``: the result says what to do next, even where the program continues."""
    if not sandbox_contents.has_mounts():
        pytest.skip("this system has no mounts of its own")
    person = Person(tmp_path / "with", Attack(PLAIN, f"echo '{line}' >prepare.sh; sh prepare.sh; true"))
    (result,) = await by_the_tool(bench, person, monkeypatch)
    assert result.success
    assert ("git config KEY VALUE" in result.data.get("git_read_only", "")) is (line != "true")


async def test_an_existing_file_cannot_be_replaced(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not sandbox_contents.has_mounts():
        pytest.skip("this system has no mounts of its own")
    steps = (
        "mv .git old", "mv .git/config x", "rm .git/config", "mv .git/hooks x", "touch .git/hooks/update",
        "echo >>.git/config",
        "git -C tree status && mv .git x",
    )  # fmt: skip
    person = Person(tmp_path / "with", Attack(f"{PLAIN}; git worktree add -q tree", steps))
    for step, result in zip(steps, await by_the_tool(bench, person, monkeypatch), strict=True):
        assert not result.success, step
        assert not {"put_back", "held", "gone"} & set(result.data), (step, result.data)
    bench.root = person.root / "tree"
    for step in ("mv .git x", "echo gitdir: x >.git", "rm .git"):
        result = await bench.run(step)
        assert not result.success, step
        assert not {"put_back", "held", "gone"} & set(result.data), (step, result.data)
