"""``atelier settings``: a script can change what the window can, within the same bounds."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Cli


def test_a_setting_is_listed_changed_and_stored(cli: Cli) -> None:
    listed = cli("settings", "list", "--json").json
    assert (listed["inactivity_s"], listed["approvals.timeout_s"], listed["embedder.kind"]) == (
        300,
        listed["approvals.timeout_s"],
        "builtin",
    )
    assert not {"confirmed_tools", "window", "approvals.allowed"} & set(listed)
    assert cli("settings", "set", "inactivity_s", "90").out == "90\n"
    assert cli("settings", "get", "inactivity_s").out == "90\n"
    assert cli("settings", "set", "theme", "dark", "--json").json == "dark"
    assert cli("settings", "set", "approvals.timeout_s", "120").status == 0
    assert "approvals.timeout_s" in cli("settings", "list").out
    after = cli("settings", "list", "--json").json
    assert after == {**listed, "inactivity_s": 90, "theme": "dark", "approvals.timeout_s": 120.0}


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("inactivity", "90", "inactivity_s"),
        ("inactivity_s", "0", "inactivity_s"),
        ("inactivity_s", "soon", "inactivity_s"),
        ("theme", "pink", "theme"),
        ("approvals.timeout_s", "-5", "timeout_s"),
        ("confirmed_tools", '{"x.py": "0"}', "There is no setting confirmed_tools"),
        ("approvals.allowed", "[]", "There is no setting approvals.allowed"),
    ],
)
def test_an_invalid_value_is_refused_with_what_is_allowed(cli: Cli, key: str, value: str, said: str) -> None:
    before = cli("settings", "list", "--json").json
    refused = cli("settings", "set", key, value)
    assert refused.status == 2
    assert said in refused.err
    assert cli("settings", "list", "--json").json == before


def test_shortcuts_are_read_and_changed(cli: Cli) -> None:
    assert cli("settings", "set", "shortcuts", '{"new-workflow": "Ctrl+J", "run-on": ""}').status == 0
    assert cli("settings", "get", "shortcuts", "--json").json == {"new-workflow": "Ctrl+J", "run-on": ""}
    refused = cli("settings", "set", "shortcuts", '{"new-workflow": "two words"}')
    assert refused.status == 2
    assert cli("settings", "set", "shortcuts", "{}").status == 0


def test_an_embedder_without_its_package_is_refused_with_the_install_command(cli: Cli) -> None:
    refused = cli("settings", "set", "embedder.kind", "sentence-transformers")
    assert refused.status != 0
    assert "make setup EXTRAS=sentence-transformers" in refused.err
    assert cli("settings", "get", "embedder.kind").out == "builtin\n"
