"""``atelier mcp``: adding, testing, listing and removing servers, their tools and calls, and importing them from
other programs.
"""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from atelier_desk.cli.command_result import report
from atelier_desk.cli.commands import mcp
from atelier_desk.cli.parser import build_parser
from atelier_desk.cli.terminal_io import Terminal
from atelier_desk.engine import Atelier
from atelier_desk.llm.secrets import KeyVault
from tests.cli.conftest import Cli
from tests.helpers.memory_keyring import MemoryKeyring
from tests.helpers.servers.misbehaving_mcp_stdio import ECHO, tool
from tests.mcp.conftest import Make, alive, bundle_of, plain

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
    assert "starts when needed" in cli("mcp", "status", "plain").out, "nothing is started to be asked"
    (row,) = cli("mcp", "status", "--json").json
    assert (row["state"], row["failures"], row["ping_ms"]) == ("idle", 0, 0)
    assert "offers 1 tool" in cli("mcp", "restart", "plain").out
    server.say(tools=[{**ECHO, "description": "Says it twice."}, tool("more")])
    tested = cli("mcp", "test", "plain")
    assert "changed since you approved them: more, echo" in tested.err
    shown = cli("mcp", "tools", "plain")
    assert "changed: every call needs approval" in shown.out
    assert "Previous description of echo: Says it again." in shown.err
    rows = cli("mcp", "tools", "plain", "--approve", "--off", "more", "--json").json
    assert [(row["tool"], row["state"], row["on"]) for row in rows] == [
        ("echo", "approved", True),
        ("more", "approved", False),
    ]
    assert cli("mcp", "calls", "plain", "--json").json == []
    assert "MCP servers of Assistant: none" in cli("mcp", "take", "plain", "Assistant").out
    assert cli("mcp", "off", "plain").out == "plain disabled.\n"
    assert "disabled" in cli("mcp", "test", "plain").err
    assert cli("mcp", "remove", "plain").status == 0
    gone = cli("mcp", "test", "plain")
    assert (gone.status, "There is no MCP server plain" in gone.err) == (2, True)


def test_bad_input_is_refused_with_what_is_allowed(cli: Cli) -> None:
    for line, said in (
        (("add", "bad__name", "--url", "https://a.example"), "name"),
        (("add", "web", "--url", "ftp://a.example"), "http://"),
        (("add", "web", "--url", "https://a.example", "--header", "X"), "NAME: $VARIABLE"),
        (("add", "web", "--url", "https://a.example", "--header", "X-Key: abc"), "no keyring"),
        (("add", "web", "--url", ""), "http://"),
        (("add", "web", "--url", "https://a.example:99999/mcp"), "a port must be from 1 to 65535"),
        (("add", "web", "--url", "http://[::1/mcp"), "must begin with http"),
        (("add", "web", "--url", "http://a example/mcp"), "no spaces"),
        (("add", "web", "--url", "https://me:word@a.example/mcp"), "must not contain a user name or password"),
        (("add", "web", "--url", "https://a.example", "--header", "Bad Name: abc"), "cannot be used as a header name"),
        (("add", "web", "--url", "https://a.example", "--header", "X-Key: abc"), "--header 'X-Key: $VARIABLE'"),
        (("add", "web", "--env", "=v", "--command", "x"), "'=v'"),
        (("add", "web", "--command"), "command"),
        (("add", "web", "--secret", "TOKEN=abc", "--command", "x"), "${VARIABLE}"),
        (("give", "web", "Assistant"), "There is no MCP server web"),
        (("status", "web"), "There is no MCP server web"),
        (("restart", "web"), "There is no MCP server web"),
        (("tools", "web", "--on", "x"), "There is no MCP server web"),
    ):
        found = cli("mcp", *line)
        assert (found.status, said in found.err) == (2, True), (line, found.err)
    assert cli("mcp", "list", "--json").json == []


def test_servers_of_a_file_are_shown_then_added(cli: Cli, tmp_path: Path, plain: Make) -> None:
    command, arguments = plain().command
    file = tmp_path / "claude_desktop_config.json"
    entries = {
        "plain": {"command": command, "args": arguments},
        "web": {"url": "https://a.example", "headers": {"X-Key": "sentinel-key"}},
    }
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
    assert "other was not found" in cli("mcp", "import", str(file), "--add", "other").err


def test_the_programs_of_this_machine_are_searched_for_servers(cli: Cli, tmp_path: Path) -> None:
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


def test_errors_are_in_the_readers_language(cli: Cli) -> None:
    for line, said in (
        (("add", "web", "--url", "notaurl"), "l’adresse doit commencer par http:// ou https://"),
        (
            ("add", "bad__name", "--url", "https://a.example"),
            "«\u00a0Nom\u00a0» a été refusé (un nom ne peut comporter que",
        ),
        (
            ("add", "x" * 40, "--url", "https://a.example"),
            "«\u00a0Nom\u00a0» est trop long\u00a0: 40 caractères\u00a0; le maximum est de 32",
        ),
        (("add", "web", "--env", "1X=2", "--command", "x"), "«\u00a01X\u00a0» doit être le nom d’une variable"),
        (("add", "web", "--url", "https://a.example:99999"), "https://a.example:99999 n’est pas une adresse"),
    ):
        found = cli("--lang", "fr", "mcp", *line)
        assert (found.status, said in found.err) == (2, True), found.err
        assert not any(word in found.err for word in ("should", "must", "value:")), found.err
    gone = cli("--lang", "fr", "mcp", "add", "gone", "--url", "http://127.0.0.1:9/mcp")
    assert "rien ne répond à cette adresse" in gone.err, gone.err
    assert cli("--lang", "fr", "mcp", "test", "gone").err.count("rien ne répond") == 1
    lost = cli("--lang", "fr", "mcp", "add", "lost", "--command", "no-such-program-here")
    assert "ce programme n’existe pas" in lost.err, lost.err


def test_a_placeholder_in_a_file_is_not_stored_as_a_value(
    cli: Cli, tmp_path: Path, plain: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("API_KEY", raising=False)
    command, arguments = plain().command
    file = tmp_path / "mcp.json"
    entry = {"command": command, "args": arguments, "env": {"API_KEY": "${API_KEY}"}}
    file.write_text(json.dumps({"mcpServers": {"plain": entry}}))
    shown = cli("mcp", "import", str(file))
    assert "  needs API_KEY\n" in shown.out, "it has no description"
    assert "These variables are not set on this computer: API_KEY" in shown.err
    refused = cli("mcp", "import", str(file), "--add")
    assert (refused.status, "--value API_KEY=" in refused.err) == (2, True), refused.err
    options = {"vault": KeyVault(backend=MemoryKeyring())}
    added = cli("mcp", "import", str(file), "--add", "--value", "API_KEY=of-this-person", "--json", options=options)
    assert added.status == 0, added.err
    assert (added.json[0]["config"]["env"], added.json[0]["missing_secrets"]) == ({"API_KEY": ""}, [])
    monkeypatch.setenv("API_KEY", "set-now")
    assert "needs API_KEY" not in cli("mcp", "import", str(file)).out


def test_a_bundle_is_shown_added_and_started(cli: Cli, tmp_path: Path) -> None:
    file = bundle_of(tmp_path)
    shown = cli("mcp", "import", str(file))
    assert "needs CONFIG_TOKEN: Token" in shown.out
    assert "CONFIG_TOKEN = " not in shown.out, "it holds nothing yet"
    strange = cli("mcp", "import", str(file), "--add", "--value", "CONFIG_TOKEN=x", "--value", "TOKEN=y")
    assert (strange.status, "needs TOKEN. Values they need: CONFIG_TOKEN" in strange.err) == (2, True), strange.err
    options = {"vault": KeyVault(backend=MemoryKeyring())}
    added = cli("mcp", "import", str(file), "--add", "--value", "CONFIG_TOKEN=of-this-person", options=options)
    assert added.out == "Added packed.\n", added.err
    tested = cli("mcp", "test", "packed", options=options)
    assert (tested.status, "offers 1 tool" in tested.out) == (0, True), tested.err
    (row,) = cli("mcp", "list", "--json", options=options).json
    assert Path(row["config"]["folder"], "server.py").is_file()
    assert (row["config"]["source"], row["missing_secrets"]) == ("mcpb", [])
    again = cli("mcp", "import", str(file), "--add", "--value", "CONFIG_TOKEN=x", options=options)
    assert (again.status, "An MCP server named packed already exists." in again.err) == (2, True)


def test_resources_are_listed_and_read(cli: Cli, plain: Make) -> None:
    answers = {
        "resources/list": {"resources": [{"uri": "note://one", "name": "First note"}]},
        "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "note://{day}", "name": "Note of a day"}]},
        "resources/read": {"contents": [{"uri": "note://one", "text": "Buy milk."}]},
    }
    server = plain(answers=answers, capabilities={"resources": {}})
    command, arguments = server.command
    cli("mcp", "add", "plain", "--command", command, *arguments)
    shown = cli("mcp", "resources", "plain")
    assert "note://one" in shown.out
    assert "note://{day}" in shown.out
    assert cli("mcp", "read", "plain", "note://one").out == "Buy milk.\n"
    assert cli("mcp", "read", "plain", "note://{day}", "--value", "day=today", "--json").json["uri"] == "note://today"
    missing = cli("mcp", "read", "plain", "note://{day}")
    assert (missing.status, "needs values for: day" in missing.err) == (2, True)


def test_a_program_in_the_current_folder_is_found_from_anywhere(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("bin/server", "data.json"):
        (tmp_path / name).write_text("#!/bin/sh\n")
    monkeypatch.chdir(tmp_path)
    line = ("bin/server", "./data.json", "data.json", "./none", "-x/y")
    cli("mcp", "add", "near", "--no-test", "--older-protocol", "--folder", "bin", "--command", *line)
    (row,) = cli("mcp", "list", "--json").json
    assert row["config"]["command"] == str(tmp_path / "bin/server")
    assert row["config"]["args"] == [str(tmp_path / "data.json"), "data.json", "./none", "-x/y"], (
        "what is not written as a path is none"
    )
    assert row["config"]["folder"] == str(tmp_path / "bin")
    assert row["config"]["older_protocol"] is True


async def test_relative_paths_start_at_the_clients_folder_in_another_process_too(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text("{}")
    async with Atelier.open(temporary=True) as atelier:

        async def done(*words: str) -> None:
            out = Terminal(
                json=True, cwd=str(tmp_path), stdout=io.StringIO(), stderr=io.StringIO(), stdin=io.StringIO()
            )
            arguments = build_parser().parse_args(["mcp", *words])
            assert report(out, await {"add": mcp.add, "roots": mcp.roots}[words[0]](atelier, arguments, out)) == 0

        await done("add", "near", "--no-test", "--folder", ".", "--command", "x", "./data.json")
        await done("roots", "near", "--add", ".")
        row = await atelier.mcp.get("near")
        assert (row.config.folder, row.config.args, row.config.roots) == (
            str(tmp_path),
            (str(tmp_path / "data.json"),),
            (str(tmp_path),),
        )
