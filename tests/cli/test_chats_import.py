"""``atelier workflows import`` with chats of other programs."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Cli
from tests.engine.services.sample_chat_exports import bread, claude, write, zipped


def test_chats_are_listed_chosen_and_imported(cli: Cli, tmp_path: Path) -> None:
    file = str(zipped(tmp_path / "export.zip", {"conversations.json": [bread(), claude(), {"chat_messages": []}]}))
    listed = cli("workflows", "import", file, "--dry-run")
    assert listed.status == 0
    assert [row.split()[0] for row in listed.out.splitlines()[1:]] == ["claude:cl1", "chatgpt:c1"]
    assert "2 chats" in listed.err
    assert "1 entry is not a chat" in listed.err
    assert cli("workflows", "list", "--json").json == []
    assert cli("workflows", "import", file, "--chat", "claude:nothing").status == 2
    one = cli("workflows", "import", file, "--chat", "claude:cl1", "--json").json
    assert len(one["created"]) == 1
    rest = cli("workflows", "import", file)
    assert (rest.status, "1 chat imported · 1 already imported" in rest.out) == (0, True)
    assert {each["name"] for each in cli("workflows", "list", "--json").json} == {"Bread", "Letter"}
    assert "already imported" in cli("workflows", "import", file, "--dry-run").out


def test_a_file_that_is_no_export_is_refused(cli: Cli, tmp_path: Path) -> None:
    refused = cli("workflows", "import", str(write(tmp_path / "x.json", {"hello": 1})))
    assert refused.status == 2
    assert "neither a workflow nor chats" in refused.err


def test_a_truncated_file_imports_its_complete_chats_and_a_warning_is_shown(cli: Cli, tmp_path: Path) -> None:
    file = write(tmp_path / "x.json", [bread(), claude()])
    file.write_text(file.read_text()[:-50])
    done = cli("workflows", "import", str(file))
    assert (done.status, "1 chat imported" in done.out) == (1, True)
    assert "ends in the middle" in done.err
