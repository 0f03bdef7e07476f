"""``atelier agents import``: an agent of another program, with unsupported parts listed before it is stored."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Cli

TEXT = "---\nname: reviewer\ndescription: Reviews.\ntools: Read, Bash, Telepathy\nmodel: opus\n---\nYou review.\n"


def test_an_agent_is_shown_then_stored_with_translated_tool_names(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "reviewer.md"
    file.write_text(TEXT)
    shown = cli("agents", "import", str(file), "--dry-run", "--json")
    assert shown.json["agent"]["tools"] == ["read_file", "run_command"]
    assert any("Telepathy" in note for note in shown.json["notes"])
    assert "reviewer" not in cli("agents", "list").out
    made = cli("agents", "import", str(file))
    assert "reviewer" in made.out
    assert "Telepathy" in made.err
    assert "opus" in made.err
    assert cli("agents", "show", "reviewer").json["system_prompt"] == "You review."
    assert cli("agents", "import", str(file)).status == 2
    assert "reviewer" in cli("agents", "import", str(file), "--on-conflict", "rename").out
    assert "Telepathy" not in cli("--lang", "fr", "agents", "list").err
