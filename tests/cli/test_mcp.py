"""``atelier mcp``: adding, testing, listing and removing servers, their tools and calls, and reading them out of other programs' files."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Cli
from tests.mcp.conftest import Make, alive, plain
from tests.support.servers.mcp_plain import ECHO, tool

__all__ = ["plain"]


def test_a_server_from_adding_to_removing(cli: Cli, plain: Make) -> None:
    server = plain(tools=[ECHO])
    command, arguments = server.command
    added = cli("mcp", "add", "plain", "--agent", "Assistant", "--env", "MODE=quick", "--command", command, *arguments)
    assert added.status == 0, added.err
    assert "offers 1 tool (protocol 2025-06-18)" in added.out
    assert not any(map(alive, server.pids())), "nothing stays when the command is over"
    (row,) = cli("mcp", "list", "--json").json
    assert (row["name"], row["state"], row["tools"], row["config"]["env"]) == ("plain", "idle", 1, {"MODE": "quick"})
    assert "starts when needed" in cli("mcp", "list").out
    server.say(tools=[{**ECHO, "description": "Says it twice."}, tool("more")])
    tested = cli("mcp", "test", "plain")
    assert "does not offer what you approved: more, echo" in tested.err
    shown = cli("mcp", "tools", "plain")
    assert "changed: asks at every call" in shown.out
    assert "echo said before: Says it again." in shown.err
    rows = cli("mcp", "tools", "plain", "--approve", "--off", "more", "--json").json
    assert [(row["tool"], row["state"], row["on"]) for row in rows] == [("echo", "approved", True), ("more", "approved", False)]
    assert cli("mcp", "calls", "plain", "--json").json == []
    assert "MCP servers of Assistant: none" in cli("mcp", "take", "plain", "Assistant").out
    assert cli("mcp", "off", "plain").out == "plain is off.\n"
    assert "switched off" in cli("mcp", "test", "plain").err
    assert cli("mcp", "remove", "plain").status == 0
    gone = cli("mcp", "test", "plain")
    assert (gone.status, "There is no MCP server plain" in gone.err) == (2, True)


def test_bad_input_says_what_is_allowed(cli: Cli) -> None:
    for line, said in (
        (("add", "bad__name", "--url", "https://a.example"), "name"),
        (("add", "web", "--url", "ftp://a.example"), "http://"),
        (("add", "web", "--url", "https://a.example", "--header", "X"), "NAME:VALUE"),
        (("add", "web", "--url", "https://a.example", "--header", "X-Key: abc"), "no keyring"),
        (("add", "web", "--command"), "command"),
        (("add", "web", "--secret", "TOKEN=abc", "--command", "x"), "${VARIABLE}"),
        (("give", "web", "Assistant"), "There is no MCP server web"),
        (("tools", "web", "--on", "x"), "There is no MCP server web"),
    ):
        found = cli("mcp", *line)
        assert (found.status, said in found.err) == (2, True), (line, found.err)
    assert cli("mcp", "list", "--json").json == []


def test_servers_of_a_file_are_shown_then_added(cli: Cli, tmp_path: Path, plain: Make) -> None:
    command, arguments = plain().command
    file = tmp_path / "claude_desktop_config.json"
    entries = {"plain": {"command": command, "args": arguments}, "web": {"url": "https://a.example", "headers": {"X-Key": "sentinel-key"}}}
    file.write_text(json.dumps({"mcpServers": entries}))
    shown = cli("mcp", "import", str(file))
    assert f"Command: {command}" in shown.out
    assert "X-Key = (secret)" in shown.out
    assert "sentinel" not in shown.out + shown.err
    assert "sentinel" not in cli("mcp", "import", str(file), "--json").out
    assert cli("mcp", "list", "--json").json == [], "nothing is stored by looking"
    assert cli("mcp", "import", str(file), "--add", "plain").out == "Added plain.\n"
    assert "already" in cli("mcp", "import", str(file), "--add", "plain").err
    assert "no keyring" in cli("mcp", "import", str(file), "--add", "web").err
    assert cli("mcp", "import", str(file), "--add", "web", "--value", "X-Key=$MY_KEY").status == 0
    assert {row["name"] for row in cli("mcp", "list", "--json").json} == {"plain", "web"}
    assert "There is no other among them" in cli("mcp", "import", str(file), "--add", "other").err


def test_this_machines_programs_are_looked_through(cli: Cli, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".cursor").mkdir(parents=True)
    (home / ".cursor" / "mcp.json").write_text('{"mcpServers": {"one": {"command": "x"}}}')
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text("[broken")
    project = tmp_path / "project"
    project.mkdir()
    (project / ".mcp.json").write_text('{"mcpServers": {"two": {"type": "http", "url": "https://b.example"}}}')
    found = cli("mcp", "import", "--workspace", str(project))
    assert f"one  (Cursor: {home}/.cursor/mcp.json)" in found.out
    assert f"two  (Claude Code: {project}/.mcp.json)" in found.out
