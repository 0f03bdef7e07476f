"""The configuration files in which other programs list servers, at the locations that their manuals give."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from atelier_desk.mcp.config_import.found_server import FoundServer
from tests.engine.conftest import Opener, open_atelier

__all__ = ["open_atelier"]

FILES = {"command": "npx", "args": ["-y", "files", "/data"], "env": {"API_TOKEN": "hush-1"}}
STARTED: dict[tuple[str, str], str] = {
    ("Claude Desktop", ".config/Claude/claude_desktop_config.json"): json.dumps(
        {"mcpServers": {"files": FILES}, "theme": "dark"}
    ),
    ("Claude Code", ".claude.json"): json.dumps(
        {"mcpServers": {"files": {"type": "stdio", **FILES}}, "numStartups": 3}
    ),
    ("Cursor", ".cursor/mcp.json"): json.dumps({"mcpServers": {"files": FILES}}),
    ("VS Code", ".config/Code/User/mcp.json"): json.dumps(
        {"servers": {"files": {"type": "stdio", **FILES}}, "inputs": []}
    ),
    ("Copilot CLI", ".copilot/mcp-config.json"): json.dumps(
        {"mcpServers": {"files": {"type": "local", **FILES, "tools": ["*"]}}}
    ),
    ("Cline", ".cline/data/settings/cline_mcp_settings.json"): json.dumps(
        {"mcpServers": {"files": {**FILES, "autoApprove": ["read"]}}}
    ),
    ("Gemini", ".gemini/settings.json"): json.dumps(
        {"ui": {}, "mcpServers": {"files": {**FILES, "timeout": 30000, "trust": True}}}
    ),
    ("Qwen", ".qwen/settings.json"): json.dumps({"mcpServers": {"files": FILES}}),
    ("Codex", ".codex/config.toml"): (
        'model = "x"\n[mcp_servers.files]\ncommand = "npx"\nargs = ["-y", "files", "/data"]\nenabled = true\n'
        '[mcp_servers.files.env]\nAPI_TOKEN = "hush-1"\n'
    ),
    ("opencode", ".config/opencode/opencode.jsonc"): (
        '{ // mine\n"$schema": "x", "mcp": {"files": {"type": "local", "command": ["npx", "-y", "files", "/data"],'
        ' "environment": {"API_TOKEN": "hush-1"}, "enabled": true,},}}'
    ),
    ("Zed", ".config/zed/settings.json"): "// settings\n"
    + json.dumps({"theme": "One", "context_servers": {"files": FILES}}),
    ("goose", ".config/goose/config.yaml"): (
        "GOOSE_MODEL: x\nextensions:\n  files:\n    type: stdio\n    cmd: npx\n    args: [-y, files, /data]\n    "
        "enabled: true\n"
        "    envs:\n      API_TOKEN: hush-1\n    timeout: 300\n"
    ),
    ("Vibe", ".vibe/config.toml"): (
        '[[mcp_servers]]\nname = "files"\ntransport = "stdio"\ncommand = "npx"\nargs = ["-y", "files", "/data"]\n'
        'env = { API_TOKEN = "hush-1" }\n'
    ),
}
FAR = "https://a.example/mcp"
KEY = {"Authorization": "Bearer hush-2"}
REACHED: dict[tuple[str, str], str] = {
    ("Claude Code", ".mcp.json"): json.dumps({"mcpServers": {"far": {"type": "http", "url": FAR, "headers": KEY}}}),
    ("Cursor", ".cursor/mcp.json"): json.dumps({"mcpServers": {"far": {"url": FAR, "headers": KEY}}}),
    ("VS Code", ".vscode/mcp.json"): json.dumps({"servers": {"far": {"type": "http", "url": FAR, "headers": KEY}}}),
    ("Copilot CLI", ".github/mcp.json"): json.dumps(
        {"mcpServers": {"far": {"type": "http", "url": FAR, "headers": KEY}}}
    ),
    (
        "Codex",
        ".codex/config.toml",
    ): f'[mcp_servers.far]\nurl = "{FAR}"\nhttp_headers = {{ Authorization = "Bearer hush-2" }}\n',
    ("Gemini", ".gemini/settings.json"): json.dumps({"mcpServers": {"far": {"httpUrl": FAR, "headers": KEY}}}),
    ("Qwen", ".qwen/settings.json"): json.dumps({"mcpServers": {"far": {"httpUrl": FAR, "headers": KEY}}}),
    ("opencode", "opencode.json"): json.dumps({"mcp": {"far": {"type": "remote", "url": FAR, "headers": KEY}}}),
    ("Kilo", "kilo.jsonc"): "/* mine */" + json.dumps({"mcp": {"far": {"type": "remote", "url": FAR, "headers": KEY}}}),
    ("Zed", ".zed/settings.json"): json.dumps({"context_servers": {"far": {"url": FAR, "headers": KEY}}}),
    ("Vibe", ".vibe/config.toml"): (
        f'[[mcp_servers]]\nname = "far"\ntransport = "streamable-http"\nurl = "{FAR}"\nheaders = {{ Authorization = '
        f'"Bearer hush-2" }}\n'
    ),
    ("Agent Plugin", "mcp.json"): json.dumps({"mcpServers": {"far": {"type": "http", "url": FAR, "headers": KEY}}}),
}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A home and a project folder of somebody who uses all these programs."""
    home, project = tmp_path / "home", tmp_path / "project"
    monkeypatch.setenv("ATELIER_HOME", str(home))
    monkeypatch.setattr(sys, "platform", "linux")
    for folder, files in ((home, STARTED), (project, REACHED)):
        for (_program, place), text in files.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_text(text, "utf-8")
    return home, project


async def test_the_file_of_every_program_is_found_and_read(open_atelier: Opener, machine: tuple[Path, Path]) -> None:
    home, project = machine
    async with open_atelier() as atelier:
        found = {(each.program, each.path): each for each in await atelier.mcp_import.find_files([str(project)])}
        assert {(program, str(home / place)) for program, place in STARTED} <= set(found)
        assert len({program for program, _place in found}) == 15, "the eleven, and four that write as they do"
        for (program, path), file in found.items():
            assert file.problem is None, (program, str(file.problem))
            (server,) = file.servers
            assert server.config is not None, (program, str(server.problem))
            assert (server.warnings, server.config.enabled) == ((), True), (program, path)
            if path.startswith(str(home)):
                assert (server.config.command, server.config.args) == ("npx", ("-y", "files", "/data")), program
                assert (server.config.env, server.secrets) == ({"API_TOKEN": ""}, {"env:API_TOKEN": "hush-1"}), program
            else:
                assert (server.config.transport, server.config.url) == ("http", FAR), program
                assert (server.config.headers, server.secrets) == (
                    {"Authorization": ""},
                    {"header:Authorization": "Bearer hush-2"},
                ), program
        assert "hush" not in repr(found), "what is shown has no secret in it"
        assert {(program, str(project / place)) for program, place in REACHED} <= set(found)


def read(text: str, source: str = "") -> FoundServer:
    from atelier_desk.mcp.config_import import config_parsing

    (found,) = config_parsing.servers(text, source)
    return found


@pytest.mark.parametrize("program", ["Gemini", "Qwen"])
def test_an_address_of_the_older_transport_is_reported(program: str) -> None:
    found = read(json.dumps({"mcpServers": {"far": {"url": FAR}}}), program)
    assert "SSE" in str(found.warnings[0])


@pytest.mark.parametrize("key", ["includeTools", "enabledTools", "enabled_tools", "tools"])
def test_a_tool_allow_list_in_a_file_is_reported(key: str) -> None:
    found = read(json.dumps({"mcpServers": {"files": {**FILES, key: ["read", "list"]}}}))
    (warning,) = found.warnings
    assert "read, list" in str(warning)
    assert read(json.dumps({"mcpServers": {"files": {**FILES, key: ["*"]}}})).warnings == ()
