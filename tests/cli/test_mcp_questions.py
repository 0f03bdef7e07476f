"""Questions of an MCP server, answered from the command line: shown with the recipient, answered by options or
field by field, and declined.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.helpers.tool_calls import tool_call

CALL = [tool_call("mcp__asks__book", "c1")]


@pytest.fixture
def waiting(cli: Cli, tmp_path: Path) -> str:
    """A run that waits for an answer to its server; returns the id of the question."""
    script = ("-m", "tests.helpers.servers.mcp_elicitation_and_sampling", str(tmp_path / "notes"))
    added = ("mcp", "add", "asks", "--agent", "Assistant", "--folder", str(Path.cwd()), "--no-test", "--command")
    assert cli(*added, sys.executable, *script).status == 0
    assert cli("run", "Book", "--agent", "Assistant", "--on-approval", "allow", steps=[CALL]).status == 5
    (asked,) = cli("questions", "list", "--json").json
    return str(asked["id"])


def test_a_form_is_shown_filled_in_and_sent(cli: Cli, waiting: str, tmp_path: Path) -> None:
    shown = cli("questions", "list").out
    assert "The server “asks” asks: Who travels?" in shown
    assert "seats (seats): required; at least 1, at most 4" in shown
    assert "goes to the server “asks”" in shown
    for wrong, said in (
        (("--set", "seats=9", "--set", "name=Ada"), "at most 4"),
        (("--set", "nme=Ada"), "Its fields: name, mail"),
        (("--accept",), "“Your name” is required"),
        (("--decline", "--accept"), "not both"),
    ):
        refused = cli("questions", "answer", waiting, *wrong)
        assert (refused.status, said in refused.err) == (2, True), refused.err
    assert (
        cli("questions", "answer", waiting, "--set", "name=Ada", "--set", "class=First", "--set", "extras=bike").status
        == 0
    )
    workflow = cli("workflows", "list", "--json").json[0]["id"]
    assert cli("resume", workflow, steps=["Done."]).status == 0
    assert '"name": "Ada"' in (tmp_path / "notes").read_text()


def test_a_form_is_filled_in_field_by_field(cli: Cli, waiting: str, tmp_path: Path) -> None:
    typed = "yes\nA\nAda\n\n\n3\n\nno\n\n\nbag, bike\nbag\n\n"
    gone_on = cli("resume", "--all", typed=typed, steps=["Done."])
    assert "is too short: the minimum length is 2" in gone_on.err
    assert "at most 1" in gone_on.err
    sent = (tmp_path / "notes").read_text()
    for part in ('"name": "Ada"', '"seats": 3', '"window": false', '"extras": ["bag"]', '"class": "2"'):
        assert part in sent, sent


def test_shared_folders_of_a_server(cli: Cli, tmp_path: Path) -> None:
    assert cli("mcp", "add", "web", "--url", "https://a.example/mcp", "--no-test").status == 0
    assert cli("mcp", "roots", "web", "--add", str(tmp_path), "--json").json == [str(tmp_path)]
    assert cli("mcp", "roots", "web").out == f"{tmp_path}\n"
    missing = cli("mcp", "roots", "web", "--add", str(tmp_path / "none"))
    assert (missing.status, "There is no folder" in missing.err) == (2, True)
    assert "Shared folders" in cli("mcp", "roots", "web", "--remove", "/elsewhere").err
    assert cli("mcp", "roots", "web", "--remove", str(tmp_path), "--json").json == []
