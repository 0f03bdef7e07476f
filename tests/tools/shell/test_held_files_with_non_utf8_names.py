"""Held files whose names are not UTF-8: two stay distinct, and each is shown, restored and discarded by its shown
name.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from atelier_desk.domain.errors import ConflictError
from atelier_desk.workspace.checkpoints import held_file_decisions
from atelier_desk.workspace.checkpoints.protected_file_guard import settle_all
from atelier_desk.workspace.checkpoints.undoable_file_operations import Author, WorkspaceFiles
from atelier_desk.workspace.processes import sandbox_contents
from tests.tools.shell.conftest import Bench

ACUTE, GRAVE = os.fsdecode(b"caf\xe9"), os.fsdecode(b"caf\xe8")


@pytest.fixture
def files(tmp_path: Path) -> WorkspaceFiles:
    data = tmp_path / "data"
    data.mkdir()
    return WorkspaceFiles(data / "checkpoints", (data,))


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    (folder / ".husky").mkdir(parents=True)
    try:
        (folder / ACUTE).touch()
    except OSError:
        pytest.skip("this system takes only names that are text")
    (folder / ACUTE).unlink()
    return folder


def hold(files: WorkspaceFiles, ws: Path, path: str, text: str, *, replaces: str = "") -> None:
    (ws / path).parent.mkdir(parents=True, exist_ok=True)
    (ws / path).write_text(text)
    with files.root(ws).located(path, follow=False) as (folder, name):
        files.held.move_out(
            files.held_record(Author("w"), ws, path).model_copy(update={"replaces": replaces}), folder, name
        )


@pytest.mark.parametrize("path", [f".husky/{ACUTE}", f"{ACUTE}/AGENTS.md", ".husky/⟨E9⟩", ".husky/café"])
def test_a_restored_file_gets_its_own_name_back(files: WorkspaceFiles, ws: Path, path: str) -> None:
    hold(files, ws, path, "new")
    [held] = WorkspaceFiles(files.store.folder, ()).held.of("w")
    assert held.path == path.replace("\udce9", "⟨E9⟩")
    held_file_decisions.accept(files, "w", held.id)
    assert (ws / path).read_text() == "new"
    assert files.held.of("w") == []


def test_two_names_stay_distinct(files: WorkspaceFiles, ws: Path) -> None:
    hold(files, ws, f".husky/{ACUTE}", "one")
    hold(files, ws, f".husky/{GRAVE}", "two")
    one, two = files.held.of("w")
    assert (one.path, two.path) == (".husky/caf⟨E9⟩", ".husky/caf⟨E8⟩")
    held_file_decisions.discard(files, "w", one.id)
    held_file_decisions.accept(files, "w", two.id)
    assert [each.name for each in (ws / ".husky").iterdir()] == [GRAVE]


def test_a_replaced_file_is_not_lost(files: WorkspaceFiles, ws: Path) -> None:
    path = f".husky/{ACUTE}"
    hold(files, ws, path, "new")
    (ws / path).write_text("somebody else's")
    [held] = files.held.of("w")
    with pytest.raises(ConflictError) as refused:
        held_file_decisions.accept(files, "w", held.id)
    assert (refused.value.code, "caf⟨E9⟩" in str(refused.value)) == ("changed", True)
    held_file_decisions.discard(files, "w", held.id)
    (ws / path).write_text("old")
    was = files.digest_at(files.root(ws), path, follow=False)
    hold(files, ws, path, "new", replaces=was)
    (ws / path).write_text("old")
    [held] = files.held.of("w")
    held_file_decisions.accept(files, "w", held.id)
    assert (ws / path).read_text() == "new"
    [before] = files.held.of("w")
    (ws / path).unlink()
    held_file_decisions.accept(files, "w", before.id)
    assert (ws / path).read_text() == "old"


def test_files_held_by_a_launcher_are_handed_over(files: WorkspaceFiles, ws: Path) -> None:
    left = files.held.folder / "-launcher/1-2-0"
    left.mkdir(parents=True)
    path = f"lib/.git/hooks/{ACUTE}"
    (left / "held.json").write_text(json.dumps({"path": str(ws / path), "root": str(ws), "why": "new"}))
    (left / ACUTE).write_text("new")
    settle_all(files)
    [held] = files.held.of("w")
    assert held.path == "lib/.git/hooks/caf⟨E9⟩"
    held_file_decisions.accept(files, "w", held.id)
    assert (ws / path).read_text() == "new"


@pytest.mark.skipif(not sandbox_contents.available(), reason="this system has no sandbox")
async def test_a_command_that_creates_such_a_file_is_reported_with_its_name(
    bench: Bench, files: WorkspaceFiles, ws: Path
) -> None:
    bench.root, bench.services.files = ws, files
    (ws / "make.sh").write_text("printf new >.husky/caf$(printf '\\351'); printf new >.husky/caf$(printf '\\350')")
    result = await bench.run("sh make.sh")
    names = [".husky/caf⟨E8⟩", ".husky/caf⟨E9⟩"]
    assert sorted(result.data["held"]) == names
    assert sorted(each.path for each in files.held.of("w")) == names


@pytest.mark.skipif(not sandbox_contents.available(), reason="this system has no sandbox")
@pytest.mark.parametrize("line", ["rm caf*", "printf new >>{}", "mv {} other"])
async def test_a_change_of_such_a_file_is_named_and_reported_as_not_undoable(
    bench: Bench, files: WorkspaceFiles, ws: Path, line: str
) -> None:
    bench.root, bench.services.files = ws, files
    (ws / ACUTE).write_text("old")
    (ws / "do.sh").write_text(line.replace("{}", "caf$(printf '\\351')"))
    result = await bench.call("run_command", command="sh do.sh", modifies_files=True)
    assert result.data["not_undoable"] == ["caf⟨E9⟩"]
