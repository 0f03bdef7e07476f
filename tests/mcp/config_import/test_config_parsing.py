"""Server definitions of other programs: all formats give the same result, secrets are recognised, odd entries are
problems.
"""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.errors import UsageError
from atelier_desk.mcp.config_import import config_locations, config_parsing
from atelier_desk.mcp.config_import.found_server import FoundServer
from atelier_desk.support.i18n import _, set_language

ENTRY = {"command": "npx", "args": ["-y", "@scope/files", "/data"], "env": {"API_TOKEN": "abc", "MODE": "quick"}}
TOML = """
# servers
[mcp_servers.files]
command = "npx"
args = ["-y", "@scope/files", "/data"]
env = { API_TOKEN = "abc", MODE = "quick" }
"""
YAML = """
extensions:
  files:
    type: stdio
    cmd: npx
    args: [-y, "@scope/files", /data]
    envs: {API_TOKEN: abc, MODE: quick}
    enabled: true
    timeout: 300
"""


def one(text: str, source: str = "") -> FoundServer:
    (found,) = config_parsing.servers(text, source)
    assert found.problem is None, str(found.problem)
    return found


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"mcpServers": {"files": ENTRY}}),
        json.dumps({"mcpServers": {"files": {**ENTRY, "type": "stdio", "autoApprove": ["x"], "disabled": False}}}),
        json.dumps({"servers": {"files": {**ENTRY, "type": "stdio"}}, "inputs": []}),
        json.dumps({"mcp": {"servers": {"files": ENTRY}}}),
        json.dumps({"context_servers": {"files": {**ENTRY, "source": "custom"}}}),
        json.dumps({"files": ENTRY}),
        '"files": ' + json.dumps(ENTRY) + ",",
        json.dumps({"name": "files", **ENTRY}),
        json.dumps({"projects": {"/home/me/p": {"mcpServers": {"files": ENTRY}}}}),
        json.dumps(
            {"mcp": {"files": {"type": "local", "command": ["npx", *ENTRY["args"]], "environment": ENTRY["env"],
            "enabled": True}}}
        ),
        "\ufeff{ // mine\n \"mcpServers\": { /* one */ \"files\": " + json.dumps(ENTRY) + ",\n },\n}",
        TOML,
        YAML,
        TOML.replace("[mcp_servers.files]", '[[mcp_servers]]\nname = "files"\ntransport = "stdio"'),
    ],
)  # fmt: skip
def test_every_program_format_gives_the_same_server(text: str) -> None:
    found = one(text)
    assert found.config is not None
    assert (found.name, found.config.command, found.config.args) == ("files", "npx", ("-y", "@scope/files", "/data"))
    assert found.config.env == {"API_TOKEN": "", "MODE": "quick"}
    assert found.secrets == {"env:API_TOKEN": "abc"}
    assert "abc" not in repr(found), "a secret is never shown"


def test_addresses_and_their_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "of-this-machine")
    found = one(
        json.dumps(
            {
                "mcpServers": {
                    "web": {"type": "http", "url": "https://a.example/mcp", "headers": {"Authorization": "Bearer x"}}
                }
            }
        )
    )
    assert found.config is not None
    assert (found.config.transport, found.config.url, found.config.headers) == (
        "http",
        "https://a.example/mcp",
        {"Authorization": ""},
    )
    assert found.secrets == {"header:Authorization": "Bearer x"}
    codex = one(
        '[mcp_servers.web]\nurl = "https://a.example/mcp"\nbearer_token_env_var = "TOKEN"\nenabled = '
        "false\ntool_timeout_sec = 90\n"
    )
    assert codex.config is not None
    assert codex.config.headers == {"Authorization": "Bearer ${TOKEN}"}
    assert (codex.config.enabled, codex.config.timeout_s) == (False, 90)
    gemini = one(json.dumps({"mcpServers": {"web": {"url": "https://a.example/sse"}}}), "Gemini")
    assert "SSE" in str(gemini.warnings[0])
    assert one("https://mcp.example.com/mcp").name == "mcp-example-com"
    ids = one(
        json.dumps(
            {"mcpServers": {"w": {"url": "https://a.example", "oauth": {"clientId": "me", "scopes": ["a", "b"]}}}}
        )
    )
    assert ids.config is not None
    assert (ids.config.client_id, ids.config.scopes) == ("me", "a b")


def test_a_name_with_accents_stays_readable() -> None:
    assert one(json.dumps({"mcpServers": {"Marées d’été": ENTRY}})).name == "Marees-d-ete"


def test_inputs_that_a_file_declares_are_asked_for() -> None:
    said = {
        "inputs": [
            {"id": "api-key", "type": "promptString", "description": "Your key", "password": True},
            {"id": "dir", "description": "Where"},
        ],
        "servers": {
            "a": {"command": "x", "args": ["--dir", "${input:dir}"], "env": {"KEY": "${input:api-key}"}},
            "b": {"type": "http", "url": "https://b.example", "headers": {"Authorization": "Bearer ${input:api-key}"}},
        },
    }
    first, second = config_parsing.servers(json.dumps(said))
    assert [(ask.key, ask.told, ask.secret) for ask in first.open] == [
        ("env:KEY", "Your key", True),
        ("env:DIR", "Where", False),
    ]
    assert first.config is not None
    assert first.config.args == ("--dir", "${DIR}")
    assert [(ask.key, ask.secret) for ask in second.open] == [("header:Authorization", True)]


@pytest.mark.parametrize(
    ("entry", "asked", "kept"),
    [
        ({"env": {"API_KEY": "${API_KEY}"}}, {"env:API_KEY": True}, {"API_KEY": ""}),
        ({"env": {"GH": "${GITHUB_TOKEN}"}}, {"env:GITHUB_TOKEN": True}, {"GITHUB_TOKEN": "", "GH": "${GITHUB_TOKEN}"}),
        ({"args": ["--dir", "${DATA_DIR}"]}, {"env:DATA_DIR": False}, {"DATA_DIR": ""}),
        ({"env": {"API_KEY": "<YOUR_API_KEY>"}}, {"env:API_KEY": True}, {"API_KEY": ""}),
        ({"env": {"API_KEY": "your-api-key-here"}}, {"env:API_KEY": True}, {"API_KEY": ""}),
        ({"env": {"API_KEY": "${ELSE_KEY:-none}", "HERE": "${SET_HERE}"}}, {},
        {"API_KEY": "${ELSE_KEY:-none}", "HERE": "${SET_HERE}"}),
        ({"env": {"A": "1", "B": "${A}"}}, {}, {"A": "1", "B": "${A}"}),
    ],
)  # fmt: skip
def test_placeholders_are_asked_for(
    entry: dict[str, Any], asked: dict[str, bool], kept: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("API_KEY", "GITHUB_TOKEN", "DATA_DIR", "ELSE_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SET_HERE", "yes")
    found = one(json.dumps({"mcpServers": {"files": {"command": "x", **entry}}}))
    assert found.config is not None
    assert {ask.key: ask.secret for ask in found.open} == asked
    assert (found.config.env, found.secrets, bool(found.warnings)) == (kept, {}, bool(asked))


@pytest.mark.parametrize("header", ["Bearer ${SOME_KEY}", "$SOME_KEY", "Bearer <token>", "Bearer YOUR_API_KEY"])
def test_a_header_with_a_placeholder_is_asked_for_in_full(header: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    found = one(json.dumps({"mcpServers": {"web": {"url": "https://a.example", "headers": {"Authorization": header}}}}))
    assert found.config is not None
    assert [(ask.key, ask.told, ask.secret) for ask in found.open] == [("header:Authorization", header, True)]
    assert (found.config.headers, len(found.warnings)) == ({"Authorization": ""}, 1)


SERVER_JSON = {
    "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
    "name": "io.github.me/files",
    "description": "Files.",
    "version": "1.2.0",
    "packages": [
        {
            "registryType": "npm", "identifier": "@me/files", "version": "1.2.0", "transport": {"type": "stdio"},
            "packageArguments": [{"type": "positional", "valueHint": "folder", "isRequired": True},
            {"type": "named", "name": "--fast"}],
            "environmentVariables": [{"name": "KEY", "isRequired": True, "isSecret": True},
            {"name": "LEVEL", "default": "info"}],
        },
        {
            "registryType": "oci", "identifier": "docker.io/me/files", "version": "1.2.0",
            "environmentVariables": [{"name": "KEY", "isSecret": True}],
        },
    ],
    "remotes": [{"type": "streamable-http", "url": "https://{zone}.example/mcp",
    "variables": {"zone": {"default": "eu"}}}],
}  # fmt: skip


def test_the_server_json_of_the_registry() -> None:
    npm, docker, remote = config_parsing.servers(json.dumps(SERVER_JSON))
    assert npm.config is not None
    assert docker.config is not None
    assert remote.config is not None
    assert (npm.name, npm.config.command, npm.config.args) == (
        "files",
        "npx",
        ("-y", "@me/files@1.2.0", "${FOLDER}", "--fast"),
    )
    assert [ask.key for ask in npm.open] == ["env:KEY", "env:FOLDER"]
    assert npm.config.env == {"KEY": "", "LEVEL": "info", "FOLDER": ""}
    assert docker.config.args == ("run", "-i", "--rm", "-e", "KEY", "docker.io/me/files:1.2.0")
    assert remote.config.url == "https://eu.example/mcp"


CONFIG = base64.b64encode(json.dumps(ENTRY).encode()).decode()


@pytest.mark.parametrize(
    "link",
    [
        f"cursor://anysphere.cursor-deeplink/mcp/install?name=files&config={quote(CONFIG)}",
        f"https://cursor.com/mcp/install?name=files&config={quote(CONFIG)}",
        f"lmstudio://add_mcp?name=files&config={CONFIG}",
        "vscode:mcp/install?" + quote(json.dumps({"name": "files", **ENTRY})),
        "goose://extension?cmd=npx&arg=-y&arg=%40scope%2Ffiles&arg=%2Fdata&id=files&name=files",
    ],
)
def test_links_show_their_full_command_and_a_warning(link: str) -> None:
    found = one(link)
    assert found.config is not None
    assert (found.name, found.config.place) == ("files", "npx -y @scope/files /data")
    assert "somebody else wrote the command" in str(found.warnings[-1])


def test_a_command_line() -> None:
    found = one("uvx mcp-server-git@1.0 --repository /tmp")
    assert found.config is not None
    assert (found.name, found.config.command, found.config.args) == (
        "mcp-server-git",
        "uvx",
        ("mcp-server-git@1.0", "--repository", "/tmp"),
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "{}",
        "[]",
        "{",
        '{"mcpServers": 5}',
        '{"mcpServers": {}}',
        "[[x]",
        "mcp:\n  - [",
        "vscode:mcp/install?%7B",
        "cursor://x?config=%%%",
    ],
)
def test_text_without_a_server_is_refused_with_the_accepted_formats(text: str) -> None:
    with pytest.raises(UsageError):
        config_parsing.servers(text)


@pytest.mark.parametrize(
    "entry",
    [
        {"command": ""}, {"url": "ftp://a.example"}, {"command": "x", "args": ["a\0b"]},
        {"command": "x", "env": {"not a name": "1"}},
        {"url": ["x"]}, {"type": "ws", "url": "ws://a"}, {"command": ["x"] * 1000}, {"command": []},
    ],
)  # fmt: skip
def test_an_unusable_entry_is_a_problem_of_its_own(entry: dict[str, object]) -> None:
    bad, good = config_parsing.servers(json.dumps({"mcpServers": {"bad": entry, "good": ENTRY}}))
    assert bad.problem is not None
    assert (bad.config, good.config is not None) == (None, True)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"url": "http:/x y"}, "Ce serveur est inutilisable : l’adresse doit commencer par http:// ou https://"),
        ({"command": "x", "env": {"not a name": "1"}}, "« not a name » doit être le nom d’une variable"),
    ],
)
def test_the_problem_of_an_entry_is_in_the_readers_language(entry: object, said: str) -> None:
    found, _good = config_parsing.servers(json.dumps({"mcpServers": {"bad": entry, "good": ENTRY}}))
    assert found.problem is not None
    set_language("fr")
    try:
        shown = found.problem.localized(_).replace("\u00a0", " ")
    finally:
        set_language("en")
    assert said in shown
    assert "Value error" not in f"{shown} {found.problem}"


def test_the_problem_of_an_address_quotes_no_password_in_it() -> None:
    (found,) = config_parsing.servers(json.dumps({"mcpServers": {"bad": {"url": "ftp://ada:pw123@a.example"}}}))
    assert found.problem is not None
    assert "pw123" not in f"{found.problem} {found.problem.localized(_)}"


def test_a_number_is_read_as_text() -> None:
    (found,) = config_parsing.servers(json.dumps({"mcpServers": {"seven": {"command": 7}}}))
    assert found.config is not None
    assert found.config.command == "7"


def test_a_key_among_the_arguments_causes_a_warning() -> None:
    found = one(json.dumps({"mcpServers": {"a": {"command": "x", "args": ["--token", "sk-abcdefgh12345678"]}}}))
    assert "argument looks like a secret" in str(found.warnings[0])


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "mcpServers",
                        "servers",
                        "mcp",
                        "command",
                        "args",
                        "env",
                        "url",
                        "headers",
                        "inputs",
                        "name",
                        "packages",
                        "remotes",
                        "x",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_invalid_json_is_refused_without_a_crash(value: object) -> None:
    try:
        found = config_parsing.servers(json.dumps(value))
    except UsageError:
        return
    assert all(re.fullmatch(r"[A-Za-z0-9-]{1,32}", each.name) or each.config is None for each in found)


def test_files_are_recognised_by_their_location() -> None:
    assert config_locations.program_of(Path("/home/me/.codex/config.toml")) == "Codex"
    assert config_locations.program_of(Path("/home/me/p/.vscode/mcp.json")) == "VS Code"
    assert config_locations.program_of(Path("/x/notes.json")) == ""


@pytest.mark.parametrize("start", ["/*a", '\\"', '"\\'])
def test_an_unclosed_document_is_scanned_once(start: str) -> None:
    with pytest.raises(UsageError, match="JSON"):
        config_parsing.servers('{"a":1' + start * 200_000)


@pytest.mark.parametrize("comment", ["/* a */", "// a\n", "/**/\n"])
def test_many_comments_may_precede_the_document(comment: str) -> None:
    assert one(comment * 50_000 + json.dumps({"mcpServers": {"files": ENTRY}})).name == "files"
    with pytest.raises(UsageError, match="No MCP server"):
        config_parsing.servers(comment * 50_000 + "/*" * 50_000)


def test_many_empty_lines_are_read_quickly() -> None:
    with pytest.raises(UsageError, match="No MCP server"):
        config_parsing.servers("a" + "\n" * 1_000_000 + "b")


def test_nested_yaml_aliases_are_not_expanded() -> None:
    lines = ["a0: &a0 [{command: x}, {command: y}]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 50)}]" for n in range(1, 9)]
    with pytest.raises(UsageError, match="too many values"):
        config_parsing.servers("\n".join([*lines, "mcp:", "  x: 1", "servers: *a8"]))


@pytest.mark.parametrize("depth", [300, 600, 900, 100_000])
@pytest.mark.parametrize(
    ("before", "after"), [("[", "]"), ('{"servers":[', "]}"), ('{"mcp":', "}"), ('{"projects":{"a":', "}}")]
)
def test_a_deeply_nested_document_holds_no_server(depth: int, before: str, after: str) -> None:
    with pytest.raises(UsageError):
        config_parsing.servers(before * depth + "{}" + after * depth)


@pytest.mark.parametrize(
    "text", ["http://[::1", '{"mcpServers": {"a": {"url": "http://[::1"}}}', '[{"url": "https://]/"}]']
)
def test_an_invalid_address_is_a_problem_and_no_crash(text: str) -> None:
    (found,) = config_parsing.servers(text)
    assert found.problem is not None


@pytest.mark.parametrize(
    "text",
    [
        "[mcp_servers.a]\n" + ".".join(["a"] * 60_000) + " = 1",
        "[mcp_servers.a]\nx = {" + ' . "b"' * 60_000 + "}",
        "[mcp_servers.a]\n" + "".join(f"k{number} = 1\n" for number in range(20_000)),
        "mcp:\n" + "".join(f"  k{number}: [a, b]\n" for number in range(20_000)),
    ],
)
def test_a_document_that_takes_minutes_to_parse_is_not_parsed(text: str) -> None:
    with pytest.raises(UsageError, match=r"the maximum is|more than"):
        config_parsing.servers(text)


def test_a_command_line_of_a_megabyte_is_refused() -> None:
    with pytest.raises(UsageError):
        config_parsing.servers("npx " + "a " * 500_000)
