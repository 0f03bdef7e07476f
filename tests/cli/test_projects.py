"""``atelier projects``."""

from __future__ import annotations

from pathlib import Path

from atelier_desk.cli.commands import projects
from atelier_desk.domain.project import Direction, EntityKind, RelationKind
from tests.cli.conftest import Cli

CODE = '''def count(birds):
    """Count the herons."""
    return len(birds)


def report():
    return count([])
'''


def test_a_folder_is_read_searched_explored_and_forgotten(cli: Cli, tmp_path: Path) -> None:
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
    assert cli("projects", "forget", str(code / "count.py"), "--json").json["files"] == 1
    missing = cli("projects", "show", "egret")
    assert (missing.status != 0, "egret" in missing.err) == (True, True)
    assert cli("projects", "delete", "heron", "--json").json["rows"] >= 1
    assert cli("projects", "list", "--json").json == []


def test_the_grammar_names_what_there_is() -> None:
    assert set(projects.RELATIONS) == {kind.value for kind in RelationKind}
    assert set(projects.DIRECTIONS) == {each.value for each in Direction}
    assert set(projects.KINDS) == {kind.value for kind in EntityKind}
