"""``atelier tools own``: a custom tool's file is listed, confirmed by its hash, used, and revoked."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.helpers.tool_calls import tool_call

SHOUT = '''
from atelier_desk.tools.custom import tool

@tool
def shout(text: str) -> str:
    """Writes a text in capitals."""
    return text.upper()
'''


@pytest.fixture
def folder(cli: Cli) -> Path:
    """The tools folder of the test's data folder, created by a first command."""
    assert cli("tools", "own", "list", "--json").json == []
    return Path(os.environ["ATELIER_DATA_DIR"]) / "tools"


def test_a_file_is_confirmed_used_and_revoked(cli: Cli, folder: Path) -> None:
    (folder / "shout.py").write_text(SHOUT)
    digest = hashlib.sha256(SHOUT.encode()).hexdigest()
    [listed] = cli("tools", "own", "list", "--json").json
    assert listed == {"file": "shout.py", "sha256": digest, "state": "new", "tools": [], "reason": ""}
    assert cli("tools", "call", "shout", '{"text": "hey"}').status == 2
    confirmed = cli("tools", "own", "confirm", "shout.py", "--sha256", digest)
    assert confirmed.status == 0
    assert "shout" in confirmed.out
    assert "your own rights" in confirmed.err
    assert cli("tools", "call", "shout", '{"text": "hey"}', "--json").json == {"success": True, "result": "HEY"}
    shown = cli("tools", "own", "list")
    assert [word in shown.out for word in ("shout.py", "confirmed", digest[:12])] == [True] * 3
    assert str(folder) in shown.err
    assert cli("tools", "own", "revoke", "shout.py", "--json").json == {"revoked": "shout.py"}
    assert cli("tools", "call", "shout", '{"text": "hey"}').status == 2


def test_without_a_hash_the_current_file_is_confirmed_and_a_changed_one_waits(cli: Cli, folder: Path) -> None:
    (folder / "shout.py").write_text(SHOUT)
    assert cli("tools", "own", "confirm", "shout.py", "--json").json["tools"] == ["shout"]
    (folder / "shout.py").write_text(SHOUT + "# changed")
    [listed] = cli("tools", "own", "list", "--json").json
    assert (listed["state"], listed["tools"]) == ("changed", [])


def test_a_broken_file_gives_status_1_and_the_reason(cli: Cli, folder: Path) -> None:
    (folder / "broken.py").write_text("raise ValueError('not today')")
    confirmed = cli("tools", "own", "confirm", "broken.py", "--json")
    assert (confirmed.status, confirmed.json["state"]) == (1, "broken")
    assert "not today" in confirmed.err
    assert "not today" in cli("tools", "own", "list").out


def test_a_timed_out_call_is_reported_in_french(cli: Cli, folder: Path) -> None:
    (folder / "slow.py").write_text(
        SHOUT.replace("@tool", "@tool(timeout_s=0.5)").replace("return", "import time; time.sleep(600); return")
    )
    assert cli("tools", "own", "confirm", "slow.py").status == 0
    assert cli("tools", "call", "shout", '{"text": "hey"}', "--json").json["code"] == "timeout"
    call = [tool_call("shout", "c1", text="hey")]
    shown = cli("--lang", "fr", "run", "Go", "--tools", "shout", steps=[call, "Trop long."])
    assert shown.status == 0
    assert "«\u00a0shout\u00a0» a dépassé 0,5\u00a0s et a été arrêté." in shown.err


@pytest.mark.parametrize(
    "argv",
    [
        ["confirm", "missing.py"],
        ["confirm", "../secret.py"],
        ["confirm", "shout.py", "--sha256", "0" * 64],
        ["revoke", "shout.py"],
        [],
    ],
)
def test_senseless_options_give_status_2(cli: Cli, folder: Path, argv: list[str]) -> None:
    (folder / "shout.py").write_text(SHOUT)
    assert cli("tools", "own", *argv).status == 2
    assert cli("tools", "own", "list", "--json").json[0]["state"] == "new"
