"""``atelier projects``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from atelier_desk.cli.command_arguments import projects
from atelier_desk.domain.project import Direction, EntityKind, IngestState, RelationKind
from atelier_desk.engine.services.projects import ProjectService
from tests.cli.conftest import Cli

CODE = '''def count(birds):
    """Count the herons."""
    return len(birds)


def report():
    return count([])
'''


def test_a_folder_is_indexed_searched_explored_and_removed(cli: Cli, tmp_path: Path) -> None:
    code = tmp_path / "heron"
    code.mkdir()
    (code / "count.py").write_text(CODE)
    done = cli("projects", "ingest", str(code), "--no-vectors", "--no-watch", "--json").json
    assert (done["state"]["stage"], done["state"]["changed"]) == ("done", 1)
    found = cli("projects", "search", "count herons", "--json").json
    assert found[0]["entity"]["qualified"] == "count"
    assert "report calls count" in cli("projects", "explore", "count", "--direction", "in", "--relation", "calls").out
    assert "return len(birds)" in cli("projects", "show", "count").out
    assert "Languages: Python 1" in cli("projects", "show", "heron").out
    french = cli("projects", "explore", "count", "--direction", "in", "--relation", "calls", "--lang", "fr").out
    assert "report appelle count" in french, "relations are said in the reader's language"
    assert "heron" in cli("projects", "list").out
    forgotten = cli("projects", "forget", str(code / "count.py"), "--json")
    assert forgotten.json["files"] == 1
    assert ".gitignore" in forgotten.err, "the file is still there, and the next reading finds it"
    missing = cli("projects", "show", "egret")
    assert (missing.status != 0, "egret" in missing.err, "Projects: heron." in missing.err) == (True, True, True)
    assert cli("projects", "delete", "heron", "--json").json["rows"] >= 1
    assert cli("projects", "list", "--json").json == []


def test_possible_secrets_are_indexed_only_on_request(cli: Cli, tmp_path: Path) -> None:
    code = tmp_path / "heron"
    code.mkdir()
    (code / "secrets.py").write_text(CODE)
    cli("projects", "ingest", str(code), "--no-vectors", "--no-watch")
    assert "secrets.py: Ignoré" in cli("projects", "show", "heron", "--lang", "fr").out
    assert cli("projects", "allow", str(code / "secrets.py"), "--json").json["readable"] == ["secrets.py"]
    assert "secrets.py: Indexed despite looking like a secret." in cli("projects", "show", "heron").out
    assert "count" in cli("projects", "search", "count herons").out
    assert "excluded again" in cli("projects", "allow", str(code / "secrets.py"), "--undo").out
    assert cli("projects", "search", "count herons", "--json").json == []
    assert cli("projects", "allow", str(tmp_path)).status != 0


def test_an_emptied_folder_is_accepted_only_with_force(cli: Cli, tmp_path: Path) -> None:
    code = tmp_path / "heron"
    code.mkdir()
    (code / "count.py").write_text(CODE)
    cli("projects", "ingest", str(code), "--no-vectors", "--no-watch")
    (code / "count.py").unlink()
    refused = cli("projects", "ingest", str(code))
    assert (refused.status, "There are no longer any files in" in refused.err) == (1, True)
    assert "aucun fichier" in cli("projects", "ingest", str(code), "--lang", "fr").err
    assert "count" in cli("projects", "search", "count herons").out
    assert "1 removed" in cli("projects", "ingest", str(code), "--force").out
    assert cli("projects", "search", "count herons", "--json").json == []


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ("stop", "Paused. Run the same command to continue."),
        ("delete", "The project heron was deleted while it was being indexed."),
    ],
)
def test_a_change_by_somebody_else_during_indexing_is_reported(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str, said: str
) -> None:
    """For example a pause in the window, which was reported as completed."""
    code = tmp_path / "heron"
    code.mkdir()
    (code / "count.py").write_text(CODE)
    wait = ProjectService.wait

    async def meanwhile(service: ProjectService, project_id: str) -> IngestState | None:
        await getattr(service, action)(project_id)
        return await wait(service, project_id)

    monkeypatch.setattr(ProjectService, "wait", meanwhile)
    done = cli("projects", "ingest", str(code), "--no-vectors", "--no-watch")
    assert (done.status != 0, said in done.err, "problems" in done.out) == (True, True, False)


def test_files_above_the_limit_are_reported(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atelier_desk.engine.projects.file_selection.FILES_MAX", 1)
    code = tmp_path / "heron"
    code.mkdir()
    for name in ("one.py", "two.py"):
        (code / name).write_text(CODE)
    done = cli("projects", "ingest", str(code), "--no-vectors", "--no-watch")
    assert "Not all files were read" in done.err
    assert "Not all files were read" in cli("projects", "show", "heron").out


def test_the_grammar_lists_all_choices() -> None:
    assert set(projects.RELATIONS) == {kind.value for kind in RelationKind}
    assert set(projects.DIRECTIONS) == {each.value for each in Direction}
    assert set(projects.KINDS) == {kind.value for kind in EntityKind}


def test_folders_of_the_same_name_become_distinguishable_projects(cli: Cli, tmp_path: Path) -> None:
    for home in ("a", "b"):
        code = tmp_path / home / "heron"
        code.mkdir(parents=True)
        (code / "count.py").write_text(CODE)
        assert cli("projects", "ingest", str(code), "--no-vectors", "--no-watch").status == 0
    names = [each["name"] for each in cli("projects", "list", "--json").json]
    assert len(names) == 2
    found = [
        re.split("  +", line) for line in cli("projects", "search", "count herons", "--kind", "scope").out.splitlines()
    ]
    assert {(row[3], row[4]) for row in found if row[2] == "count"} == {(name, "count.py:1") for name in names}


def test_a_missing_project_is_an_error(cli: Cli, tmp_path: Path) -> None:
    code = tmp_path / "heron"
    code.mkdir()
    (code / "count.py").write_text(CODE)
    (code / "other.py").write_text(CODE)
    cli("projects", "ingest", str(code), "--no-vectors", "--no-watch")
    for verb in ("ingest", "forget"):
        done = cli("projects", verb, str(code / "gone.py"))
        assert (done.status != 0, "gone.py" in done.err) == (True, True), verb
    (code / "count.py").unlink()
    assert "1 removed" in cli("projects", "ingest", str(code / "count.py")).out, "that a file is gone is read, too"
    (tmp_path / "alone.py").write_text(CODE)
    assert "is a file" in cli("projects", "ingest", str(tmp_path / "alone.py")).err
    assert "is not being indexed" in cli("projects", "pause", "heron").out
