"""A flipped bit in a rule, a setting or an agent: reported, ignored, and repaired by deleting it."""

from __future__ import annotations

import asyncio

import pytest

from atelier_desk.storage.data_folder.datadir import DataDir, default_data_dir
from atelier_desk.storage.store import Statement, Store
from tests.cli.conftest import Cli
from tests.helpers.database_templates import PlaceDatabase


@pytest.fixture
def flip(place_database: PlaceDatabase) -> object:
    """Changes rows behind the program's back."""

    def change(statement: str) -> None:
        async def write() -> None:
            async with await Store.open(
                place_database(DataDir(default_data_dir()).ensure().database), fsync=False
            ) as store:
                await store.write(Statement(statement, {}))

        asyncio.run(write())

    return change


@pytest.mark.parametrize(("table", "statement"), [
    ("permission_rule", "UPDATE permission_rule SET text = 'read_file(.enw)'"),
    ("permission_rule", "UPDATE permission_rule SET action = 'allow'"),
    ("setting", "UPDATE setting SET `value` = '401' WHERE record::id(id) = 'audit_days'"),
])  # fmt: skip
def test_no_agent_starts_while_a_rule_or_setting_is_damaged(cli: Cli, flip: object, table: str, statement: str) -> None:
    assert cli("permissions", "add", "read_file(.env)", "--action", "deny").status == 0
    assert cli("settings", "set", "audit_days", "400").status == 0
    flip(statement)  # type: ignore[operator]
    refused = cli("run", "Read it", steps=["never"])
    assert (refused.status == 0, "is damaged" in refused.err, "--remove-damaged" in refused.err) == (
        False,
        True,
        True,
    )
    assert cli("permissions", "list").status == 0
    check = {check["name"]: check for check in cli("doctor", "--json").json}["configuration"]
    assert (check["status"], "No agent starts" in check["message"], "atelier backup restore" in check["fix"]) == (
        "fail",
        True,
        True,
    )
    assert "settings set" not in refused.err
    assert cli("settings", "set", "font_scale", "120").status == 0, "what else is changed goes on, and does not hide it"
    assert cli("doctor").status == 1
    gone = cli("doctor", "--remove-damaged", "--json")
    assert (table in gone.err, {check["name"]: check["status"] for check in gone.json}["configuration"]) == (True, "ok")
    assert cli("run", "Read it", steps=["Done."]).status == 0
    kept = cli("permissions", "list", "--json").json
    assert len(kept) == (0 if table == "permission_rule" else 1)


def test_a_damaged_agent_is_named_and_the_others_work(cli: Cli, flip: object) -> None:
    assert cli("run", "Hello", steps=["Hello."]).status == 0
    before = len(cli("agents", "list", "--json").json)
    flip("UPDATE agent SET config = string::replace(config, 'a', 'e') WHERE name = 'Team lead'")  # type: ignore[operator]
    assert len(cli("agents", "list", "--json").json) == before - 1
    said = {check["name"]: check["message"] for check in cli("doctor", "--json").json}["configuration"]
    assert ("agent" in said, "No agent starts" in said) == (True, False)
    assert cli("run", "Hello", steps=["Hello."]).status == 0
    assert cli("run", "Hello", "--agent", "Team lead", steps=["never"]).status != 0
