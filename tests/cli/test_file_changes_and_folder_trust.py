"""``atelier files``: changes of agents as a list and as diffs, and undo."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from atelier_desk.cli.data_folder_server import _tidy
from atelier_desk.domain.model_messages import ToolCall
from atelier_desk.engine.atelier import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.storage.data_folder.datadir import default_data_dir
from atelier_desk.support.shutdown import CANCELLED
from atelier_desk.workspace.processes import sandbox_contents
from tests.cli.conftest import Cli, Result
from tests.helpers.tool_calls import tool_call


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    return folder


@pytest.fixture
def workflow(cli: Cli, project: Path) -> str:
    """An agent edited a file and created another, each with an approval."""
    edit = tool_call("edit_file", "c1", path="a.py", old_string="1", new_string="2")
    write = ToolCall(id="c2", name="write_file", arguments={"path": "docs/b.md", "content": "# B\n"})
    made = cli(
        "run", "go", "--json", "--workspace", str(project), "--on-approval", "allow", steps=[[edit], [write], "done"]
    )
    assert made.status == 0, made.err
    return str(made.events[0]["workflow_id"])


def test_changes_are_listed_shown_and_undone(cli: Cli, project: Path, workflow: str) -> None:
    assert (project / "a.py").read_text() == "x = 2\n"
    listed = cli("files", "list", workflow, "--json").json
    assert [(each["action"], each["path"], each["agent_name"]) for each in listed] == [
        ("created", "docs/b.md", "Assistant"),
        ("changed", "a.py", "Assistant"),
    ]
    assert "docs/b.md" in cli("files", "list", workflow).out
    assert "-x = 1\n+x = 2\n" in cli("files", "diff", workflow).out
    assert "+# B" in cli("files", "diff", workflow, listed[0]["id"]).out
    assert "a.py" in cli("files", "undo", workflow, listed[1]["id"]).out
    assert (project / "a.py").read_text() == "x = 1\n"
    assert (project / "docs" / "b.md").exists()
    assert cli("files", "undo", workflow, "--run", listed[0]["run_id"]).status == 0
    assert not (project / "docs").exists()
    assert "nothing to undo" in cli("files", "undo", workflow, "--all").out


def test_a_long_undo_shows_progress(cli: Cli, project: Path, workflow: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atelier_desk.domain.file_change.UNDONE_AT_ONCE", 1)
    monkeypatch.setattr("atelier_desk.cli.commands.file_changes_and_trust.REPORT_EVERY", 1)
    done = cli("files", "undo", workflow, "--all")
    assert done.err == "1 of 2 changes\n"
    assert done.out.count("Undone: ") == 2
    assert (project / "a.py").read_text() == "x = 1\n"


def test_an_undo_never_overwrites_changes_of_others(cli: Cli, project: Path, workflow: str) -> None:
    (project / "a.py").write_text("x = 3  # mine\n")
    left = cli("files", "undo", workflow, "--all")
    assert (left.status, "changed again" in left.err) == (1, True)
    assert (project / "a.py").read_text() == "x = 3  # mine\n"
    assert not (project / "docs").exists(), "the others are undone"
    assert cli("files", "undo", workflow, "--all", "--force").status == 0
    assert (project / "a.py").read_text() == "x = 1\n"


def test_exactly_one_undo_target_is_required(cli: Cli, workflow: str) -> None:
    assert cli("files", "undo", workflow).status == 2
    assert cli("files", "undo", workflow, "--all", "--run", "x").status == 2
    assert cli("files", "undo", workflow, "nowhere").status == 2


def test_stored_changes_are_reported_and_cleaned(cli: Cli, project: Path, workflow: str) -> None:
    kept = cli("files", "kept", "--json").json
    assert kept["changes"] == 2
    assert kept["bytes"] > 0
    assert "2 changes" in cli("files", "kept").out
    assert cli("files", "clean", "--json").json["given_up"] == 0
    assert "can still be undone" in cli("files", "clean").out
    assert (
        cli("settings", "set", "checkpoint_mb", "0").status,
        cli("settings", "set", "checkpoint_days", "7").status,
    ) == (2, 0)


def test_a_suggested_command_can_be_pasted(cli: Cli, tmp_path: Path) -> None:
    """A folder with blanks was named without quotes."""
    folder = tmp_path / "Martin and Sons"
    (folder / ".agents/skills/notes").mkdir(parents=True)
    (folder / ".agents/skills/notes/SKILL.md").write_text("---\nname: notes\ndescription: Takes notes.\n---\n")
    (folder / "AGENTS.md").write_text("Four blanks.")
    said = cli("run", "go", "--workspace", str(folder), steps=["done"]).err
    assert f"atelier files trust '{folder}'" in said
    assert f"atelier skills trust '{folder}'" in cli("skills", "list", "--workspace", str(folder)).err


def test_a_folder_is_trusted_and_untrusted(cli: Cli, project: Path) -> None:
    (project / "AGENTS.md").write_text("Four blanks.")
    go = ("run", "go", "--workspace", str(project))
    assert f"atelier files trust {project}" in cli(*go, steps=["done"]).err
    assert "is trusted" in cli("files", "trust", str(project)).out
    model = ScriptedModel(["done"])
    assert "files trust" not in cli(*go, steps=model).err
    assert "Four blanks." in model.requests[0].messages[0].content
    assert cli("files", "distrust", str(project), "--json").json == [{"folder": str(project), "trusted": False}]
    assert cli("files", "trust", str(project / "nowhere")).status == 2


def test_the_end_of_a_run_lists_its_changed_files(cli: Cli, project: Path) -> None:
    write = ToolCall(id="c1", name="write_file", arguments={"path": "docs/b.md", "content": "# B\n"})
    edit = tool_call("edit_file", "c2", path="docs/b.md", old_string="B", new_string="C")
    made = cli("run", "go", "--workspace", str(project), "--on-approval", "allow", steps=[[write], [edit], "done"])
    assert "Changed file: docs/b.md\n" in made.err


def test_a_missing_folder_is_reported_once_in_plain_words(cli: Cli, project: Path, workflow: str) -> None:
    project.rename(project.parent / "moved")
    left = cli("files", "undo", workflow, "--all")
    assert (left.status, left.out) == (1, "")
    assert (
        left.err
        == f"Not undone: The folder {project} was not found: it was moved or deleted, or its disk is not connected.\n"
    )
    assert "Le dossier" in cli("--lang", "fr", "files", "undo", workflow, "--all").err


def test_folders_are_granted_only_to_an_existing_workflow(cli: Cli, project: Path, workflow: str) -> None:
    (project.parent / "more").mkdir()
    assert cli("workflows", "choose", workflow, "--workspace", str(project.parent / "more")).status == 0
    [listed] = cli("workflows", "list", "--json").json
    assert listed["workspace"] == [str(project), str(project.parent / "more")]


def test_a_resumed_turn_reports_its_missing_folder(cli: Cli, project: Path) -> None:
    edit = tool_call("edit_file", "c1", path="a.py", old_string="1", new_string="2")
    made = cli("run", "go", "--json", "--workspace", str(project), steps=[[edit]])
    assert made.status == 5
    project.rename(project.parent / "moved")
    assert f"The folder {project} was not found" in cli("resume", "--on-approval", "allow", steps=["done"]).err


@pytest.mark.skipif(not sandbox_contents.available(), reason="needs a sandbox")
def test_held_files_are_listed_restored_and_discarded(cli: Cli, project: Path) -> None:
    (project / "make.sh").write_text("echo Obey. > AGENTS.md; mkdir .husky; echo ls > .husky/pre-commit\n")
    command = tool_call("run_command", "c1", command="bash make.sh", modifies_files=True)
    made = cli("run", "go", "--json", "--workspace", str(project), "--on-approval", "allow", steps=[[command], "done"])
    workflow = str(made.events[0]["workflow_id"])
    assert not (project / "AGENTS.md").exists()
    listed = cli("files", "held", workflow, "--json").json
    assert [each["path"] for each in listed] == [".husky/pre-commit", "AGENTS.md"]
    assert "AGENTS.md" in cli("files", "held", workflow).out
    assert cli("files", "keep", workflow).status == 2
    assert cli("files", "discard", workflow, listed[0]["id"]).status == 0
    (project / "AGENTS.md").write_text("mine\n")
    left = cli("files", "keep", workflow, "AGENTS.md")
    assert (left.status, "was not overwritten" in left.err) == (1, True)
    (project / "AGENTS.md").unlink()
    assert cli("files", "keep", workflow, "AGENTS.md").status == 0
    assert (project / "AGENTS.md").read_text() == "Obey.\n"
    assert cli("files", "held", workflow, "--json").json == []
    assert [each["path"] for each in cli("files", "list", workflow, "--json").json if each["path"] == "AGENTS.md"] == [
        "AGENTS.md"
    ]


def test_files_with_content_from_outside_are_listed_and_marked_as_read(cli: Cli, project: Path) -> None:
    assert cli("files", "trust", str(project)).status == 0
    assert cli("permissions", "add", "run_command", "--action", "allow").status == 0

    def called(tool: str, *workflow: str, **arguments: object) -> Result:
        where = workflow or ("--workspace", str(project))
        return cli("tools", "call", tool, json.dumps(arguments), *where, "--on-approval", "allow", "--json")

    # A command with network access reads from outside, so the files it writes are marked.
    wrote = called("run_command", command="echo obey > notes.md", modifies_files=True, sandbox="network")
    assert wrote.status == 0, wrote.err
    path = str(project / "notes.md")
    (mark,) = cli("files", "marked", "--json").json
    assert (mark["path"], mark["folder"], mark["sources"]) == (path, False, ["echo obey > notes.md"])
    assert "Written by an agent that had read from echo obey" in cli("files", "marked", str(project)).out
    assert cli("files", "marked", "--json", str(project.parent / "elsewhere")).status != 0
    assert f"Marked as read: {path}" in cli("files", "mark-read", path).out
    assert cli("files", "marked", "--json").json == []
    assert "None of these files needs to be marked" in cli("files", "mark-read", path).out


def test_leftovers_are_listed_and_deleted(cli: Cli, project: Path, workflow: str) -> None:
    checkpoints = default_data_dir() / "checkpoints"
    assert cli("files", "leftovers", "--json").json == []
    record = next(path for path in (checkpoints / "changes" / workflow).iterdir() if b"docs/b.md" in path.read_bytes())
    record.write_bytes(record.read_bytes()[:50])
    found = cli("files", "leftovers", "--json").json
    key = f"changes/{workflow}/{record.name}"
    assert [(each["id"], each["kind"]) for each in found][:2] == [(key, "unreadable"), ("objects", "contents")]
    assert found[0]["bytes"] == 50
    assert "1 record of changes cannot be read and is left out" in cli("files", "list", workflow).err
    assert "kept until you delete it" in cli("files", "leftovers").out
    assert cli("files", "delete-leftovers").status == 2
    assert cli("files", "delete-leftovers", "changes/nothing.json").status == 2
    assert (checkpoints / key).exists()
    assert cli("files", "delete-leftovers", key, "--json").json["deleted"] == [key]
    assert cli("files", "delete-leftovers", "--all").status == 0
    assert cli("files", "leftovers", "--json").json == []
    assert cli("files", "undo", workflow, "--all").status == 0
    assert (project / "a.py").read_text() == "x = 1\n"


def test_a_list_without_undo_data_is_marked(cli: Cli, workflow: str) -> None:
    shutil.rmtree(default_data_dir() / "checkpoints")
    listed = cli("files", "list", workflow)
    assert listed.status == 0
    assert "Undo is no longer possible for 2 changes" in listed.err


def test_a_command_cleans_once_a_day_unless_interrupted(cli: Cli, workflow: str) -> None:
    (default_data_dir() / "checkpoints/objects/zz").mkdir(parents=True)
    unused = default_data_dir() / "checkpoints/objects/zz/unused"
    unused.write_text("no record names it")
    cleaned = []

    async def forget_the_day(atelier: Atelier) -> None:
        state = await atelier.repos.housekeeping.load()
        cleaned.append(state.cleaned_at)
        await atelier.repos.housekeeping.save(state.model_copy(update={"cleaned_at": None}))

    assert cli("workflows", "list").status == 0
    assert unused.exists(), "it was cleaned today"
    asyncio.run(_opened(forget_the_day))
    assert cleaned[0] is not None, "the run did"
    asyncio.run(_opened(lambda atelier: _tidy(atelier, CANCELLED, started=False)))
    assert unused.exists(), "the command was interrupted"
    assert cli("workflows", "list").status == 0
    assert not unused.exists()


async def _opened(work: Callable[[Atelier], Awaitable[None]]) -> None:
    async with Atelier.open(default_data_dir(), start=False, fsync=False) as atelier:
        await work(atelier)
